"""Sessions at one place of a client: lists them, records what is new, moved or gone, and reads what grew."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd.sources.session import NotATranscriptError
from memoryd.state import sessions
from memoryd.transcripts.tail import has_head, read_new_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from memoryd.clients.base import CodingClient
    from memoryd.model import Found, Inventory, Reading
    from memoryd.projects import Project
    from memoryd.sources.scan import SessionPlace
    from memoryd.state.database import Database

SCAN_NOTE_SECONDS = 600
"""An idle daemon records its last scan this often, not at every pass, so that disks may sleep."""


class LookedAt(NamedTuple):
    """What a look at a place has found."""

    seen: Inventory
    new_live: int
    """Sessions that appeared while memoryd was running."""
    new_history: int
    """Sessions seen for the first time whose content is history."""
    due: list[DueSession]


class DueSession(NamedTuple):
    """A session in which there is something to read."""

    place: ReadPlace
    found: Found
    known: sessions.KnownTranscript


class ReadPlace:
    """One place of one client, as far as it has been read."""

    def __init__(self, client: CodingClient, place: SessionPlace, database: Database) -> None:
        self.client = client
        self.place = place
        self._database = database
        self._root = place.root
        self.was_listed = False  # this process has seen the root: what is new now appeared in between
        self._noted_at: float | None = None

    def look(self, now: float, only: Collection[str] | None) -> LookedAt:
        """List everything, or `only` some folders, and store first sights, moves, disappearances. No file is opened."""
        seen = self.client.inventory(self.place, only)
        known = sessions.known_files(self._database, self._root, only)
        last_scan = sessions.last_scan(self._database, self._root)
        new, has_moved = self._record(seen, known, last_scan, now, is_whole=only is None)
        if new or has_moved:
            known = sessions.known_files(self._database, self._root, only)
        new_live = sum(1 for _, _, history_bytes in new if not history_bytes) if last_scan is not None else 0
        self.was_listed = not seen.missing and self._root not in seen.odd
        return LookedAt(seen, new_live, len(new) - new_live, self._due(seen.found, known))

    def _due(self, seen: Iterable[Found], known: dict[str, sessions.KnownTranscript]) -> list[DueSession]:
        return [
            DueSession(self, found, file)
            for found in seen
            if (file := known.get(found.path)) is not None and (found != file.found or not file.is_read_to_end)
        ]

    def _record(
        self,
        seen: Inventory,
        known: dict[str, sessions.KnownTranscript],
        last_scan: float | None,
        now: float,
        *,
        is_whole: bool,
    ) -> tuple[list[tuple[Found, str, int]], bool]:
        """Store the inventory; return the files seen for the first time and whether any has moved."""
        here = {found.path for found in seen.found}
        new: list[tuple[Found, str, int]] = []
        moved: list[tuple[int, Found]] = []
        returned: list[int] = []
        for found in seen.found:
            if found.path in known:
                continue
            if (number := sessions.missing_file(self._database, found.path)) is not None:
                returned.append(number)
            elif (number := self._moved_from(found, here)) is not None:
                moved.append((number, found))
            else:
                new.append((found, self.client.session_id(found.path), self._history_bytes(found, last_scan, now)))
        moved_ids = {number for number, _ in moved}
        # Files in a folder that cannot be listed do not count as missing, nor sessions in such a database.
        closed = tuple(path + between for path in seen.odd for between in "/#")
        gone = [
            file.id
            for path, file in known.items()
            if path not in here and file.id not in moved_ids and not seen.missing and not path.startswith(closed)
        ]
        is_due = is_whole and (self._noted_at is None or not 0 <= now - self._noted_at < SCAN_NOTE_SECONDS)
        # A place without sessions costs nothing: whatever comes there is written since the first look.
        is_due &= last_scan is None or (bool(seen.found) and not seen.missing)
        is_odd = is_whole and seen.odd != sessions.odd_files(self._database, self._root)
        if is_due or is_odd or new or moved or gone or returned:
            sessions.record_inventory(
                self._database,
                seen,
                client=self.client.name,
                new=new,
                moved=moved,
                missing=gone,
                returned=returned,
                now=now,
                is_whole=is_whole,
            )
            if is_whole:
                self._noted_at = now
        return new, bool(moved or returned)

    def _history_bytes(self, found: Found, last_scan: float | None, now: float) -> int:
        """Bytes of a new file that are history.

        All of it in the very first pass. None if it appeared while memoryd was running, or was written since the last
        scan: a daemon that was stopped for a night still has to read the night's sessions. An older file that somebody
        moved in meanwhile is history too.
        """
        if last_scan is not None:
            written_since = found.mtime_ns / 1e9 > last_scan or last_scan > now
            if self.was_listed or written_since:
                return 0
        return found.size

    def _moved_from(self, found: Found, here: Collection[str]) -> int | None:
        """Known transcript that was moved to this path: same session, old path gone, same inode or same first bytes.

        Only then a file is opened, and only if it changed its inode.
        """
        session_id = self.client.session_id(found.path)
        for number, before, cursor in sessions.transcripts_of_session(self._database, session_id):
            if before.path in here or os.path.lexists(before.path):
                continue
            is_same_file = (found.device, found.inode) == (before.device, before.inode)
            if is_same_file or (cursor.offset and has_head(self.client, found.path, cursor)):
                return number
        return None

    def read(
        self,
        file: sessions.KnownTranscript,
        home_of: Callable[[CodingClient, sessions.Position, Reading], tuple[str, Project | None]],
        budget_bytes: int,
    ) -> sessions.Step | None:
        """Read what is new in a session; `home_of` tells where it belongs. None where it cannot be read, which is stored."""
        position = sessions.position_of(self._database, file.id)
        try:
            reading = read_new_turns(
                self.client,
                position.path,
                position.cursor,
                position.last,
                history_bytes=position.history_bytes,
                budget_bytes=budget_bytes,
            )
        except FileNotFoundError:
            return None  # deleted since the scan; the next one will say so
        except (OSError, NotATranscriptError) as error:
            sessions.store_error(self._database, file.id, _why_unreadable(error))
            return None
        try:
            cwd, project = home_of(self.client, position, reading)
        except (OSError, ValueError) as error:  # a working directory that makes no sense must not stop the others
            sessions.store_error(self._database, file.id, f"its working directory makes no sense ({error})")
            return None
        return sessions.Step(position, reading, project, cwd)


def _why_unreadable(error: OSError | NotATranscriptError) -> str:
    if isinstance(error, NotATranscriptError):
        return str(error)
    if error.errno == errno.ELOOP:
        return "no regular file"
    return (error.strerror or str(error)).lower()
