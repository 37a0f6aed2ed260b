"""Queries of `status`, `projects` and `doctor`: what is there, what goes on, what failed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from memoryd.state.dreams import KIND as DREAM
from memoryd.state.jobs import names_in
from memoryd.state.projects import ROOT_OF_JOB
from memoryd.state.sessions import VANISHED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.state.database import Database


_NEWEST_JOBS = 1000


class Totals(NamedTuple):
    sessions: int
    projects: int
    bytes: int
    unread: int
    """Sessions that are not read to their end."""
    missing: int
    """Sessions whose transcript the client has deleted or moved out of sight."""
    history_turns: int
    open_turns: int
    waiting_turns: int
    vanished_turns: int
    scanned_at: float | None


class ProjectReport(NamedTuple):
    root: str
    slug: str
    memory_dir: str
    collides_with: str | None
    sessions: int
    waiting_turns: int
    history_turns: int
    active_at: float | None
    clients: tuple[str, ...] = ()
    """By their names, those with sessions here."""


class JobResult(NamedTuple):
    session_id: str
    project_root: str
    ended_at: float
    outcome: str
    detail: str
    saved: tuple[str, ...]
    removed: tuple[str, ...]
    usd: float = 0.0


class Working(NamedTuple):
    session_id: str
    project_root: str
    started_at: float


class DreamDirectory(NamedTuple):
    """A memory directory that dreams come to, and the project that used it last."""

    memory_dir: str
    project_root: str
    sessions: int
    active_at: float | None


class FailingDreams(NamedTuple):
    project_root: str
    times: int
    """In a row."""
    outcome: str
    """Of the last one."""
    detail: str


class Damage(NamedTuple):
    path: str
    lines: dict[str, int]
    client: str = ""


class Unfinished(NamedTuple):
    """A job that has begun and not ended."""

    kind: str
    session_id: str
    started_at: float


class UnreadTurns(NamedTuple):
    """Turns that nobody has worked on, in transcripts that are still there."""

    turns: int = 0
    oldest_at: float | None = None
    """When the transcript of them that is deleted first was last written."""


def totals(database: Database) -> Totals:
    (files,) = database.query(
        "SELECT count(*) FILTER (WHERE missing_at IS NULL), coalesce(sum(max(size, 0)) FILTER (WHERE missing_at IS NULL),"
        " 0), count(*) FILTER (WHERE missing_at IS NULL AND NOT is_complete), count(*) FILTER (WHERE missing_at IS NOT"
        " NULL) FROM transcripts"
    )
    (waiting,) = database.query(  # by the index of what waits
        "SELECT count(*), count(*) FILTER (WHERE end_reason IS NULL) FROM turns WHERE outcome IS NULL AND is_history = 0"
    )
    (turns,) = database.query(  # one query over all: there may be hundreds of thousands
        "SELECT count(*) FILTER (WHERE is_history AND outcome IS NULL), count(*) FILTER (WHERE outcome = ?) FROM turns",
        (VANISHED,),
    )
    (projects,) = database.query("SELECT count(*) FROM projects")
    (scanned,) = database.query("SELECT max(scanned_at) FROM roots")
    return Totals(
        sessions=files[0],
        bytes=files[1],
        unread=files[2],
        missing=files[3],
        projects=projects[0],
        history_turns=turns[0],
        open_turns=waiting[1],
        waiting_turns=waiting[0] - waiting[1],
        vanished_turns=turns[1],
        scanned_at=scanned[0],
    )


def turn_outcomes(database: Database) -> dict[str, int]:
    """Turns that have been worked on, by outcome."""
    rows = database.query(
        "SELECT outcome, count(*) FROM turns WHERE outcome IS NOT NULL GROUP BY outcome ORDER BY outcome"
    )
    return {row[0]: row[1] for row in rows}


def running_jobs(database: Database) -> list[Working]:
    """Jobs on sessions that have begun and not ended, oldest first; one whose process died is ended by the next."""
    rows = database.query(
        f"SELECT session_id, coalesce({ROOT_OF_JOB}, '') AS root, started_at FROM jobs WHERE outcome IS NULL"  # noqa: S608 - ours
        " AND kind <> ? ORDER BY id",
        (DREAM,),
    )
    return [Working(row["session_id"], row["root"], row["started_at"]) for row in rows]


def last_jobs(database: Database, limit: int) -> list[JobResult]:
    """The jobs on sessions that ended last, newest first."""
    rows = database.query(
        # Only the newest jobs are read; the files they wrote are looked up for those that are returned.
        "WITH ended AS (SELECT * FROM jobs WHERE id > (SELECT coalesce(max(id), 0) FROM jobs) - ?3 AND outcome IS NOT NULL"
        " AND kind NOT IN (?1, 'recall', 'notes', 'summary') ORDER BY ended_at DESC, id DESC LIMIT ?2)"
        " SELECT ended.session_id, coalesce(projects.root, '') AS root, ended_at, ended.outcome, detail,"
        " (SELECT group_concat(name, char(0)) FROM changes JOIN change_files ON change_id = changes.id AND group_number >= 0"
        " AND change_files.state = 'applied' AND after_hash IS NOT NULL WHERE changes.job_id = ended.id) AS saved,"
        " (SELECT group_concat(name, char(0)) FROM changes JOIN change_files ON change_id = changes.id AND group_number >= 0"
        " AND change_files.state = 'applied' AND after_hash IS NULL WHERE changes.job_id = ended.id) AS removed,"
        " (SELECT coalesce(sum(coalesce(settled_usd, reserved_usd)), 0.0) FROM steps WHERE job_id = ended.id) AS usd"
        " FROM ended LEFT JOIN projects ON projects.id = (SELECT project_id FROM"
        " transcripts WHERE transcripts.session_id = ended.session_id LIMIT 1) ORDER BY ended_at DESC, ended.id DESC",
        (DREAM, limit, _NEWEST_JOBS),
    )
    return [
        JobResult(
            row["session_id"],
            row["root"],
            row["ended_at"],
            row["outcome"],
            row["detail"],
            names_in(row["saved"]),
            names_in(row["removed"]),
            row["usd"],
        )
        for row in rows
    ]


def dream_directories(database: Database) -> list[DreamDirectory]:
    """Memory directories of all projects, most recently active first; a shared one counts for the older project."""
    rows = database.query(
        # Beside max() SQLite takes the other columns from the row that has it.
        "WITH seen AS (SELECT project_id, count(*) FILTER (WHERE missing_at IS NULL) AS sessions, max(active_at) AS active_at"
        " FROM transcripts GROUP BY project_id)"
        " SELECT memory_dir, root, sum(coalesce(sessions, 0)) AS sessions, max(coalesce(active_at, 0)) AS active_at"
        " FROM projects LEFT JOIN seen ON project_id = projects.id WHERE projects.id NOT IN (SELECT project_id FROM"
        " collisions) GROUP BY memory_dir ORDER BY max(coalesce(active_at, 0)) DESC, root"
    )
    return [DreamDirectory(row["memory_dir"], row["root"], row["sessions"], row["active_at"] or None) for row in rows]


def extractions(database: Database) -> dict[str, tuple[float, str]]:
    """When and how the last job on a session ended, for each memory directory."""
    rows = database.query(
        "SELECT memory_dir, max(ended_at), outcome FROM jobs WHERE outcome IS NOT NULL AND kind NOT IN (?, 'recall', 'notes', 'summary')"
        " GROUP BY memory_dir",
        (DREAM,),
    )
    return {row["memory_dir"]: (row[1], row["outcome"]) for row in rows}


def failing_dreams(database: Database) -> list[FailingDreams]:
    """Directories in which more than one dream in a row failed, with the outcome of the last."""
    rows = database.query(
        "SELECT project_root, failures, outcome, detail, max(job_id) FROM dream_checks JOIN jobs USING (memory_dir) JOIN"
        " dreams ON job_id = jobs.id WHERE failures > 1 AND (outcome = 'failed' OR outcome LIKE 'refused%')"
        " GROUP BY memory_dir ORDER BY project_root"
    )
    return [FailingDreams(row["project_root"], row["failures"], row["outcome"], row["detail"]) for row in rows]


def dream_outcomes(database: Database) -> list[tuple[str, int]]:
    """All dreams by outcome, without dry runs."""
    rows = database.query(
        "SELECT outcome, count(*) FROM dreams JOIN jobs ON jobs.id = job_id WHERE outcome IS NOT NULL"
        " AND outcome <> 'skipped(dry_run)' GROUP BY outcome ORDER BY outcome"
    )
    return [(row[0], row[1]) for row in rows]


def changes_of_dreams(database: Database, job_ids: Iterable[int]) -> dict[int, tuple[int, str]]:
    """What dreams changed: by job, the number of the change and its summary."""
    found = {}
    for job_id in job_ids:
        rows = database.query(
            "SELECT id, why FROM changes WHERE job_id = ? AND state = 'applied' ORDER BY id DESC LIMIT 1", (job_id,)
        )
        if rows:
            found[job_id] = (rows[0]["id"], rows[0]["why"])
    return found


def projects(database: Database) -> list[ProjectReport]:
    rows = database.query(
        "WITH counted AS (SELECT transcript_id,"
        " count(*) FILTER (WHERE NOT is_history AND outcome IS NULL AND end_reason IS NOT NULL) AS waiting,"
        " count(*) FILTER (WHERE is_history AND outcome IS NULL) AS history FROM turns GROUP BY transcript_id),"
        " summed AS (SELECT project_id, count(*) FILTER (WHERE missing_at IS NULL) AS sessions,"
        " coalesce(sum(waiting), 0) AS waiting, coalesce(sum(history), 0) AS history, max(active_at) AS active_at,"
        " group_concat(DISTINCT client) AS clients FROM transcripts LEFT JOIN counted ON transcript_id = transcripts.id GROUP BY project_id)"
        " SELECT root, slug, memory_dir, collides_with, coalesce(sessions, 0), coalesce(waiting, 0), coalesce(history, 0),"
        " active_at, clients FROM projects LEFT JOIN collisions ON collisions.project_id = projects.id"
        " LEFT JOIN summed ON summed.project_id = projects.id ORDER BY active_at DESC, root"
    )
    return [ProjectReport(*row)._replace(clients=tuple(sorted((row["clients"] or "").split(",")))) for row in rows]


def failing(database: Database) -> list[tuple[str, int]]:
    """Why sessions cannot be worked on, and how many there are for each reason."""
    rows = database.query(
        "SELECT coalesce((SELECT detail FROM jobs WHERE jobs.session_id = transcripts.session_id AND outcome = 'failed'"
        " ORDER BY id DESC LIMIT 1), '') AS why, count(*) FROM transcripts WHERE failures > 0 AND EXISTS (SELECT 1 FROM"
        " turns WHERE transcript_id = transcripts.id AND outcome IS NULL) GROUP BY why ORDER BY why"
    )
    return [(row[0], row[1]) for row in rows]


def collisions(database: Database) -> list[tuple[str, str]]:
    """Projects whose memory directory an older one has: their root and the older one's."""
    rows = database.query(
        "SELECT root, collides_with FROM collisions JOIN projects ON projects.id = project_id ORDER BY root"
    )
    return [(row["root"], row["collides_with"]) for row in rows]


