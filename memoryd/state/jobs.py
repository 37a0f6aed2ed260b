"""Jobs in the database: leases on turns, and their outcome."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memoryd import backoff
from memoryd.state import inbox_intake, model_calls
from memoryd.state.projects import ROOT_OF_JOB

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from memoryd.model import HeldGroup
    from memoryd.state.database import Database

RECALL, REMEMBER, NOTES, SUMMARY = "recall", "remember", "notes", "summary"
_IS_WORK = "kind NOT IN ('recall', 'remember', 'notes', 'summary')"
"""Jobs that work on sessions or memories; the others only ask a model, for a prompt, a command or a session's notes."""


class WaitingTurn(NamedTuple):
    id: int
    prompt_id: str
    start: int
    end: int
    said_at: float | None
    before: int | None
    """Where the turn before it begins in the transcript."""
    next_said_at: float | None
    """When the user spoke again."""
    before_ids: tuple[str, ...] = ()
    """The prompts of the turns before it, the last one first; three at most."""


class Job(NamedTuple):
    """A lease on the waiting turns of one session."""

    id: int
    token: str
    transcript_id: int
    session_id: str
    turns: tuple[WaitingTurn, ...]


class JobReport(NamedTuple):
    id: int
    kind: str
    memory_dir: str
    session_id: str
    outcome: str | None
    detail: str
    saved: tuple[str, ...]
    removed: tuple[str, ...]
    seconds: float
    ended_at: float
    project: str
    """Root of its project; empty if it is no longer known."""
    engine: str
    """Model that was asked, or engine of a dream; empty where no model was asked."""


def drop_lost(database: Database, memory_dir: str, now: float) -> None:
    """End the jobs of processes that died. The caller holds the process lock of this directory, so they are dead.

    A dream has a lock of its own; recovery of dreams ends it.
    """
    rows = database.query(
        "SELECT id, token, session_id, coalesce((SELECT transcript_id FROM turns WHERE job_id = jobs.id LIMIT 1), 0)"
        " AS transcript_id FROM jobs WHERE memory_dir = ? AND outcome IS NULL AND kind <> 'dream'",
        (memory_dir,),
    )
    for row in rows:
        job = Job(row["id"], row["token"], row["transcript_id"], row["session_id"], ())
        fail(database, job, "its process died", now, is_lost=True)


def claim(
    database: Database, memory_dir: str, transcript_id: int, session_id: str, now: float, *, history: bool = False
) -> Job | None:
    """Lease the turns of a session that have ended and wait; None where there are none."""
    with database.transaction():
        turns = waiting_turns(database, transcript_id, history=history)
        if not turns:
            return None
        token = os.urandom(8).hex()
        job_id = database.insert(
            "INSERT INTO jobs (kind, memory_dir, session_id, token, started_at) VALUES (?, ?, ?, ?, ?)",
            ("backfill" if history else "extract", memory_dir, session_id, token, now),
        )
        database.execute_many("UPDATE turns SET job_id = ? WHERE id = ?", [(job_id, turn.id) for turn in turns])
    return Job(job_id, token, transcript_id, session_id, turns)


def begin_request(database: Database, kind: str, memory_dir: str, now: float) -> int:
    """Begin a job that asks a model and is no work on sessions or memories: for a prompt, a command, a session's notes.

    It is recorded as failed until it succeeds, so that no recovery has to look for dead ones.
    """
    return database.insert(
        "INSERT INTO jobs (kind, memory_dir, session_id, token, started_at, ended_at, outcome, detail)"
        " VALUES (?, ?, '', '', ?3, ?3, 'failed', 'its process died')",
        (kind, memory_dir, now),
    )


def end_request(database: Database, job_id: int, outcome: str, now: float, detail: str = "") -> None:
    with database.transaction():
        database.execute(
            "UPDATE jobs SET outcome = ?, ended_at = ?, detail = ? WHERE id = ?", (outcome, now, detail, job_id)
        )
        if outcome != "failed":  # by job: a dream has no session either, and may need the replies that were paid for
            database.execute("UPDATE steps SET reply = NULL WHERE job_id = ?", (job_id,))


def waiting_turns(database: Database, transcript_id: int, *, history: bool = False) -> tuple[WaitingTurn, ...]:
    """The turns of a session that have ended, that nobody has worked on, and that no dream is about."""
    is_waiting = (
        "outcome IS NULL AND end_reason IS NOT NULL AND (is_history = 0 OR ?) AND NOT EXISTS"
        " (SELECT 1 FROM jobs WHERE jobs.id = job_id AND jobs.outcome IS NULL)"
    )
    return _turns_where(database, transcript_id, is_waiting, history)


