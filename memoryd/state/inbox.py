"""The inbox in the database: groups that review kept from being committed, until the user has said yes or no."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import MemorydError
from memoryd.model import Evidence, FileChange, Group, HeldGroup

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    from memoryd.state.database import Database

KEPT_DAYS = 30
"""Rows that are not answered in this time expire."""
IS_WAITING = "at IS NOT NULL AND closed_at IS NULL"
"""Rows that are shown for an answer; `at` is NULL as long as the commit is not closed that brings them."""
IS_UNANSWERED = f"{IS_WAITING} AND accepted_by IS NULL"
"""Waiting rows that no commit has begun to apply, so that they may be closed otherwise."""
_ROWS = (
    "SELECT *, coalesce((SELECT root FROM projects WHERE inbox.memory_dir IN (projects.memory_dir, projects.memory_dir ||"
    " '/team') ORDER BY projects.id LIMIT 1), memory_dir) AS project FROM inbox"
)


class InboxRow(NamedTuple):
    """One group in the inbox, answered or not."""

    id: int
    memory_dir: str
    project: str
    """The root of its project, or the memory directory where no project is known."""
    held: HeldGroup
    session_id: str
    at: float
    closed_at: float | None
    outcome: str | None

    @property
    def group(self) -> Group:
        return self.held.group

    @property
    def first(self) -> FileChange:
        """The file that the row is named after."""
        return self.group.changes[0]

    @property
    def replaced(self) -> FileChange | None:
        """The file that goes for the first one, where a memory gets another name."""
        is_new = self.first.before is None and self.first.after is not None
        return next((change for change in self.group.changes[1:] if change.after is None), None) if is_new else None

    @property
    def newest_words(self) -> Evidence | None:
        return self.group.evidence[-1][1] if self.group.evidence else None


class ClosedRow(NamedTuple):
    """Group that no longer waits, or never did, as `history` shows it."""

    id: int
    memory_dir: str
    outcome: str
    """accepted, rejected, expired, displaced, withdrawn, refused, dropped."""
    reason: str
    session_id: str
    closed_at: float
    names: tuple[str, ...]


class WaitingCount(NamedTuple):
    memory_dir: str
    project: str
    number: int


class AnsweredError(MemorydError):
    """The row has left the inbox already."""

    def __init__(self, row_id: int, outcome: str | None) -> None:
        super().__init__(f"{row_id} no longer waits in the inbox: it was {outcome or 'answered'}.", "memoryd history")


# --- looking ----------------------------------------------------------------------------------------------------------


def waiting(database: Database, memory_dir: str | None = None) -> list[InboxRow]:
    """What waits for an answer, oldest first: in one directory and for its team's folder, or in all."""
    rows = database.query(
        f"{_ROWS} WHERE {IS_WAITING} AND (?1 IS NULL OR memory_dir IN (?1, ?1 || '/team')) ORDER BY id",
        (memory_dir,),
    )
    return [_row(database, row) for row in rows]


def find(database: Database, row_id: int) -> InboxRow | None:
    rows = database.query(f"{_ROWS} WHERE id = ? AND at IS NOT NULL", (row_id,))
    return _row(database, rows[0]) if rows else None


def waiting_counts(database: Database) -> list[WaitingCount]:
    """Waiting rows by project, most first."""
    rows = database.query(
        f"SELECT memory_dir, project, count(*) AS number FROM ({_ROWS}) WHERE {IS_WAITING} GROUP BY memory_dir"  # noqa: S608 - ours
        " ORDER BY number DESC, memory_dir"
    )
    return [WaitingCount(*row) for row in rows]


def number_waiting(database: Database) -> int:
    number: int = database.query(f"SELECT count(*) FROM inbox WHERE {IS_WAITING}")[0][0]  # noqa: S608 - ours
    return number


def closed(
    database: Database, memory_dir: str | None = None, name: str | None = None, limit: int = 50
) -> list[ClosedRow]:
    """The last rows that left the inbox without a change in the history, newest first."""
    rows = database.query(
        "SELECT *, (SELECT group_concat(name, char(0)) FROM (SELECT name FROM inbox_files WHERE inbox_id = inbox.id"
        " ORDER BY position)) AS names FROM inbox WHERE closed_at IS NOT NULL AND (?1 IS NULL OR memory_dir = ?1)"
        " AND (?2 IS NULL OR id IN (SELECT inbox_id FROM inbox_files WHERE name = ?2))"
        " AND NOT EXISTS (SELECT 1 FROM memory_changes WHERE memory_changes.id = accepted_by)"
        " ORDER BY closed_at DESC, id DESC LIMIT ?3",
        (memory_dir, name, limit),
    )
    return [
        ClosedRow(
            row["id"],
            row["memory_dir"],
            row["outcome"] or row["state"],
            row["reason"],
            row["session_id"],
            row["closed_at"],
            tuple(row["names"].split("\0")),
        )
        for row in rows
    ]


