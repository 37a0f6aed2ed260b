"""Dreams in the database: state of their gates, held locks, jobs, progress."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd import backoff
from memoryd.model import WaitingSession
from memoryd.state import inbox_intake, jobs, model_calls

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from memoryd.model import HeldGroup, Progress
    from memoryd.state.database import Database
    from memoryd.state.jobs import WaitingTurn

KIND = "dream"
SEEN = "seen_by_dream"
"""Outcome of a turn from which neither extraction nor the dream that read it again made anything."""
KEPT_RUNS = 20


# --- what the gates ask -----------------------------------------------------------------------------------------------


class DreamGateState(NamedTuple):
    """State of the gates of one directory."""

    first_seen_at: float | None = None
    """When its project was first seen; None: it never was."""
    counted_at: float | None = None
    ahead_ns: int | None = None
    noticed_at: float | None = None
    failures: int = 0
    retry_at: float | None = None


class ChangedSession(NamedTuple):
    """A session of a project, in whichever of its worktrees."""

    session: WaitingSession
    mtime: float
    size: int
    has_open_turn: bool


def dream_gate_state(database: Database, memory_dir: str) -> DreamGateState:
    (seen,) = database.query("SELECT min(first_seen_at) FROM projects WHERE memory_dir = ?", (memory_dir,))
    rows = database.query("SELECT * FROM dream_checks WHERE memory_dir = ?", (memory_dir,))
    if not rows:
        return DreamGateState(seen[0])
    row = rows[0]
    return DreamGateState(
        seen[0], row["counted_at"], row["ahead_ns"], row["noticed_at"], row["failures"], row["retry_at"]
    )


def note_count(database: Database, memory_dir: str, now: float) -> None:
    database.execute(
        "INSERT INTO dream_checks (memory_dir, counted_at) VALUES (?1, ?2)"
        " ON CONFLICT (memory_dir) DO UPDATE SET counted_at = ?2",
        (memory_dir, now),
    )


def note_ahead(database: Database, memory_dir: str, ahead_ns: int, now: float) -> None:
    """Record that the lock's time is ahead of the clock; its day is counted from now."""
    database.execute(
        "INSERT INTO dream_checks (memory_dir, ahead_ns, noticed_at) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (memory_dir) DO UPDATE SET ahead_ns = ?2, noticed_at = ?3",
        (memory_dir, ahead_ns, now),
    )


def note_first_sight(database: Database, memory_dir: str, now: float) -> None:
    """Set a first sight that lies in the future to now; its day is counted from now."""
    database.execute(
        "UPDATE projects SET first_seen_at = ?1 WHERE memory_dir = ?2 AND first_seen_at > ?1", (now, memory_dir)
    )


def sessions_since(database: Database, memory_dir: str, since: float) -> list[ChangedSession]:
    """The sessions of all worktrees of a project that changed since then, oldest first.

    What counts is when the change was noticed: a file whose mtime is ahead of the clock would count after every dream.
    """
    rows = database.query(
        "SELECT transcripts.*, projects.root AS project_root, collides_with, EXISTS (SELECT 1 FROM turns WHERE"
        " transcript_id = transcripts.id AND outcome IS NULL AND end_reason IS NULL) AS has_open_turn"
        " FROM transcripts JOIN projects ON projects.id = transcripts.project_id LEFT JOIN collisions ON collisions.project_id ="
        " projects.id WHERE memory_dir = ? AND (active_at > ? OR EXISTS (SELECT 1 FROM turns JOIN jobs ON jobs.id = turns.job_id"
        " WHERE transcript_id = transcripts.id AND turns.outcome IS NULL AND kind = 'dream' AND jobs.outcome LIKE 'succeeded%')) ORDER BY mtime_ns, transcripts.id",
        (memory_dir, since),
    )
    return [
        ChangedSession(
            WaitingSession(
                row["id"],
                row["session_id"],
                row["client"],
                row["path"],
                row["cwd"],
                row["project_root"],
                row["active_at"],
                row["active_at"],
                (),
                memory_dir,
                opted_out=bool(row["opted_out"]),
                is_gone=row["missing_at"] is not None,
                collides_with=row["collides_with"],
            ),
            row["mtime_ns"] / 1e9,
            max(row["size"], 0),
            bool(row["has_open_turn"]),
        )
        for row in rows
    ]


# --- jobs -------------------------------------------------------------------------------------------------------------


class DreamJob(NamedTuple):
    id: int
    token: str
    memory_dir: str


