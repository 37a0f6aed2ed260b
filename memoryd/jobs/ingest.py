"""Ingestion: one pass over the sessions of all clients stores what is new, what grew, and which turns have ended."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryd.clients.memory_reader import MEMORY_READER
from memoryd.formatting import is_utf8
from memoryd.jobs.session_place import SCAN_NOTE_SECONDS, ReadPlace
from memoryd.projects import project_at, root_of
from memoryd.state import projects as known_projects
from memoryd.state import sessions, waiting
from memoryd.transcripts.turns import end_by_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.clients.base import CodingClient
    from memoryd.config import Config
    from memoryd.jobs.session_place import DueSession
    from memoryd.model import Reading
    from memoryd.paths import Paths
    from memoryd.projects import Project
    from memoryd.state.database import Database

READ_BYTES = 256 << 20
"""Bytes that one pass reads; a backlog of gigabytes takes several, so that signals are handled in between."""
BATCH_BYTES = 64 << 20
BATCH_FILES = 256


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Result of one pass."""

    transcripts: int
    """In the folders that were looked at."""
    bytes: int
    new_history: int
    """Files seen for the first time whose content is history."""
    new_live: int
    """Files that appeared while memoryd was running."""
    backlog: int
    """Files that are not read to their end yet."""
    root_missing: bool
    """No client has a place for its sessions yet."""
    events: tuple[sessions.TurnEvent, ...]
    grown: frozenset[str] = frozenset()
    """The folders in which there was something new to read."""


