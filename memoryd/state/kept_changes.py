"""Changes in the database that the user is told of: what was kept, and the words that it rests on.

A module of its own, since every prompt waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from memoryd.state.database import Database


class KeptChange(NamedTuple):
    id: int
    kind: str
    names: tuple[str, ...]
    """The memories it touched, without the index."""


def kept_since(database: Database, memory_dir: str, after: int) -> list[KeptChange]:
    """Changes behind this one that still stand and that the user did not make by a command, oldest first."""
    rows = database.query(
        "SELECT id, kind, names FROM memory_changes"
        " WHERE memory_dir = ? AND id > ? AND state = 'applied' AND undone_by IS NULL"
        " AND (kind IN ('extract', 'dream') OR (kind = 'remember' AND session_id <> '')) ORDER BY id LIMIT 500",
        (memory_dir, after),
    )
    return [KeptChange(row["id"], row["kind"], names_in(row["names"])) for row in rows]


def names_in(joined: str | None) -> tuple[str, ...]:
    """The names of memories as the view `memory_changes` joins them; several lines of one log have one name."""
    return tuple(dict.fromkeys(joined.split("\0"))) if joined else ()


def quotes_of(database: Database, change_id: int) -> list[str]:
    """The words that a change rests on."""
    return [row["quote"] for row in database.query("SELECT quote FROM evidence WHERE change_id = ?", (change_id,))]
