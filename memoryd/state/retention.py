"""Retention of history: which contents can go, letting them go bit by bit, and giving their room back to the disk.

Only contents go. The rows of changes, files, evidence and refusals stay: what a memory rests on, whether a file is ours and
what the user does not want again is read from them.
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
"""Who needs a content: every change that it stood before or after, or was found in the way of."""


class Content(NamedTuple):
    hash: bytes
    bytes: int


class Plan(NamedTuple):
    """What can go, oldest first."""

    contents: tuple[Content, ...]
    kept_bytes: int
    """What is left then."""
    seen: int
    """The last change that was looked at."""
    unfinished: tuple[int, ...]
    """Those up to it that had not come to their end."""

    @property
    def bytes(self) -> int:
        return sum(content.bytes for content in self.contents)


def plan(database: Database, since: float, keep_bytes: float, now: float) -> Plan:
    """The contents that only changes from before `since` need, and the oldest of those beyond so many bytes.

    Changes that are not finished keep theirs, and so do dreams that the user undid: what they did is not done again.
    """
    # Asked first: what comes between this and the next question is behind it.
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
    """The first change that is young enough. All behind it are kept: a clock that was wrong for a day makes none older.

    A time that is ahead of the clock says nothing, unless nothing younger came after it.
    """
    (found,) = database.query(
        "SELECT coalesce((SELECT min(id) FROM changes WHERE at BETWEEN ?1 AND ?2),"
        " (SELECT max(id) + 1 FROM changes WHERE at < ?1), 0)",
        (since, now),
    )[0]
    number: int = found
    return number


def drop(database: Database, plan: Plan, contents: Sequence[Content], now: float) -> list[Content]:
    """Let some of the plan go, in one transaction, but for what a change has come to need since; return what went."""
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
    """Jobs that ended before then and of which more is kept than what came of them."""
    rows = database.query(
        "SELECT id FROM jobs WHERE ended_at < ? AND (EXISTS (SELECT 1 FROM fates WHERE job_id = jobs.id)"
        " OR EXISTS (SELECT 1 FROM dream_turns WHERE job_id = jobs.id)"
        " OR EXISTS (SELECT 1 FROM remarks WHERE job_id = jobs.id)"
        " OR EXISTS (SELECT 1 FROM steps WHERE job_id = jobs.id AND reply IS NOT NULL)) ORDER BY id",
        (before,),
    )
    return [row["id"] for row in rows]


def drop_notes(database: Database, job_ids: Sequence[int]) -> None:
    """Forget how these jobs went, in one transaction: their steps, findings, remarks, and answers that nobody asks for."""
    with database.transaction():
        for table in ("fates", "dream_turns", "remarks"):
            database.execute_many(f"DELETE FROM {table} WHERE job_id = ?", [(one,) for one in job_ids])  # noqa: S608 - ours
        database.execute_many("UPDATE steps SET reply = NULL WHERE job_id = ?", [(one,) for one in job_ids])


# --- room on the disk -------------------------------------------------------------------------------------------------


class DatabaseSize(NamedTuple):
    bytes: int
    free_bytes: int
    """Of those, what holds nothing: it is used again before the file grows."""

    @property
    def is_wasted(self) -> bool:
        """So much is free that writing all of it anew is worth it."""
        return self.free_bytes > _LEAST_FREE_BYTES and self.free_bytes > _LEAST_FREE_SHARE * self.bytes


def database_size(database: Database) -> DatabaseSize:
    size, pages, free = (
        database.query(f"PRAGMA {name}")[0][0] for name in ("page_size", "page_count", "freelist_count")
    )
    return DatabaseSize(size * pages, size * free)


def settle(database: Database) -> None:
    """Let SQLite look at how its indexes are used, and write its log into the file."""
    database.execute("PRAGMA optimize")
    database.query("PRAGMA wal_checkpoint(TRUNCATE)")  # as far as readers allow


def compact(database: Database) -> None:
    """Write the whole database anew without what is free. It goes through the log: a kill leaves it as it was."""
    database.execute("VACUUM")
    database.query("PRAGMA wal_checkpoint(TRUNCATE)")