class Ingester:
    """Reader of the sessions of all clients; each call of `ingest` is one pass."""

    def __init__(self, clients: Iterable[CodingClient], database: Database, paths: Paths, config: Config) -> None:
        self._clients = tuple(clients)
        self._database = database
        self._paths = paths
        self._config = config
        self.project_roots: tuple[str, ...] = ()
        """Of the projects that are known: some clients keep sessions in them."""
        self._places: dict[tuple[str, str], ReadPlace] = {}
        self._has_backlog = False
        self._updated_at: float | None = None
        self._last_look: float | None = None
        self._project_at: dict[str, Project] = {}  # by working directory, so that its git is looked at once

    def use(self, config: Config) -> None:
        """Use new settings from now on."""
        self._config = config
        self._project_at.clear()

    def ingest(self, now: float, only: frozenset[str] | None = None) -> IngestReport:
        """Make one pass: over all folders, or over `only` those after a pass over all has left nothing to read.

        1. List everything; no file is opened.
        2. Store first sights, moves, disappearances.
        3. Read what grew, within the budget: what its client may delete first, history of busy folders first.
        4. End the turns that silence has ended.
        """
        chosen = self._chosen(only)
        listed = [place.look(now, folders) for place, folders in chosen]
        if only is None and (self._updated_at is None or not 0 <= now - self._updated_at < SCAN_NOTE_SECONDS):
            self._updated_at = now
            self._update_memory_dirs(now)
        events, grown, backlog = self._read(_ordered([due for found in listed for due in found.due]), now)
        if not backlog:
            self._end_silent_turns(now)
        self._has_backlog = backlog > 0
        return IngestReport(
            transcripts=sum(len(found.seen.found) for found in listed),
            bytes=sum(file.size for found in listed for file in found.seen.found),
            new_history=sum(found.new_history for found in listed),
            new_live=sum(found.new_live for found in listed),
            backlog=backlog,
            root_missing=all(found.seen.missing for found in listed),
            events=tuple(events),
            grown=frozenset(grown),
        )

    # --- step 1 and 2 -------------------------------------------------------------------------------------------------

    def _chosen(self, only: frozenset[str] | None) -> list[tuple[ReadPlace, frozenset[str] | None]]:
        """The places to look at, each with the folders that are enough: None for all of them.

        A change that is reported outside of the folders with sessions may concern any of them: the place itself may be new.
        One that is reported below them concerns none.
        """
        places = self._all_places()
        if only is None or self._has_backlog or not all(map(is_utf8, only)):
            return [(place, None) for place in places]
        chosen = []
        left = set(only)
        for place in places:
            left = {folder for folder in left if not place.place.is_below_sessions(folder)}
            if folders := frozenset(filter(place.place.holds, only)):
                left -= folders
                chosen.append((place, folders if place.was_listed else None))
        return [(place, None) for place in places] if left else chosen

    def _all_places(self) -> list[ReadPlace]:
        self.project_roots = tuple(project.root for project in known_projects.all_projects(self._database))
        before, self._places = self._places, {}
        for client in self._clients:
            for place in client.session_places(self._paths, self.project_roots):
                key = client.name, place.root
                self._places[key] = before.get(key) or ReadPlace(client, place, self._database)
        return list(self._places.values())

    def _update_memory_dirs(self, now: float) -> None:
        """Update the memory directories of known projects: settings may have changed since they were first seen."""
        self._project_at.clear()
        before = known_projects.all_projects(self._database)
        after = [self._project(project.root) for project in before]
        known_projects.update_projects(
            self._database, [new for new, old in zip(after, before, strict=True) if new != old], now
        )

    # --- step 3 -------------------------------------------------------------------------------------------------------

    def _read(self, due: deque[DueSession], now: float) -> tuple[list[sessions.TurnEvent], set[str], int]:
        events: list[sessions.TurnEvent] = []
        grown: set[str] = set()
        budget = READ_BYTES
        while due and budget > 0:
            batch: list[sessions.Step] = []
            batch_bytes = 0
            unfinished: DueSession | None = None
            while due and batch_bytes < BATCH_BYTES and len(batch) < BATCH_FILES and unfinished is None:
                session = due.popleft()
                step = session.place.read(session.known, self._home_of, BATCH_BYTES)
                if step is None:
                    continue
                batch.append(step)
                batch_bytes += step.reading.read_bytes
                if step.reading.read_bytes:
                    grown.add(os.path.dirname(step.position.path))
                if not step.reading.complete:
                    unfinished = session
            if batch:
                events += sessions.store(self._database, batch, now)
            if unfinished is not None:
                due.appendleft(unfinished)
            budget -= batch_bytes
        return events, grown, len(due)

    def _home_of(
        self, client: CodingClient, position: sessions.Position, reading: Reading
    ) -> tuple[str, Project | None]:
        """The session's working directory and its project, if that is new. Agents change directory, so it names several."""
        named = ((position.cwd,) if position.cwd else ()) + reading.cwds
        if not named:
            return "", None
        cwd = client.own_cwd(position.path, named, self._paths)
        if cwd == position.cwd and position.project_id is not None:
            return cwd, None
        if cwd not in self._project_at:
            root = None if os.path.isdir(cwd) else known_projects.known_root(self._database, cwd)
            self._project_at[cwd] = self._project(root or root_of(cwd))
        return cwd, self._project_at[cwd]

    def _project(self, root: str) -> Project:
        folders = MEMORY_READER.sessions_root(self._paths)

        def has_sessions(name: str) -> bool:
            return known_projects.has_sessions(self._database, os.path.join(folders, name), root)

        return project_at(root, self._paths, self._config, has_sessions)

    # --- step 4 -------------------------------------------------------------------------------------------------------

    def next_silence(self, now: float) -> float | None:
        """Time at which silence may end a turn; None where none is open."""
        limits = self._config.turns
        ends = [
            turn.active_at + silence
            for turn in waiting.open_turns(self._database)
            for silence in (limits.quiet_seconds, limits.give_up_seconds)
        ]
        return min((end for end in ends if end > now), default=None)

    def _end_silent_turns(self, now: float) -> None:
        if self._last_look is None or now < self._last_look:
            waiting.forget_future_activity(self._database, now)
        self._last_look = now
        limits = self._config.turns
        ended = [
            (open_turn.id, reason)
            for open_turn in waiting.open_turns(self._database)
            if (
                reason := end_by_time(
                    open_turn.turn,
                    silent_seconds=now - open_turn.active_at,
                    quiet_seconds=limits.quiet_seconds,
                    give_up_seconds=limits.give_up_seconds,
                )
            )
        ]
        if ended:
            waiting.end_turns(self._database, ended, now)


def _ordered(due: list[DueSession]) -> deque[DueSession]:
    """The sessions to read, in order.

    What a client may delete at its next start comes first. A fork copies messages of other sessions, nearly always into the
    same folder: in a folder with new messages the history is read first, and copies of it are then known as such.
    """
    busy = {os.path.dirname(session.found.path) for session in due if not session.known.has_unread_history}
    return deque(
        sorted(
            due,
            key=lambda session: (
                not session.place.client.deletes_early,
                os.path.dirname(session.found.path) not in busy,
                session.known.first_seen_at,
                session.found.mtime_ns,
            ),
        )
    )