def damaged(database: Database) -> list[Damage]:
    rows = database.query("SELECT path, damage, client FROM transcripts WHERE damage <> '{}' ORDER BY path")
    return [Damage(row["path"], json.loads(row["damage"]), row["client"]) for row in rows]


def sessions_by_client(database: Database) -> dict[str, int]:
    """How many sessions of each client are there, by its name."""
    rows = database.query(
        "SELECT client, count(*) FROM transcripts WHERE missing_at IS NULL GROUP BY client ORDER BY client"
    )
    return {row[0]: row[1] for row in rows}


def clients_of_sessions(database: Database, session_ids: Iterable[str]) -> dict[str, str]:
    """The client of each of these sessions that is known."""
    found: dict[str, str] = {}
    for session_id in session_ids:
        for row in database.query("SELECT client FROM transcripts WHERE session_id = ? LIMIT 1", (session_id,)):
            found[session_id] = row[0]
    return found


def unreadable(database: Database) -> list[tuple[str, str]]:
    """Transcripts and folders that memoryd may not read, and why."""
    rows = database.query(
        "SELECT path, error FROM transcripts WHERE error IS NOT NULL AND missing_at IS NULL"
        " UNION ALL SELECT path, 'it cannot be listed' FROM oddities WHERE kind = 'unreadable' ORDER BY path"
    )
    return [(row["path"], row["error"]) for row in rows]


