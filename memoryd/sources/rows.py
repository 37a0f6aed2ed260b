"""Sessions in a database: rows become numbered lines, and only those are read that are asked for."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Self

from memoryd.sources.database import ForeignDatabase, UnknownTablesError
from memoryd.sources.lines import Line, blocks_of
from memoryd.sources.scan import inventory
from memoryd.sources.session import NotATranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from memoryd.model import Found, Inventory, Oddity
    from memoryd.sources.scan import SessionPlace

_AT_ONCE = 64
"""Rows that are asked for at once."""
BETWEEN = "#"
"""Stands between the path of a database and the id of a session in it, in the path by which that session is known."""


class SessionRow(NamedTuple):
    """A session as a database lists it."""

    id: str
    rows: int
    changed_ns: int
    """When it was last changed; the digits below its real precision may tell changes apart that have the same time."""


class NumberedLines:
    """A session whose offsets are the numbers of its rows: line 0, line 1, …

    A row that is taken out or put in before an offset moves the others, so that another line stands right before it: that is
    how `bytes_before` shows it.
    """

    def __init__(self, database: ForeignDatabase, found: Found) -> None:
        self.database = database
        self.found = found

    @abstractmethod
    def rendered(self, start: int, most: int) -> list[bytes]:
        """Up to so many lines from a number on, each with its newline; fewer only where there are no more whole ones."""

    @property
    def end(self) -> int:
        """Its last rows are not whole as long as the client is at work on them."""
        number = max(0, self.found.size - _AT_ONCE)
        while number > 0 and not self.rendered(number, 1):
            number = max(0, number - _AT_ONCE)
        return number + sum(1 for _ in self.lines(number))

    def lines(self, start: int) -> Iterator[Line]:
        while lines := self.rendered(start, _AT_ONCE):
            for data in lines:
                yield Line(start, start + 1, data)
                start += 1

    def blocks(self) -> Iterator[bytes]:
        return blocks_of(self.lines(0))

    def head(self, most_bytes: int) -> bytes:
        return b"".join(self.rendered(0, 1))[:most_bytes]

    def bytes_before(self, offset: int, most_bytes: int) -> bytes:
        data = b""
        while offset > 0 and len(data) < most_bytes:
            start = max(0, offset - (_AT_ONCE if data else 1))
            lines = self.rendered(start, offset - start)
            if len(lines) < offset - start:
                return b""  # it has become shorter
            data = b"".join(lines) + data
            offset = start
        return data[-most_bytes:] if most_bytes else b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()


def split_path(path: str) -> tuple[str, str]:
    """The database and the session's id of a path that `database_sessions` has made."""
    database, _, session_id = path.rpartition(BETWEEN)
    return database, session_id


def _found(file: Found, row: SessionRow) -> Found:
    return file._replace(path=f"{file.path}{BETWEEN}{row.id}", size=row.rows, mtime_ns=row.changed_ns)


def database_sessions(
    place: SessionPlace,
    is_database: Callable[[str], bool],
    sessions_in: Callable[[ForeignDatabase], Iterator[SessionRow]],
    only: Collection[str] | None = None,
) -> Inventory:
    """The sessions in all databases at a place. One that is busy or unreadable right now makes the place unreadable.

    A database with other tables than expected is told as such, after those of its sessions that could be listed.
    """
    files = inventory(place, is_database, only)
    found: list[Found] = []
    odd: dict[str, Oddity] = dict(files.odd)
    for file in files.found:
        try:
            with ForeignDatabase(file.path) as database:
                found.extend(_found(file, row) for row in sessions_in(database) if "/" not in row.id)
        except UnknownTablesError:
            odd[file.path] = "unknown tables"
        except FileNotFoundError:
            continue
        except OSError:
            odd[place.root] = "unreadable"
        except NotATranscriptError:
            odd[file.path] = "unreadable"
    return files._replace(found=tuple(found), odd=odd)
