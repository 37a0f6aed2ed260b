"""Requests to a model in the database: reserved before they are sent, settled when answered, kept until the job closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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


def reserve(database: Database, job_id: int, request: bytes, *, model: str, prompt: str, usd: float, now: float) -> int:
    """Record a request before it is sent."""
    return database.insert(
        "INSERT INTO steps (job_id, request, model, prompt, sent_at, reserved_usd) VALUES (?, ?, ?, ?, ?, ?)",
        (job_id, request, model, prompt, now, usd),
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


def used_cache(database: Database, model: str, prompt: str, before: int, since: float) -> bool:
    """Whether a step before this one, with the same model and brief, left something in the endpoint's cache since then."""
    return bool(
        database.query(
            "SELECT 1 FROM steps WHERE id < ? AND sent_at >= ? AND model = ? AND prompt = ?"
            " AND cache_read_tokens + cache_created_tokens > 0 LIMIT 1",
            (before, since, model, prompt),
        )
    )


def spent_between(database: Database, begin: float, end: float) -> float:
    """USD that were spent or reserved in a span of time."""
    rows = database.query(f"SELECT {_SPENT} FROM steps WHERE sent_at >= ? AND sent_at < ?", (begin, end))  # noqa: S608 - ours
    usd: float = rows[0][5]
    return usd


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


def usage(database: Database, since: float | None = None) -> list[UsageRow]:
    """Everything that was spent, by day, project, kind of job and model, oldest first."""
    rows = database.query(
        f"SELECT date(sent_at, 'unixepoch', 'localtime') AS day, coalesce({ROOT_OF_JOB}, (SELECT project_root FROM dreams"  # noqa: S608 - ours
        " WHERE dreams.job_id = jobs.id), (SELECT root FROM projects WHERE projects.memory_dir = jobs.memory_dir AND NOT is_shared"
        " ORDER BY projects.id LIMIT 1), memory_dir) AS project,"
        f" kind, model, {_SPENT} FROM steps JOIN jobs ON jobs.id = job_id WHERE sent_at >= ?"
        " GROUP BY day, project, kind, model ORDER BY day, project, kind, model",
        (since or 0.0,),
    )
    return [UsageRow(row["day"], row["project"], row["kind"], row["model"], Spent(*tuple(row)[4:])) for row in rows]


def remark(database: Database, job_id: int, kind: str, text: str) -> None:
    database.execute("INSERT INTO remarks VALUES (?, ?, ?)", (job_id, kind, text))


def remarks(database: Database, job_id: int) -> list[tuple[str, str]]:
    rows = database.query("SELECT kind, text FROM remarks WHERE job_id = ? ORDER BY rowid", (job_id,))
    return [(row["kind"], row["text"]) for row in rows]
