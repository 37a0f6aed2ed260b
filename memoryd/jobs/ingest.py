"""Ingestion: one pass over all transcripts stores what is new, what grew, and which turns have ended."""

from __future__ import annotations

import errno
import os
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryd.formatting import is_utf8
from memoryd.projects import project_at, root_of
from memoryd.state import projects as known_projects
from memoryd.state import sessions, waiting
from memoryd.transcripts.scan import inventory
from memoryd.transcripts.tail import NotATranscriptError, has_head, read_new_turns
from memoryd.transcripts.turns import end_by_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.clients.base import CodingClient
    from memoryd.config import Config
    from memoryd.model import Found, Inventory, Reading
    from memoryd.paths import Paths
    from memoryd.projects import Project
    from memoryd.state.database import Database

READ_BYTES = 256 << 20
"""Bytes that one pass reads; a backlog of gigabytes takes several, so that signals are handled in between."""
BATCH_BYTES = 64 << 20
BATCH_FILES = 256
SCAN_NOTE_SECONDS = 600
"""An idle daemon records its last scan this often, not at every pass, so that disks may sleep."""


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
    events: tuple[sessions.TurnEvent, ...]
    grown: frozenset[str] = frozenset()
    """The folders in which there was something new to read."""


class Ingester:
    """Reader of the transcripts of one client; each call of `ingest` is one pass."""

    def __init__(self, client: CodingClient, database: Database, paths: Paths, config: Config) -> None:
        self._client = client
        self._database = database
        self._paths = paths
        self._config = config
        self._root = client.sessions_root(paths)
        self._looked_before = False  # this process has seen the root: what is new now appeared in between
        self._has_backlog = False
        self._scan_noted_at: float | None = None
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
        3. Read what grew, history of busy folders first, within the budget.
        4. End the turns that silence has ended.
        """
        if not self._looked_before or self._has_backlog or not all(map(self._is_within, only or ())):
            only = None
        seen = inventory(self._root, self._client.is_session, only)
        known = sessions.known_files(self._database, self._root, only)
        last_scan = sessions.last_scan(self._database, self._root)
        new, has_moved = self._record(seen, known, last_scan, now, is_whole=only is None)
        if new or has_moved:
            known = sessions.known_files(self._database, self._root, only)
        new_live = sum(1 for _, history_bytes in new if not history_bytes) if last_scan is not None else 0
        due = _due(seen.found, known)
        events, grown, backlog = self._read(due, now)
        if not backlog:
            self._end_silent_turns(now)
        self._looked_before = not seen.missing and self._root not in seen.odd
        self._has_backlog = backlog > 0
        return IngestReport(
            transcripts=len(seen.found),
            bytes=sum(found.size for found in seen.found),
            new_history=len(new) - new_live,
            new_live=new_live,
            backlog=backlog,
            root_missing=seen.missing,
            events=tuple(events),
            grown=frozenset(grown),
        )

    def _is_within(self, folder: str) -> bool:
        """Whether a folder is inside the root; a change of the root itself may concern any folder.

        A folder whose name is not UTF-8 is left out, as the database cannot store it.
        """
        return folder.startswith(self._root + "/") and is_utf8(folder)

    # --- step 2 -------------------------------------------------------------------------------------------------------

    def _record(
        self,
        seen: Inventory,
        known: dict[str, sessions.KnownTranscript],
        last_scan: float | None,
        now: float,
        *,
        is_whole: bool,
    ) -> tuple[list[tuple[Found, int]], bool]:
        """Store the inventory; return the files seen for the first time and whether any has moved."""
        here = {found.path for found in seen.found}
        new: list[tuple[Found, int]] = []
        moved: list[tuple[int, Found]] = []
        returned: list[int] = []
        for found in seen.found:
            if found.path in known:
                continue
            if (number := sessions.missing_file(self._database, found.path)) is not None:
                returned.append(number)
            elif (number := self._moved_from(found)) is not None:
                moved.append((number, found))
            else:
                new.append((found, self._history_bytes(found, last_scan, now)))
        moved_ids = {number for number, _ in moved}
        # Files in a folder that cannot be listed do not count as missing.
        closed = tuple(path + "/" for path in seen.odd)
        gone = [
            file.id
            for path, file in known.items()
            if path not in here and file.id not in moved_ids and not seen.missing and not path.startswith(closed)
        ]
        is_due = is_whole and (self._scan_noted_at is None or not 0 <= now - self._scan_noted_at < SCAN_NOTE_SECONDS)
        is_odd = is_whole and seen.odd != sessions.odd_files(self._database, self._root)
        if is_due or is_odd or new or moved or gone or returned:
            sessions.record_inventory(
                self._database,
                seen,
                client=self._client.name,
                new=new,
                moved=moved,
                missing=gone,
                returned=returned,
                now=now,
                is_whole=is_whole,
            )
            if is_whole:
                self._scan_noted_at = now
        if is_due:
            self._update_memory_dirs(now)
        return new, bool(moved or returned)

    def _update_memory_dirs(self, now: float) -> None:
        """Update the memory directories of known projects: settings may have changed since they were first seen."""
        self._project_at.clear()
        before = known_projects.all_projects(self._database)
        after = [self._project(project.root) for project in before]
        known_projects.update_projects(
            self._database, [new for new, old in zip(after, before, strict=True) if new != old], now
        )

    def _history_bytes(self, found: Found, last_scan: float | None, now: float) -> int:
        """Bytes of a new file that are history.

        All of it in the very first pass. None if it appeared while memoryd was running, or was written since the last
        scan: a daemon that was stopped for a night still has to read the night's sessions. An older file that somebody
        moved in meanwhile is history too.
        """
        if last_scan is not None:
            written_since = found.mtime_ns / 1e9 > last_scan or last_scan > now
            if self._looked_before or written_since:
                return 0
        return found.size

    def _moved_from(self, found: Found) -> int | None:
        """Known transcript that was moved to this path: same session, old path gone, same inode or same first bytes.

        Only then a file is opened, and only if it changed its inode.
        """
        session_id = sessions.session_id_of(found.path)
        for number, before, cursor in sessions.transcripts_of_session(self._database, session_id):
            if os.path.lexists(before.path):
                continue
            is_same_file = (found.device, found.inode) == (before.device, before.inode)
            if is_same_file or (cursor.offset and has_head(found.path, cursor)):
                return number
        return None

    # --- step 3 -------------------------------------------------------------------------------------------------------

    def _read(self, due: deque[sessions.KnownTranscript], now: float) -> tuple[list[sessions.TurnEvent], set[str], int]:
        events: list[sessions.TurnEvent] = []
        grown: set[str] = set()
        budget = READ_BYTES
        while due and budget > 0:
            batch: list[sessions.Step] = []
            batch_bytes = 0
            unfinished: sessions.KnownTranscript | None = None
            while due and batch_bytes < BATCH_BYTES and len(batch) < BATCH_FILES and unfinished is None:
                file = due.popleft()
                step = self._read_file(file)
                if step is None:
                    continue
                batch.append(step)
                length = step.reading.cursor.offset - (0 if step.reading.rewritten else step.position.cursor.offset)
                batch_bytes += length
                if length:
                    grown.add(os.path.dirname(step.position.path))
                if not step.reading.complete:
                    unfinished = file
            if batch:
                events += sessions.store(self._database, batch, now)
            if unfinished is not None:
                due.appendleft(unfinished)
            budget -= batch_bytes
        return events, grown, len(due)

    def _read_file(self, file: sessions.KnownTranscript) -> sessions.Step | None:
        position = sessions.position_of(self._database, file.id)
        try:
            reading = read_new_turns(
                self._client,
                position.path,
                position.cursor,
                position.last,
                history_bytes=position.history_bytes,
                budget_bytes=BATCH_BYTES,
            )
        except FileNotFoundError:
            return None  # deleted since the scan; the next one will say so
        except (OSError, NotATranscriptError) as error:
            sessions.store_error(self._database, file.id, _why_unreadable(error))
            return None
        try:
            cwd, project = self._place(position, reading)
        except (OSError, ValueError) as error:  # a working directory that makes no sense must not stop the others
            sessions.store_error(self._database, file.id, f"its working directory makes no sense ({error})")
            return None
        return sessions.Step(position, reading, project, cwd)

    def _place(self, position: sessions.Position, reading: Reading) -> tuple[str, Project | None]:
        """The session's working directory and its project.

        Agents change directory, so a session names several. Its own is the one that its folder is named after, or the
        first, where the folder has a name of its own.
        """
        folder = os.path.basename(os.path.dirname(position.path))
        candidates = ((position.cwd,) if position.cwd else ()) + reading.cwds
        if not candidates:
            return "", None
        cwd = next(
            (cwd for cwd in candidates if self._client.project_folder(cwd, self._paths, folder.__eq__) == folder),
            candidates[0],
        )
        if cwd == position.cwd and position.project_id is not None:
            return cwd, None
        if cwd not in self._project_at:
            root = None if os.path.isdir(cwd) else known_projects.known_root(self._database, cwd)
            self._project_at[cwd] = self._project(root or root_of(cwd))
        return cwd, self._project_at[cwd]

    def _project(self, root: str) -> Project:
        def has_sessions(name: str) -> bool:
            return known_projects.has_sessions(self._database, os.path.join(self._root, name), root)

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


def _due(seen: Iterable[Found], known: dict[str, sessions.KnownTranscript]) -> deque[sessions.KnownTranscript]:
    """The files to read, in order.

    A fork copies messages of other sessions, nearly always into the same folder. So in a folder with new messages the
    history is read first, and copies of it are then known as such.
    """
    due = [
        (found, file)
        for found in seen
        if (file := known.get(found.path)) is not None and (found != file.found or not file.is_read_to_end)
    ]
    busy = {os.path.dirname(found.path) for found, file in due if not file.has_unread_history}
    due.sort(key=lambda pair: (os.path.dirname(pair[0].path) not in busy, pair[1].first_seen_at, pair[0].mtime_ns))
    return deque(file for _, file in due)


def _why_unreadable(error: OSError | NotATranscriptError) -> str:
    if isinstance(error, NotATranscriptError) or error.errno == errno.ELOOP:
        return "no regular file"
    return (error.strerror or str(error)).lower()