def rows_accepted_by(database: Database, change_ids: Sequence[int]) -> dict[int, int]:
    """The row that each of these changes accepted, by change."""
    rows = database.query(
        "SELECT accepted_by, id FROM inbox WHERE accepted_by IN (SELECT value FROM json_each(?))",
        (json.dumps(list(change_ids)),),
    )
    return {row["accepted_by"]: row["id"] for row in rows}


def _row(database: Database, row: sqlite3.Row) -> InboxRow:
    files = database.query("SELECT * FROM inbox_files WHERE inbox_id = ? ORDER BY position", (row["id"],))
    words = database.query("SELECT * FROM inbox_evidence WHERE inbox_id = ? ORDER BY position", (row["id"],))
    group = Group(
        tuple(
            FileChange(file["name"], file["before"], file["after"], None, file["after_mtime_ns"], file["mode"])
            for file in files
        ),
        row["why"],
        tuple(
            (
                piece["name"],
                Evidence(piece["session_id"], piece["message_id"], piece["quote"], piece["hash"], piece["said_at"]),
            )
            for piece in words
        ),
        row["change_reason"],
        tuple(json.loads(row["from_index"])),
    )
    return InboxRow(
        row["id"],
        row["memory_dir"],
        row["project"],
        HeldGroup(group, row["state"], row["reason"]),
        row["session_id"],
        row["at"],
        row["closed_at"],
        row["outcome"],
    )


# --- leaving ----------------------------------------------------------------------------------------------------------


def reject(database: Database, row_id: int, now: float) -> None:
    """Close a row with a no: the same words are not proposed again. Raises AnsweredError.

    Words that another memory rests on are not refused as evidence.
    """
    with database.transaction():
        ended = database.execute(
            f"UPDATE inbox SET closed_at = ?, outcome = 'rejected' WHERE id = ? AND {IS_UNANSWERED}",  # noqa: S608 - ours
            (now, row_id),
        )
        check_waited(database, row_id, ended)
        database.execute(
            "INSERT OR IGNORE INTO refused_evidence (memory_dir, message_id, hash, inbox_id)"
            " SELECT DISTINCT memory_dir, message_id, hash, inbox_id FROM inbox_evidence JOIN inbox ON inbox.id = inbox_id"
            " WHERE inbox_id = ? AND NOT EXISTS (SELECT 1 FROM evidence JOIN changes ON changes.id = change_id"
            " WHERE evidence.memory_dir = inbox.memory_dir AND evidence.message_id = inbox_evidence.message_id"
            " AND evidence.hash = inbox_evidence.hash AND changes.state = 'applied' AND undone_by IS NULL)",
            (row_id,),
        )


def withdraw(database: Database, row_ids: Collection[int], now: float) -> None:
    """Close rows that the user's own later words have made needless. A row that was answered meanwhile stays answered."""
    database.execute(
        f"UPDATE inbox SET closed_at = ?, outcome = 'withdrawn' WHERE {IS_UNANSWERED}"  # noqa: S608 - ours
        " AND id IN (SELECT value FROM json_each(?))",
        (now, json.dumps(sorted(row_ids))),
    )


def check_waited(database: Database, row_id: int, update: sqlite3.Cursor) -> None:
    """Raise AnsweredError if an update that is for a waiting row found none."""
    if update.rowcount != 1:
        row = find(database, row_id)
        raise AnsweredError(row_id, row.outcome if row else None)


def expire(database: Database, before: float, now: float) -> int:
    """Close rows that have waited since before this time; return how many."""
    return database.execute(
        f"UPDATE inbox SET closed_at = ?, outcome = 'expired' WHERE {IS_UNANSWERED} AND at < ?",  # noqa: S608 - ours
        (now, before),
    ).rowcount


def drop_contents(database: Database, closed_before: float) -> None:
    """Delete the texts of rows that were closed before this time; names and reasons stay."""
    database.execute(
        "UPDATE inbox_files SET before = NULL, after = NULL WHERE (before IS NOT NULL OR after IS NOT NULL)"
        " AND inbox_id IN (SELECT id FROM inbox WHERE closed_at < ?)",
        (closed_before,),
    )