def oddities(database: Database) -> list[tuple[str, str]]:
    """Paths that look like transcripts or their folders and are left alone, with the reason."""
    rows = database.query("SELECT path, kind FROM oddities WHERE kind <> 'unreadable' ORDER BY path")
    return [(row["path"], row["kind"]) for row in rows]


# --- asked by `doctor` ------------------------------------------------------------------------------------------------


def newest_times(database: Database) -> list[tuple[str, float]]:
    """Time of the newest record of each kind."""
    found = []
    for what, column, table in (
        ("look at the transcripts", "scanned_at", "roots"),
        ("job", "started_at", "jobs"),
        ("change", "at", "changes"),
    ):
        at = database.query(f"SELECT max({column}) FROM {table}")[0][0]  # noqa: S608 - from the list above
        if at is not None:
            found.append((what, at))
    return found


def unfinished_jobs(database: Database) -> list[Unfinished]:
    rows = database.query("SELECT kind, session_id, started_at FROM jobs WHERE outcome IS NULL ORDER BY id")
    return [Unfinished(*row) for row in rows]


def prepared_since(database: Database) -> list[float]:
    """When each of the changes was begun that are not closed."""
    return [row[0] for row in database.query("SELECT at FROM changes WHERE state = 'prepared' ORDER BY at")]


def unworked(database: Database, *, history: bool) -> UnreadTurns:
    rows = database.query(
        "SELECT count(*), min(mtime_ns) FROM turns JOIN transcripts ON transcripts.id = transcript_id"
        " WHERE outcome IS NULL AND is_history = ? AND missing_at IS NULL AND NOT opted_out",
        (history,),
    )
    turns, oldest = rows[0]
    return UnreadTurns(turns, None if oldest is None else oldest / 1e9)


def deleted_unworked(database: Database) -> int:
    """Turns whose transcript was deleted before anybody worked on them."""
    number: int = database.query(
        "SELECT count(*) FROM turns JOIN transcripts ON transcripts.id = transcript_id"
        " WHERE outcome IS NULL AND missing_at IS NOT NULL AND NOT opted_out"
    )[0][0]
    return number