def begin(database: Database, memory_dir: str, project_root: str, engine: str, now: float) -> DreamJob:
    with database.transaction():
        token = os.urandom(8).hex()
        job_id = database.insert(
            "INSERT INTO jobs (kind, memory_dir, session_id, token, started_at) VALUES (?, ?, '', ?, ?)",
            (KIND, memory_dir, token, now),
        )
        database.execute(  # steps are kept for the last runs only
            "DELETE FROM dream_turns WHERE job_id < (SELECT min(job_id) FROM (SELECT job_id FROM dreams ORDER BY job_id"
            " DESC LIMIT ?))",
            (KEPT_RUNS,),
        )
        database.execute(
            "INSERT INTO dreams (job_id, project_root, engine, state) VALUES (?, ?, ?, 'starting')",
            (job_id, project_root, engine),
        )
    return DreamJob(job_id, token, memory_dir)


class LeasedTurns(NamedTuple):
    """Turns of one transcript that a dream looks at."""

    unread: tuple[WaitingTurn, ...]
    fruitless: tuple[WaitingTurn, ...]
    """Turns that extraction read without result; one dream reads them again."""


def lease(database: Database, job: DreamJob, transcript_ids: Iterable[int]) -> dict[int, LeasedTurns]:
    """Lease the turns of these transcripts that nobody has worked on, history included, and those without a result.

    A dream that does not succeed leaves both as they were.
    """
    with database.transaction():
        found = {
            number: LeasedTurns(
                jobs.waiting_turns(database, number, history=True), jobs.fruitless_turns(database, number)
            )
            for number in transcript_ids
        }
        database.execute_many(
            "UPDATE turns SET job_id = ? WHERE id = ?",
            [(job.id, turn.id) for turns in found.values() for turn in (*turns.unread, *turns.fruitless)],
        )
    return found


def end(
    database: Database,
    job: DreamJob,
    outcome: str,
    now: float,
    *,
    turns: Sequence[int] = (),
    waiting: Sequence[int] = (),
    detail: str = "",
    is_lost: bool = False,
    held: Sequence[HeldGroup] = (),
) -> bool:
    """End a dream; these turns count as done. False where its commit has ended it already; the rest is done here.

    `waiting` are turns that a group rests on which could not be written: they wait to be read again.
    `held` are the groups that review held, of a dream that commits nothing; they go into the inbox.

    After a failure the next dream waits, longer each time. After one that was stopped it may come at once, and also after
    the first whose process died.
    """
    with database.transaction():
        closed = database.execute(
            "UPDATE jobs SET outcome = ?, ended_at = ?, detail = ? WHERE id = ? AND token = ? AND outcome IS NULL",
            (outcome, now, detail, job.id, job.token),
        )
        if outcome not in ("failed", "killed"):
            model_calls.forget_replies(database, job.id)
        database.execute_many(
            "UPDATE turns SET outcome = NULL WHERE id = ? AND outcome = 'succeeded_no_output'",
            [(turn,) for turn in waiting],
        )
        seen = SEEN if outcome == "succeeded_no_output" else outcome
        database.execute_many(
            "UPDATE turns SET outcome = CASE WHEN outcome IS NULL THEN ?1 ELSE ?2 END"
            " WHERE id = ?3 AND (outcome IS NULL OR outcome = 'succeeded_no_output')",
            [(seen, SEEN, turn) for turn in turns],
        )
        if closed.rowcount == 1 or outcome.startswith(
            "succeeded"
        ):  # an error after the commit does not count as a failure
            _count_failure(database, job.memory_dir, outcome, now, is_lost=is_lost)
        if closed.rowcount == 1:
            inbox_intake.store_for_job(database, job.id, {job.memory_dir: held}, now)
    return closed.rowcount == 1


def _count_failure(database: Database, memory_dir: str, outcome: str, now: float, *, is_lost: bool) -> None:
    has_failed = is_lost or outcome == "failed" or outcome.startswith("refused")
    if not has_failed and not outcome.startswith("succeeded"):
        return
    failures = 1 + dream_gate_state(database, memory_dir).failures if has_failed else 0
    may_come = not failures or (is_lost and failures == 1)
    database.execute(
        "INSERT INTO dream_checks (memory_dir, failures, retry_at) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (memory_dir) DO UPDATE SET failures = ?2, retry_at = ?3",
        (memory_dir, failures, None if may_come else now + backoff.DREAM.delay(failures)),
    )


def unfinished(database: Database, memory_dir: str | None = None) -> list[DreamJob]:
    """Dreams that have begun and not ended; their process may have died."""
    rows = database.query(
        "SELECT id, token, memory_dir FROM jobs WHERE kind = ? AND outcome IS NULL AND (?2 IS NULL OR memory_dir = ?2)"
        " ORDER BY id",
        (KIND, memory_dir),
    )
    return [DreamJob(*row) for row in rows]


