"""Quotes that recall hands over beside memories, in the database: unconfirmed memories, and logs with lines of extraction.

A module of its own, since every prompt waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from memoryd.state.database import Database


class Quote(NamedTuple):
    """What recall needs of an unconfirmed memory, or of a line of a daily log that is none yet."""

    row_id: int
    file: str
    """That it would get."""
    text: bytes
    """That this would hold."""
    quote: str
    said_at: float
    log: str = ""
    """The daily log that it is a line of."""
    type: str = ""
    """Of the memory that a line of a log shall become; the text of an unconfirmed one tells it itself."""


def unconfirmed_quotes(database: Database, memory_dir: str) -> list[Quote]:
    """The unconfirmed memories of a directory, oldest first, in one query: somebody waits for it."""
    rows = database.query(
        "SELECT inbox.id, inbox_files.name, after, quote, coalesce(said_at, at) FROM inbox"
        " JOIN inbox_files ON inbox_files.inbox_id = inbox.id AND inbox_files.position = 0"
        " JOIN inbox_evidence ON inbox_evidence.inbox_id = inbox.id AND inbox_evidence.position = 0"
        " WHERE inbox.memory_dir = ? AND state = 'unconfirmed' AND after IS NOT NULL AND at IS NOT NULL"
        " AND closed_at IS NULL ORDER BY inbox.id",
        (memory_dir,),
    )
    return [Quote(*row) for row in rows]


def logs_with_lines(database: Database, memory_dir: str) -> set[str]:
    """The logs of a directory that extraction has appended to."""
    return {row[0] for row in database.query("SELECT DISTINCT log FROM log_lines WHERE memory_dir = ?", (memory_dir,))}
