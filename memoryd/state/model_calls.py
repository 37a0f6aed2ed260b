"""Requests to a model in the database: reserved before they are sent, settled when answered, kept until the job closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.record import NamedTuple
from memoryd.state.projects import ROOT_OF_JOB

if TYPE_CHECKING:
    from memoryd.state.database import Database


class Spent(NamedTuple):
    """Tokens and cost of requests. A reserved amount counts as spent until the request is settled."""

    calls: int = 0
    input_tokens: int = 0
    """Neither read from a cache nor written to one."""
    cache_read_tokens: int = 0
    cache_created_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unsettled_usd: float = 0.0
    """Part of `usd` of requests that were sent and never answered."""

    def plus(self, other: Spent) -> Spent:
        return Spent(*(mine + others for mine, others in zip(self, other, strict=True)))  # type: ignore[arg-type]


_SPENT = (
    "count(*) AS calls, coalesce(sum(input_tokens), 0), coalesce(sum(cache_read_tokens), 0),"
    " coalesce(sum(cache_created_tokens), 0), coalesce(sum(output_tokens), 0),"
    " coalesce(sum(coalesce(settled_usd, reserved_usd)), 0.0),"
    " coalesce(sum(reserved_usd) FILTER (WHERE settled_usd IS NULL), 0.0)"
)


def answer_to(database: Database, request: bytes, memory_dir: str) -> tuple[int, bytes] | None:
    """A step with this request that was answered in a job that never closed, and the reply."""
    rows = database.query(
        "SELECT steps.id, reply FROM steps JOIN jobs ON jobs.id = job_id WHERE request = ? AND reply IS NOT NULL"
        " AND memory_dir = ? ORDER BY steps.id DESC LIMIT 1",
        (request, memory_dir),
    )
    return (rows[0]["id"], rows[0]["reply"]) if rows else None


PAID = "anthropic"
"""The engine whose requests cost money; those of any other are worth what they would cost."""


def reserve(
    database: Database,
    job_id: int,
    request: bytes,
    *,
    model: str,
    prompt: str,
    usd: float,
    now: float,
    engine: str = PAID,
    tokens: int = 0,
) -> int:
    """Record a request before it is sent. `tokens`: what it may take of a plan."""
    return database.insert(
        "INSERT INTO steps (job_id, request, model, prompt, sent_at, reserved_usd, engine, reserved_tokens)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (job_id, request, model, prompt, now, usd, engine, tokens),
    )


def settle(database: Database, step_id: int, spent: Spent, reply: bytes | None) -> None:
    """Record the answer and what it cost; without a reply, that nothing was charged."""
    database.execute(
        "UPDATE steps SET settled_usd = ?, input_tokens = ?, cache_read_tokens = ?, cache_created_tokens = ?,"
        " output_tokens = ?, reply = ? WHERE id = ?",
        (
            spent.usd,
            spent.input_tokens,
            spent.cache_read_tokens,
            spent.cache_created_tokens,
            spent.output_tokens,
            reply,
            step_id,
        ),
    )


def forget_reply(database: Database, step_id: int) -> None:
    """Delete a reply that cannot be used; the next try asks again."""
    database.execute("UPDATE steps SET reply = NULL WHERE id = ?", (step_id,))


def forget_replies(database: Database, job_id: int) -> None:
    """Delete the replies of a job that closes, and of interrupted jobs on the same session. Called in its transaction."""
    database.execute(
        "UPDATE steps SET reply = NULL WHERE reply IS NOT NULL AND job_id IN (SELECT other.id FROM jobs JOIN jobs AS"
        " other USING (memory_dir, session_id) WHERE jobs.id = ?)",
        (job_id,),
    )


def used_cache(database: Database, model: str, prompt: str, since: float) -> bool:
    """Whether an answer so far, to the same model and brief, says that the endpoint has cached something since then."""
    return bool(
        database.query(
            "SELECT 1 FROM steps WHERE sent_at >= ? AND model = ? AND prompt = ?"
            " AND cache_read_tokens + cache_created_tokens > 0 LIMIT 1",
            (since, model, prompt),
        )
    )


def spent_between(database: Database, begin: float, end: float) -> float:
    """USD that were paid or reserved in a span of time."""
    rows = database.query(
        f"SELECT {_SPENT} FROM steps WHERE sent_at >= ? AND sent_at < ? AND engine = ?",  # noqa: S608 - ours
        (begin, end, PAID),
    )
    usd: float = rows[0][5]
    return usd


class PlanUse(NamedTuple):
    """What was taken of a plan that nobody is billed for."""

    runs: int = 0
    """Jobs that asked anything; an extraction and its review are one."""
    tokens: int = 0
    """Without what was read from a cache; reserved counts as taken until it is known better."""
    usd: float = 0.0
    """What it would have cost at list price."""


def plan_use_between(database: Database, engine: str, begin: float, end: float, *, but_job: int = 0) -> PlanUse:
    """What an engine used; `but_job` is not counted among the runs."""
    rows = database.query(
        "SELECT count(DISTINCT job_id) FILTER (WHERE job_id <> ?), coalesce(sum(CASE WHEN settled_usd IS NULL THEN"
        " reserved_tokens ELSE input_tokens + cache_created_tokens + output_tokens END), 0),"
        " coalesce(sum(coalesce(settled_usd, reserved_usd)), 0.0) FROM steps WHERE sent_at >= ? AND sent_at < ?"
        " AND engine = ?",
        (but_job, begin, end, engine),
    )
    return PlanUse(*rows[0])


class LastAnswer(NamedTuple):
    model: str
    at: float


def last_answer(database: Database, engine: str) -> LastAnswer | None:
    """The last request that an engine answered."""
    rows = database.query(
        "SELECT model, sent_at FROM steps WHERE engine = ? AND output_tokens > 0 ORDER BY id DESC LIMIT 1", (engine,)
    )
    return LastAnswer(*rows[0]) if rows else None


def has_answered(database: Database, model: str) -> bool:
    """Whether this model has ever answered."""
    return bool(database.query("SELECT 1 FROM steps WHERE model = ? AND output_tokens > 0 LIMIT 1", (model,)))


def spent_by(database: Database, job_id: int) -> Spent:
    return Spent(*database.query(f"SELECT {_SPENT} FROM steps WHERE job_id = ?", (job_id,))[0])  # noqa: S608 - ours


class UsageRow(NamedTuple):
    day: str
    """In the zone of this machine, as 2026-10-16."""
    project: str
    job: str
    """What kind of job it was."""
    model: str
    spent: Spent
    engine: str = PAID
    cache_breaks: int = 0
    """How often the endpoint had lost what it should have kept; told with the model that a job asked first."""


_CACHE_BREAKS = (
    "coalesce(sum((SELECT count(*) FROM remarks WHERE remarks.job_id = steps.job_id AND remarks.kind = 'cache_break'"
    " AND NOT EXISTS (SELECT 1 FROM steps AS earlier WHERE earlier.job_id = steps.job_id AND earlier.id < steps.id))), 0)"
)


def usage(database: Database, since: float | None = None) -> list[UsageRow]:
    """Everything that was spent, by day, project, kind of job and model, oldest first."""
    rows = database.query(
        f"SELECT date(sent_at, 'unixepoch', 'localtime') AS day, coalesce({ROOT_OF_JOB}, (SELECT project_root FROM dreams"  # noqa: S608 - ours
        " WHERE dreams.job_id = jobs.id), (SELECT root FROM projects WHERE projects.memory_dir = jobs.memory_dir AND NOT is_shared"
        " ORDER BY projects.id LIMIT 1), memory_dir) AS project,"
        f" kind, model, engine, {_SPENT}, {_CACHE_BREAKS} FROM steps JOIN jobs ON jobs.id = job_id WHERE sent_at >= ?"
        " GROUP BY day, project, kind, model, engine ORDER BY day, project, kind, model, engine",
        (since or 0.0,),
    )
    return [
        UsageRow(
            row["day"], row["project"], row["kind"], row["model"], Spent(*tuple(row)[5:-1]), row["engine"], row[-1]
        )
        for row in rows
    ]


def cache_breaks(database: Database, since: float) -> tuple[int, int]:
    """How many jobs since then found that the endpoint had lost its cache, and how many asked a model at all."""
    rows = database.query(
        "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM remarks WHERE remarks.job_id = asked.job_id"
        " AND kind = 'cache_break')), count(*) FROM (SELECT DISTINCT job_id FROM steps WHERE sent_at >= ?) AS asked",
        (since,),
    )
    return rows[0][0], rows[0][1]


def remark(database: Database, job_id: int, kind: str, text: str) -> None:
    database.execute("INSERT INTO remarks VALUES (?, ?, ?)", (job_id, kind, text))


def remarks(database: Database, job_id: int) -> list[tuple[str, str]]:
    rows = database.query("SELECT kind, text FROM remarks WHERE job_id = ? ORDER BY rowid", (job_id,))
    return [(row["kind"], row["text"]) for row in rows]
