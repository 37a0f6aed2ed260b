"""The room that the database takes on the disk, and giving back what it does not need."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memoryd.state.database import BUSY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.state.database import Database

_LEAST_FREE_BYTES = 8 << 20
_LEAST_FREE_SHARE = 0.25
_PATIENCE_SECONDS = 0.05


class Room(NamedTuple):
    bytes: int
    free_bytes: int
    """Of those, what holds nothing: it is used again before the file grows."""

    @property
    def is_wasted(self) -> bool:
        """So much is free that writing all of it anew is worth it."""
        return self.free_bytes > _LEAST_FREE_BYTES and self.free_bytes > _LEAST_FREE_SHARE * self.bytes


def room_of(database: Database) -> Room:
    size, pages, free = (
        database.query(f"PRAGMA {name}")[0][0] for name in ("page_size", "page_count", "freelist_count")
    )
    return Room(size * pages, size * free)


@contextmanager
def impatient(database: Database, seconds: float = _PATIENCE_SECONDS) -> Iterator[None]:
    """Whoever else uses the database goes first: what needs it gives up after so long, or at once, as BusyError."""
    database.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    try:
        yield
    finally:
        database.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")


def settle(database: Database) -> None:
    """Let SQLite look at how its indexes are used, and write its log into the file."""
    database.execute("PRAGMA optimize")
    database.query("PRAGMA wal_checkpoint(TRUNCATE)")  # as far as readers allow


def compact(database: Database) -> None:
    """Write the whole database anew without what is free. It goes through the log: a kill leaves it as it was."""
    database.execute("VACUUM")
    database.query("PRAGMA wal_checkpoint(TRUNCATE)")