def ended_turns(database: Database, transcript_id: int) -> tuple[WaitingTurn, ...]:
    """The turns of a session that have ended, also those that were worked on."""
    is_ended = "end_reason IS NOT NULL AND generation = (SELECT generation FROM transcripts WHERE transcripts.id = ?)"
    return _turns_where(database, transcript_id, is_ended, transcript_id)


def fruitless_turns(database: Database, transcript_id: int) -> tuple[WaitingTurn, ...]:
    """The turns of a session that extraction read without result, and that no dream has looked at."""
    is_fruitless = (  # turns of a file that was rewritten since cannot be found any more
        "outcome = ? AND generation = (SELECT generation FROM transcripts WHERE transcripts.id = transcript_id)"
    )
    return _turns_where(database, transcript_id, is_fruitless, "succeeded_no_output")


def _turns_where(database: Database, transcript_id: int, condition: str, value: int | str) -> tuple[WaitingTurn, ...]:
    rows = database.query(
        "SELECT * FROM (SELECT *, lag(start) OVER near AS before, lead(said_at) OVER near AS next_said_at,"  # noqa: S608 - ours
        " lag(prompt_id) OVER near AS last, lag(prompt_id, 2) OVER near AS last_but_one, lag(prompt_id, 3) OVER near"
        " AS third_last FROM turns WHERE transcript_id = ? WINDOW near AS (PARTITION BY generation ORDER BY start))"
        f" WHERE {condition} ORDER BY start",
        (transcript_id, value),
    )
    return tuple(map(_waiting_turn, rows))


def _waiting_turn(row: sqlite3.Row) -> WaitingTurn:
    before = tuple(
        prompt_id for prompt_id in (row["last"], row["last_but_one"], row["third_last"]) if prompt_id is not None
    )
    return WaitingTurn(
        row["id"],
        row["prompt_id"],
        row["start"],
        row["end"],
        row["said_at"],
        row["before"],
        row["next_said_at"],
        before,
    )


def finish(
    database: Database,
    job: Job,
    outcome: str,
    now: float,
    *,
    turns: tuple[int, ...],
    detail: str = "",
    held: Mapping[str, Sequence[HeldGroup]] = MappingProxyType({}),
) -> bool:
    """End a job that changed no file: its turns get the outcome, what review held, by directory, goes into the inbox.

    False if the lease is no longer ours: then nothing is done.
    """
    with database.transaction():
        if not _close(database, job, outcome, now, detail):
            return False
        database.execute_many(
            "UPDATE turns SET outcome = ? WHERE id = ? AND outcome IS NULL", [(outcome, turn_id) for turn_id in turns]
        )
        database.execute("UPDATE transcripts SET failures = 0, retry_at = NULL WHERE id = ?", (job.transcript_id,))
        inbox_intake.store_for_job(database, job.id, held, now)
    return True


def pass_over(database: Database, job: Job, outcomes: Mapping[int, str], detail: str) -> None:
    """Close some turns of a running job: the client saved their words itself, as its detail says."""
    with database.transaction():
        rows = database.execute(
            "UPDATE jobs SET detail = ? WHERE id = ? AND token = ? AND outcome IS NULL", (detail, job.id, job.token)
        )
        if rows.rowcount == 1:
            database.execute_many(
                "UPDATE turns SET outcome = ? WHERE id = ? AND outcome IS NULL",
                [(outcome, turn_id) for turn_id, outcome in outcomes.items()],
            )


def fail(database: Database, job: Job, why: str, now: float, *, is_lost: bool = False) -> None:
    """End a job that failed: its turns go on waiting, longer after every failure.

    After the first death of its process it is tried again before all others: replies of the model can be used again only
    as long as the memories are the same.
    """
    with database.transaction():
        _close(database, job, "failed", now, why)
        known = database.query("SELECT failures FROM transcripts WHERE id = ?", (job.transcript_id,))
        failures = 1 + (known[0]["failures"] if known else 0)
        database.execute(
            "UPDATE transcripts SET failures = ?, retry_at = ?, failed_bytes = size WHERE id = ?",
            (failures, None if is_lost and failures == 1 else now + backoff.SESSION.delay(failures), job.transcript_id),
        )


def release(database: Database, job: Job, why: str, now: float) -> None:
    """End a job that is done again at once; it does not count as a failure."""
    with database.transaction():
        _close(database, job, "failed", now, why)


