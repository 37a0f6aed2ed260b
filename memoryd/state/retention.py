"""Retention of history: old contents are deleted in small steps, and their space is given back to the disk.

Only contents are deleted. The rows of changes, files, evidence and refusals stay: they say what a memory rests on, whether
memoryd wrote a file, and what the user does not want again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.state.database import Database

_LEAST_FREE_BYTES = 8 << 20
_LEAST_FREE_SHARE = 0.25
_USES = (
    "SELECT before_hash AS hash, change_id FROM change_files WHERE before_hash IS NOT NULL"
    " UNION ALL SELECT after_hash, change_id FROM change_files WHERE after_hash IS NOT NULL"
    " UNION ALL SELECT hash, change_id FROM rescued"
)
"""Changes that need a content: as a file before or after, or as an edit that was rescued."""


class Content(NamedTuple):
    hash: bytes
    bytes: int


class Plan(NamedTuple):
    """Contents that can be deleted, oldest first."""

    contents: tuple[Content, ...]
    kept_bytes: int
    """Size of the contents that stay."""
    seen: int
    """The last change that was looked at."""
    unfinished: tuple[int, ...]
    """Changes up to it that were not closed."""

    @property
    def bytes(self) -> int:
        return sum(content.bytes for content in self.contents)


def plan(database: Database, since: float, keep_bytes: float, now: float) -> Plan:
    """Contents that only changes from before `since` need, and the oldest of those beyond `keep_bytes`.

    Unfinished changes keep theirs, and so do dreams that the user undid: they are read so that it is not done again.
    """
    # Read first: changes made after this query have higher numbers.
    (seen,) = database.query("SELECT coalesce(max(id), 0) FROM changes")[0]
    unfinished = database.query("SELECT id FROM changes WHERE state = 'prepared' AND id <= ?", (seen,))
    first = _first_kept(database, since, now)
    rows = database.query(
        f"SELECT hash, bytes, newest, is_needed FROM (SELECT hash, max(change_id) AS newest, max(state = 'prepared' OR"  # noqa: S608 - ours
        f" (kind = 'dream' AND undone_by IS NOT NULL)) AS is_needed FROM ({_USES}) JOIN changes ON changes.id = change_id"
        " GROUP BY hash) JOIN (SELECT hash, length(data) AS bytes, dropped_at FROM blobs) USING (hash)"
        " WHERE dropped_at IS NULL ORDER BY newest"
    )
    left = sum(row["bytes"] for row in rows)
    found = []
    for row in rows:
        if row["newest"] >= first and left <= keep_bytes:
            break
        if not row["is_needed"]:
            found.append(Content(row["hash"], row["bytes"]))
            left -= row["bytes"]
    return Plan(tuple(found), left, seen, tuple(row["id"] for row in unfinished))


def _first_kept(database: Database, since: float, now: float) -> int:
    """First change that is young enough; all after it are kept, also where the clock was wrong for a day.

    A time ahead of the clock is ignored, unless no younger change came after it.
    """
    (found,) = database.query(
        "SELECT coalesce((SELECT min(id) FROM changes WHERE at BETWEEN ?1 AND ?2),"
        " (SELECT max(id) + 1 FROM changes WHERE at < ?1), 0)",
        (since, now),
    )[0]
    number: int = found
    return number


def drop(database: Database, plan: Plan, contents: Sequence[Content], now: float) -> list[Content]:
    """Delete some contents of the plan in one transaction, except those that a new change needs; return the deleted."""
    with database.transaction():
        rows = database.query(
            f"SELECT hash FROM ({_USES}) WHERE change_id > ? OR change_id IN (SELECT value FROM json_each(?))",  # noqa: S608 - ours
            (plan.seen, json.dumps(plan.unfinished)),
        )
        needed = {row["hash"] for row in rows}
        gone = [content for content in contents if content.hash not in needed]
        database.execute_many(
            "UPDATE blobs SET data = x'', dropped_at = ? WHERE hash = ?", [(now, content.hash) for content in gone]
        )
    return gone


def jobs_with_notes(database: Database, before: float) -> list[int]:
    """Jobs that ended before this time and still have steps, verdicts, remarks or replies."""
    rows = database.query(
        "SELECT id FROM jobs WHERE ended_at < ? AND (EXISTS (SELECT 1 FROM fates WHERE job_id = jobs.id)"
        " OR EXISTS (SELECT 1 FROM dream_turns WHERE job_id = jobs.id)"
        " OR EXISTS (SELECT 1 FROM remarks WHERE job_id = jobs.id)"
        " OR EXISTS (SELECT 1 FROM steps WHERE job_id = jobs.id AND reply IS NOT NULL)) ORDER BY id",
        (before,),
    )
    return [row["id"] for row in rows]


def drop_notes(database: Database, job_ids: Sequence[int]) -> None:
    """Delete steps, verdicts, remarks and replies of these jobs in one transaction."""
    with database.transaction():
        for table in ("fates", "dream_turns", "remarks"):
            database.execute_many(f"DELETE FROM {table} WHERE job_id = ?", [(job_id,) for job_id in job_ids])  # noqa: S608 - ours
        database.execute_many("UPDATE steps SET reply = NULL WHERE job_id = ?", [(job_id,) for job_id in job_ids])


# --- room on the disk -------------------------------------------------------------------------------------------------


class DatabaseSize(NamedTuple):
    bytes: int
    free_bytes: int
    """Unused part of it, which SQLite fills before the file grows."""

    @property
    def is_wasted(self) -> bool:
        """Whether enough is free that rewriting the file is worth it."""
        return self.free_bytes > _LEAST_FREE_BYTES and self.free_bytes > _LEAST_FREE_SHARE * self.bytes


def database_size(database: Database) -> DatabaseSize:
    size, pages, free = (
        database.query(f"PRAGMA {name}")[0][0] for name in ("page_size", "page_count", "freelist_count")
    )
    return DatabaseSize(size * pages, size * free)


def optimize(database: Database) -> None:
    """Update SQLite's statistics of its indexes, and write the WAL into the file."""
    database.execute("PRAGMA optimize")
    database.query("PRAGMA wal_checkpoint(TRUNCATE)")  # as far as readers allow


def compact(database: Database) -> None:
    """Rewrite the database without unused pages. It goes through the WAL, so a kill leaves it as it was."""
    database.execute("VACUUM")
    database.query("PRAGMA wal_checkpoint(TRUNCATE)")
