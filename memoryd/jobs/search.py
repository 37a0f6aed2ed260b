"""Search: memories, lines of daily logs and what was said that hold some words, of all projects and clients, newest first.

The sessions are read as they are now: neither a daemon nor the directories in which they were held are needed, and nothing
is written. What memoryd is told to leave alone (excluded projects, sessions that opted out) is not searched either.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.clients.registry import all_sessions
from memoryd.clients.resume import resume_command
from memoryd.clock import parse_iso
from memoryd.errors import StateError
from memoryd.jobs.memory_dirs import all_memory_dirs
from memoryd.jobs.team import author_of, team_dir_of
from memoryd.jobs.team_answers import dirs_with_team
from memoryd.memory.daily_logs import entries_of, logs_in, open_log, words_of
from memoryd.memory.directory import open_directory
from memoryd.memory.document import parse
from memoryd.paths import is_below
from memoryd.projects import is_excluded, root_of
from memoryd.security.redact import redact
from memoryd.transcripts.search import SearchWords, said_with

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.base import CodingClient
    from memoryd.config import Config
    from memoryd.jobs.memory_dirs import ProjectMemory
    from memoryd.model import Found
    from memoryd.paths import Paths

_CLOCK_SECONDS = 86_400.0
"""A message that is so much newer than its file shows that times of files say nothing here."""


class SearchHit(NamedTuple):
    kind: Literal["memory", "log", "said"]
    who: str | None
    """`user` or `agent`; None for a memory, and for a line of a log that quotes nobody."""
    text: str
    """Redacted."""
    place: int
    """Where the first of the words stands in it."""
    file: str
    """The memory, the daily log, or the session's transcript."""
    project: str | None
    client: str | None
    session: str | None
    at: float | None
    resume: str | None
    """The command that goes on with the session."""
    author: str | None = None
    """Who shared a memory with the team; None: it is the user's own."""
    line: int | None = None
    """Of a daily log: the number of the line."""


def search(paths: Paths, config: Config, given: Sequence[str], most: int | None = None) -> list[SearchHit]:
    """What holds all these words, newest first; with `most`, only the newest.

    A file is never older than what was said in it, so with `most` the older files need not be read once there are enough:
    a word that stands everywhere is found as fast as a rare one.
    """
    words = SearchWords(given)
    sessions = sorted(all_sessions(paths), key=lambda session: -session[1].mtime_ns)
    hits = list(_in_memories(paths, config, words, sessions))
    seen: set[tuple[str | None, float | None, str]] = set()  # a fork repeats what was said before it
    is_sorted_by_time = True
    for number, (client, found) in enumerate(sessions):
        for hit in _in_session(client, found, paths, config, words):
            if (same := (hit.who, hit.at, hit.text)) not in seen:
                seen.add(same)
                hits.append(hit)
                is_sorted_by_time &= hit.at is None or hit.at <= found.mtime_ns / 1e9 + _CLOCK_SECONDS
        if most is not None and is_sorted_by_time and len(hits) >= most and number + 1 < len(sessions):
            hits = sorted(hits, key=_age)[:most]
            if (hits[-1].at or 0.0) > sessions[number + 1][1].mtime_ns / 1e9:
                break
    return sorted(hits, key=_age)[:most]


def _age(hit: SearchHit) -> float:
    return -(hit.at or 0.0)


def _in_session(
    client: CodingClient, found: Found, paths: Paths, config: Config, words: SearchWords
) -> Iterator[SearchHit]:
    roots: dict[str, str] = {}
    for said in said_with(client, found.path, words):
        root = roots.setdefault(said.cwd, root_of(said.cwd) if said.cwd else "")
        if is_below(said.cwd, paths.state_dir) or any(
            is_excluded(path, config.projects.exclude) for path in (root, said.cwd) if path
        ):
            continue
        yield SearchHit(
            "said",
            said.who,
            said.text,
            words.place_in(said.text) or 0,
            found.path,
            root or None,
            client.name,
            said.session_id or None,
            said.said_at,
            resume_command(client, said.session_id, said.cwd) if said.session_id else None,
        )


def _in_memories(
    paths: Paths, config: Config, words: SearchWords, sessions: Sequence[tuple[CodingClient, Found]]
) -> Iterator[SearchHit]:
    clients = {client.session_id(found.path): client for client, found in sessions}
    with_team = dirs_with_team(paths, config)
    for place in all_memory_dirs(paths, config):
        if not (place.root and is_excluded(place.root, config.projects.exclude)):
            with suppress(StateError, FileNotFoundError):  # one that cannot be opened is named by `doctor`
                yield from _in_memory_dir(place, words, clients)
                yield from _in_logs(place, words)
            if place.path in with_team:
                with suppress(StateError, FileNotFoundError):
                    yield from _in_memory_dir(place._replace(path=team_dir_of(place.path)), words, {}, of_team=True)


def _in_memory_dir(
    place: ProjectMemory, words: SearchWords, clients: dict[str, CodingClient], *, of_team: bool = False
) -> Iterator[SearchHit]:
    with open_directory(place.path) as directory:
        for name, mtime_ns in directory.listing().topics.items():
            try:
                state = directory.read(name)
            except OSError:
                continue
            document = parse(state.data if state else b"")
            body = document.body.strip()
            said = body if document.description in body else f"{document.description}\n\n{body}"
            text = redact(said.encode("utf-8", "replace").decode())
            at = words.place_in(text)
            if at is None and words.place_in(f"{name} {document.name} {text}") is None:
                continue
            session = str(document.metadata.get("originSessionId", "")) or None
            client = clients.get(session or "")
            yield SearchHit(
                "memory",
                None,
                text,
                at or 0,
                os.path.join(place.path, name),
                place.root or None,
                client.name if client else None,
                session,
                parse_iso(str(document.metadata.get("modified", ""))) or mtime_ns / 1e9,
                resume_command(client, session, place.root) if client and session else None,
                author_of(document) if of_team else None,
            )


def _in_logs(place: ProjectMemory, words: SearchWords) -> Iterator[SearchHit]:
    """Lines of the daily logs of a directory."""
    with open_directory(place.path) as directory:
        for name, _ in logs_in(directory):
            try:
                with open_log(directory, name) as descriptor, open(os.dup(descriptor), "rb") as file:
                    text = file.read().decode("utf-8", "replace")
            except OSError:
                continue
            if words.place_in(text) is None:  # before its lines are taken apart, of which there may be megabytes
                continue
            for entry in entries_of(name, text):
                said = redact(entry.text) if words.place_in(entry.text) is not None else ""
                if (at := words.place_in(said)) is not None:
                    yield SearchHit(
                        *("log", "user" if words_of(said) else None, said, at, os.path.join(place.path, name)),
                        *(place.root or None, None, None, entry.at, None),
                        line=entry.number,
                    )