def succeeded_at(database: Database, job_id: int) -> float | None:
    """When a dream succeeded; None where it did not. Of a commit that was finished later the time it was begun counts.

    Otherwise what was said between the dream and its recovery would count as seen by it.
    """
    rows = database.query(
        "SELECT coalesce((SELECT max(at) FROM changes WHERE job_id = jobs.id), ended_at) FROM jobs WHERE id = ?"
        " AND outcome LIKE 'succeeded%'",
        (job_id,),
    )
    return rows[0][0] if rows else None


# --- the lock ---------------------------------------------------------------------------------------------------------


class HeldLock(NamedTuple):
    """Lock file that a process of memoryd took, as it was before."""

    memory_dir: str
    job_id: int
    existed: bool
    mtime_ns: int
    taken_ns: int
    pid: int
    start_ticks: int
    boot_id: str
    temporary: str


def remember_lock(database: Database, held: HeldLock) -> None:
    """Record a lock before it changes on disk, so that a kill afterwards does not delay the next dream by a day."""
    database.execute("INSERT OR REPLACE INTO locks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", tuple(held))


def forget_lock(database: Database, memory_dir: str, job_id: int) -> None:
    database.execute("DELETE FROM locks WHERE memory_dir = ? AND job_id = ?", (memory_dir, job_id))


def held_locks(database: Database, memory_dir: str | None = None) -> list[HeldLock]:
    rows = database.query("SELECT * FROM locks WHERE ?1 IS NULL OR memory_dir = ?1 ORDER BY memory_dir", (memory_dir,))
    return [HeldLock(*row)._replace(existed=bool(row["existed"])) for row in rows]


# --- progress ---------------------------------------------------------------------------------------------------------


class DreamTurn(NamedTuple):
    at: float
    phase: str
    line: str
    text: str


class DreamReport(NamedTuple):
    """A dream, running or ended."""

    job_id: int
    memory_dir: str
    project_root: str
    engine: str
    state: str
    """starting, updating; once ended its outcome."""
    phase: str
    line: str
    tools: int
    files: tuple[str, ...]
    usd: float
    started_at: float
    ended_at: float | None
    detail: str
    turns: tuple[DreamTurn, ...] = ()
    stop_requested: bool = False


def note_progress(database: Database, job_id: int, progress: Progress, at: float) -> None:
    with database.transaction():
        database.execute(
            "UPDATE dreams SET phase = ?, line = ?, tools = ?, files = ?, usd = ?, state = ? WHERE job_id = ?",
            (
                progress.phase,
                progress.line,
                progress.tools,
                json.dumps(progress.files),
                progress.usd,
                "updating" if progress.files else "starting",
                job_id,
            ),
        )
        database.execute(
            "INSERT INTO dream_turns SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5 FROM dream_turns"
            " WHERE job_id = ?1",
            (job_id, at, progress.phase, progress.line, progress.text),
        )


def request_stop(database: Database, job_id: int) -> None:
    database.execute("UPDATE dreams SET stop_requested = 1 WHERE job_id = ?", (job_id,))


def is_to_stop(database: Database, memory_dir: str) -> bool:
    """Whether the running dream of this directory was asked to stop."""
    return bool(
        database.query(
            "SELECT 1 FROM dreams JOIN jobs ON jobs.id = job_id WHERE memory_dir = ? AND outcome IS NULL AND stop_requested",
            (memory_dir,),
        )
    )


def last_dreams(database: Database, limit: int, *, turns: int = 0, memory_dir: str | None = None) -> list[DreamReport]:
    """The newest dreams, running ones first, with the last `turns` steps of those that run."""
    rows = database.query(
        "SELECT * FROM dreams JOIN jobs ON jobs.id = job_id WHERE ?2 IS NULL OR memory_dir = ?2"
        " ORDER BY outcome IS NOT NULL, job_id DESC LIMIT ?1",
        (limit, memory_dir),
    )
    return [_report(database, row, turns) for row in rows]


def _report(database: Database, row: sqlite3.Row, turns: int) -> DreamReport:
    last = database.query(
        "SELECT at, phase, line, text FROM dream_turns WHERE job_id = ? ORDER BY number DESC LIMIT ?",
        (row["job_id"], turns if row["outcome"] is None else 0),
    )
    return DreamReport(
        row["job_id"],
        row["memory_dir"],
        row["project_root"],
        row["engine"],
        row["outcome"] or row["state"],
        row["phase"],
        row["line"],
        row["tools"],
        tuple(json.loads(row["files"])),
        row["usd"],
        row["started_at"],
        row["ended_at"],
        row["detail"],
        tuple(DreamTurn(*turn) for turn in reversed(last)),
        bool(row["stop_requested"]),
    )
