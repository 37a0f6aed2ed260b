"""Turns in the database that are open or wait to be worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.model import WaitingSession
from memoryd.state.sessions import turn_of_row

if TYPE_CHECKING:
    from memoryd.model import EndReason, Turn
    from memoryd.state.database import Database


class OpenTurn(NamedTuple):
    id: int
    turn: Turn
    active_at: float


def open_turns(database: Database) -> list[OpenTurn]:
    """Open turns in transcripts that have been read to their end."""
    rows = database.query(
        "SELECT turns.*, active_at FROM turns JOIN transcripts ON transcripts.id = transcript_id"
        " WHERE outcome IS NULL AND end_reason IS NULL AND is_complete"
    )
    return [OpenTurn(row["id"], turn_of_row(row), row["active_at"]) for row in rows]


def end_turns(database: Database, ended: list[tuple[int, EndReason]], now: float) -> None:
    with database.transaction():
        database.execute_many(
            "UPDATE turns SET end_reason = ?, ended_at = ? WHERE id = ? AND end_reason IS NULL",
            [(reason, now, turn_id) for turn_id, reason in ended],
        )


def forget_future_activity(database: Database, now: float) -> None:
    """Set activity that lies in the future, after the clock was set back, to now; silence is counted from here."""
    if database.query("SELECT 1 FROM transcripts WHERE active_at > ? LIMIT 1", (now,)):
        database.execute("UPDATE transcripts SET active_at = ?1 WHERE active_at > ?1", (now,))
    if database.query("SELECT 1 FROM turns WHERE outcome IS NULL AND ended_at > ? LIMIT 1", (now,)):
        database.execute("UPDATE turns SET ended_at = ?1 WHERE outcome IS NULL AND ended_at > ?1", (now,))


_SESSIONS = (
    "SELECT transcripts.id, session_id, client, path, cwd, coalesce(projects.root, cwd) AS project_root, active_at,"
    " min(ended_at) AS first_ended_at, group_concat(turns.id) AS turn_ids, opted_out,"
    " missing_at IS NOT NULL AS is_gone, collides_with, coalesce(memory_dir, '') AS memory_dir, failures, retry_at,"
    " size <> failed_bytes AS has_grown, max(EXISTS (SELECT 1 FROM jobs WHERE jobs.session_id = transcripts.session_id"
    " AND jobs.ended_at >= turns.ended_at AND started_at < turns.ended_at)) AS is_trailing,"
    " coalesce(min(said_at) <= (SELECT at FROM releases WHERE releases.session_id = transcripts.session_id), 0) AS is_released"
    " FROM turns JOIN transcripts ON transcripts.id = transcript_id"
    " LEFT JOIN projects ON projects.id = transcripts.project_id"
    " LEFT JOIN collisions ON collisions.project_id = projects.id"
    " WHERE end_reason IS NOT NULL"
)
_WAITING = (
    " AND outcome IS NULL AND NOT EXISTS (SELECT 1 FROM jobs AS leases"
    " WHERE leases.id = turns.job_id AND leases.outcome IS NULL AND kind = 'dream')"
)
# A literal, not a parameter: only then SQLite uses the partial index on waiting turns.
_NOT_HISTORY = " AND is_history = 0"
# Sessions that failed come after the others.
_BY_AGE = " GROUP BY transcripts.id ORDER BY retry_at IS NOT NULL, mtime_ns"


def waiting_sessions(database: Database, *, with_history: bool = False) -> list[WaitingSession]:
    """Sessions with turns that have ended and nobody has worked on; nearest to deletion first. History only if asked."""
    return _sessions(database, _WAITING + ("" if with_history else _NOT_HISTORY))


def recent_sessions(database: Database, since: float) -> list[WaitingSession]:
    """Sessions that were active since then, with all turns that have ended, also those that were worked on."""
    return _sessions(database, " AND active_at >= ?", since)


def _sessions(database: Database, condition: str, *values: float) -> list[WaitingSession]:
    rows = database.query(_SESSIONS + condition + _BY_AGE, values)
    return [
        WaitingSession(
            row["id"],
            row["session_id"],
            row["client"],
            row["path"],
            row["cwd"],
            row["project_root"],
            row["active_at"],
            row["first_ended_at"],
            tuple(sorted(map(int, row["turn_ids"].split(",")))),
            row["memory_dir"],
            row["failures"],
            row["retry_at"],
            bool(row["has_grown"]),
            bool(row["is_trailing"]),
            bool(row["opted_out"]),
            bool(row["is_gone"]),
            row["collides_with"],
            bool(row["is_released"]),
        )
        for row in rows
    ]