def postpone(database: Database, job: Job, why: str, now: float, until: float) -> None:
    """End a job that the model's endpoint did not answer: it waits until then, and other sessions go first.

    If other sessions have been answered since this one failed the last time, it counts as a failure of this session.
    """
    others_fared_well = database.query(
        f"SELECT 1 FROM steps JOIN jobs ON jobs.id = job_id WHERE output_tokens > 0 AND session_id <> ?1 AND {_IS_WORK} AND sent_at >"  # noqa: S608 - ours
        " (SELECT ended_at FROM jobs AS before WHERE before.session_id = ?1 AND outcome = 'failed' AND id < ?2"
        " ORDER BY id DESC LIMIT 1) LIMIT 1",
        (job.session_id, job.id),
    )
    if others_fared_well:
        fail(database, job, why, now)
        return
    with database.transaction():
        _close(database, job, "failed", now, why)
        database.execute("UPDATE transcripts SET retry_at = ? WHERE id = ?", (until + 1, job.transcript_id))


def retry(database: Database) -> int:
    """Let every session that failed be tried at once; return how many there are."""
    return database.execute(
        "UPDATE transcripts SET failures = 0, retry_at = NULL WHERE failures > 0 OR retry_at IS NOT NULL"
    ).rowcount


def ended_since(database: Database, job_id: int) -> list[JobReport]:
    """Jobs after this one that have ended, up to the first that still runs, with the files that they changed.

    Jobs that only ask a model are left out: there may be one for every prompt, and `usage` sums them up.
    """
    rows = database.query(
        f"SELECT jobs.*, saved, removed, coalesce(project_root, {ROOT_OF_JOB}, '') AS project, coalesce(engine, (SELECT model"  # noqa: S608 - ours
        " FROM steps WHERE steps.job_id = jobs.id ORDER BY steps.id DESC LIMIT 1), '') AS engine FROM jobs JOIN job_files ON"
        " job_files.job_id = jobs.id LEFT JOIN dreams ON dreams.job_id = jobs.id WHERE id > ?1 AND outcome IS NOT NULL"
        f" AND {_IS_WORK}"
        " AND job_files.job_id > ?1"  # repeated, because the view would read all jobs otherwise
        " AND id < coalesce((SELECT min(id) FROM jobs WHERE id > ?1 AND outcome IS NULL), id + 1) ORDER BY id",
        (job_id,),
    )
    return [
        JobReport(
            row["id"],
            row["kind"],
            row["memory_dir"],
            row["session_id"],
            row["outcome"],
            row["detail"],
            names_in(row["saved"]),
            names_in(row["removed"]),
            row["ended_at"] - row["started_at"],
            row["ended_at"],
            row["project"],
            row["engine"],
        )
        for row in rows
    ]


def names_in(joined: str | None) -> tuple[str, ...]:
    """File names as the view `job_files` joins them."""
    return tuple(joined.split("\0")) if joined else ()


def last_id(database: Database) -> int:
    """Number of the newest job, without those that only ask a model."""
    number: int = database.query(f"SELECT coalesce(max(id), 0) FROM jobs WHERE {_IS_WORK}")[0][0]  # noqa: S608 - ours
    return number


def directories_with_running(database: Database) -> list[str]:
    """Memory directories of session jobs that have not ended; their process may have died."""
    rows = database.query("SELECT DISTINCT memory_dir FROM jobs WHERE outcome IS NULL AND kind <> 'dream'")
    return [row["memory_dir"] for row in rows]


def number_running(database: Database) -> int:
    """Number of jobs that have not ended; one whose process died is ended by the next job there."""
    number: int = database.query("SELECT count(*) FROM jobs WHERE outcome IS NULL")[0][0]
    return number


def _close(database: Database, job: Job, outcome: str, now: float, detail: str) -> bool:
    """Close a job, if the lease is still ours; the detail is added to what is known of skipped turns."""
    cursor = database.execute(
        "UPDATE jobs SET outcome = ?, ended_at = ?, detail = detail || iif(detail <> '' AND ?3 <> '', '; ', '') || ?3"
        " WHERE id = ? AND token = ? AND outcome IS NULL",
        (outcome, now, detail, job.id, job.token),
    )
    if cursor.rowcount == 1 and outcome != "failed":  # a failed job is done again with the replies that were paid for
        model_calls.forget_replies(database, job.id)
    return cursor.rowcount == 1
