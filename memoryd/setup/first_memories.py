"""First memories: what the history holds, shown before anything is kept, and then kept by the engine in the package."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import ALL, all_sessions, instructions_at
from memoryd.engines.offline import find
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.ingest import Ingester
from memoryd.projects import is_excluded, root_of
from memoryd.security.redact import redact
from memoryd.sources.session import NotATranscriptError
from memoryd.transcripts.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.jobs.due import ExtractedDirectory
    from memoryd.paths import Paths
    from memoryd.state.database import Database

MOST_SHOWN = 5
_MOST_SESSIONS = 60
"""The newest; a preview is to take a second."""


class PreviewedMemory(NamedTuple):
    project: str
    said: str


def preview(paths: Paths, config: Config) -> list[PreviewedMemory]:
    """Some memories that would be made, newest sessions first. Nothing is written, nothing is sent."""
    sessions = sorted(all_sessions(paths), key=lambda session: -session[1].mtime_ns)
    shown: list[PreviewedMemory] = []
    for client, found in sessions[:_MOST_SESSIONS]:
        try:
            digest = digest_of(client, found.path)
        except (OSError, NotATranscriptError):
            continue
        if digest is None or not digest.said:
            continue
        root = root_of(digest.cwd) if digest.cwd else ""
        if not root or is_excluded(root, config.projects.exclude):
            continue
        instructions = [redact(text) for text in instructions_at(digest.cwd, paths)]
        for revision in find(digest.said, instructions=instructions).written:
            if revision.reason == "learnt" and all(memory.said != revision.description for memory in shown):
                shown.append(PreviewedMemory(os.path.basename(root), revision.description))
        if len(shown) >= MOST_SHOWN:
            break
    return shown[:MOST_SHOWN]


def read_sessions(database: Database, paths: Paths, config: Config, clock: Clock) -> None:
    """Take in every transcript there is, as history where it is seen for the first time."""
    ingester = Ingester(ALL, database, paths, config)
    while ingester.ingest(clock.now()).backlog:
        pass


def has_history(database: Database, paths: Paths, config: Config, now: float) -> bool:
    """Whether there are turns that nobody has worked on."""
    return bool(due(database, paths, config, now, at_once=True, with_history=True))


def keep(database: Database, paths: Paths, config: Config, clock: Clock) -> Iterator[ExtractedDirectory]:
    """Make memories of the history, offline; what was worked on before is not read again."""
    now = clock.now()
    sessions = due(database, paths, config, now, at_once=True, with_history=True)
    yield from extract_due(
        database,
        paths,
        sessions,
        now,
        engine=OfflineEngine(),
        review_mode=config.review,
        has_daily_log=config.has_daily_log,
        with_history=True,
        gives_way=True,
        clock=clock,
    )
