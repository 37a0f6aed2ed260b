"""What is the matter: gathered into one value; `status` shows it as text or JSON."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd import __version__, gates
from memoryd.clock import day_of, iso
from memoryd.engines.anthropic import account
from memoryd.errors import BusyError, StateError
from memoryd.instance import running_instance
from memoryd.jobs.standing import as_wait, hold_of
from memoryd.model import Run, Skip, Wait
from memoryd.state import notices, report, steps, waiting
from memoryd.state import projects as known_projects
from memoryd.state.database import open_for_reading
from memoryd.words import count, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.config import Config
    from memoryd.instance import Instance
    from memoryd.model import WaitingSession
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_NAMED = 8
"""So many of a kind are named on the screen; `--json` names all."""

_SMALL_INDEX_BYTES = 3_000


class Problem(NamedTuple):
    text: str
    fix: str


class FullIndex(NamedTuple):
    """An index that is near what clients load of it, or beyond."""

    path: str
    lines: int
    bytes: int
    left_out: tuple[str, ...]
    """Memories that have no line in it for want of room."""


class Engine(NamedTuple):
    """Who reads the turns."""

    name: str
    model: str = ""
    base_url: str = ""
    spent_usd: float = 0.0
    """Today, with what is reserved."""
    usd_per_day: float = 0.0
    has_price: bool = True


class Status(NamedTuple):
    now: float
    home: str
    root: str
    root_exists: bool
    running: Instance | None
    totals: report.Totals | None
    waiting: tuple[tuple[WaitingSession, Run | Wait | Skip], ...]
    working: tuple[report.Working, ...]
    """Jobs that have begun and not ended."""
    last: tuple[report.JobResult, ...]
    """The last jobs, newest first."""
    damaged: tuple[report.Damage, ...]
    odd: tuple[tuple[str, str], ...]
    unreadable: tuple[tuple[str, str], ...]
    full: tuple[FullIndex, ...]
    problems: tuple[Problem, ...]
    engine: Engine

    @property
    def skipped_turns(self) -> int:
        return sum(len(session.turn_ids) for session, decision in self.waiting if isinstance(decision, Skip))


def gather(paths: Paths, config: Config, now: float) -> Status:
    """Look at the lock and the database; neither is changed. A database that cannot be read is a problem, not an error."""
    problems: list[Problem] = []
    try:
        database = open_for_reading(paths)
    except (StateError, BusyError) as error:
        problems.append(Problem(error.sentence, error.fix))
        database = None
    try:
        return _gather(paths, config, now, database, problems)
    except (StateError, BusyError) as error:
        problems.append(Problem(error.sentence, error.fix))
        return _gather(paths, config, now, None, problems)
    finally:
        if database is not None:
            database.close()


def _gather(paths: Paths, config: Config, now: float, database: Database | None, problems: list[Problem]) -> Status:
    root = paths.transcripts_root
    running = running_instance(paths)
    if running is not None and running.trouble:
        problems.append(Problem(running.trouble, running.fix))
    unreadable: list[tuple[str, str]] = []
    hold = None
    if database is not None:
        hold = hold_of(database, paths, config, now)
        trouble = account.key_problem(config.anthropic) if account.is_chosen(config) else None
        if hold is not None:
            problems.append(Problem(hold.text, hold.fix or "memoryd retry"))
        elif trouble is not None:
            problems.append(Problem(trouble.sentence, trouble.fix))
        problems += [Problem(notice.text, notice.fix) for notice in notices.standing(database)]
        unreadable = report.unreadable(database)
        problems += [_unreadable(path, why) for path, why in unreadable[:_NAMED]]
        if len(unreadable) > _NAMED:
            problems.append(
                Problem(f"{len(unreadable) - _NAMED} more transcripts cannot be read.", "memoryd status --json")
            )
        problems += [
            Problem(f"{count(number, 'session')} could not be worked on: {why.rstrip('.')}.", "memoryd retry")
            for why, number in report.failing(database)[:_NAMED]
            if hold is None or why != hold.text
        ]
        problems += [_collision(root, older, paths) for root, older in report.collisions(database)]
    return Status(
        now=now,
        home=paths.home,
        root=root,
        root_exists=os.path.isdir(root),
        running=running,
        totals=report.totals(database) if database else None,
        waiting=tuple(
            (session, gates.extraction(session, config, paths.state_dir, now, as_wait(hold)))
            for session in (waiting.waiting_sessions(database) if database else ())
        ),
        working=tuple(report.working(database)) if database else (),
        last=tuple(report.last_jobs(database, _NAMED)) if database else (),
        damaged=tuple(report.damaged(database)) if database else (),
        odd=tuple(report.oddities(database)) if database else (),
        unreadable=tuple(unreadable),
        full=tuple(_full_indexes(database)) if database else (),
        problems=tuple(problems),
        engine=_engine(database, config, now),
    )


def _engine(database: Database | None, config: Config, now: float) -> Engine:
    if not account.is_chosen(config):
        forgotten = config.engine == "auto" and config.anthropic.base_url != account.OFFICIAL
        return Engine("offline", base_url=config.anthropic.base_url if forgotten else "")
    spent = steps.spent_between(database, *day_of(now)) if database else 0.0
    settings = config.anthropic
    has_price = config.budget.price_of(settings.extraction_model) is not None
    return Engine(
        account.NAME, settings.extraction_model, settings.base_url, spent, config.budget.usd_per_day, has_price
    )


def _collision(root: str, older: str, paths: Paths) -> Problem:
    return Problem(
        f"The project {short(root, paths.home)} is skipped (slug_collision): its memory directory already belongs"
        f" to {short(older, paths.home)}, which was seen first.",
        f'add to {short(paths.config_file, paths.home)}: [projects.memory_dirs] "{root}" = "~/a/directory/of/its/own"',
    )


def _unreadable(path: str, why: str) -> Problem:
    rights = "u+rx" if os.path.isdir(path) else "u+r"
    return Problem(f"{path} cannot be read: {why}.", f"chmod {rights} {shlex.quote(path)}")


def _full_indexes(database: Database) -> Iterator[FullIndex]:
    """Look at the indexes of all projects; only one that is large enough to matter is read."""
    for project in known_projects.all_projects(database):
        path = os.path.join(project.memory_dir, "MEMORY.md")
        try:
            if os.stat(path).st_size < _SMALL_INDEX_BYTES:
                continue
        except OSError:
            continue
        from memoryd.memory import index  # noqa: PLC0415 - 10 ms that most calls need not pay
        from memoryd.memory.directory import open_directory  # noqa: PLC0415

        try:
            with open_directory(project.memory_dir) as directory:
                state = directory.read(index.NAME)
                topics = directory.listing().topics
        except (OSError, StateError):
            continue
        text = state.data.decode("utf-8", "replace") if state else ""
        lines = text.count("\n")
        if lines >= index.WARN_LINES or len(text.encode()) >= index.MOST_BYTES * 4 // 5:
            named = {index.entry_of(line) for line in text.splitlines()}
            left_out = sorted((name for name in topics if name not in named), key=lambda name: topics[name])
            yield FullIndex(path, lines, len(text.encode()), tuple(left_out))


def exit_code(status: Status) -> int:
    """0 all is well, 1 there is a problem, 3 no daemon runs."""
    if status.running is None:
        return 3
    return 1 if status.problems else 0


def as_json(status: Status) -> dict[str, Any]:
    """The contract of `status --json`, described in docs/json.md."""
    totals = status.totals
    return {
        "version": __version__,
        "running": {"pid": status.running.pid, "since": iso(status.running.since)} if status.running else None,
        "root": {"path": status.root, "exists": status.root_exists},
        "engine": {
            "name": status.engine.name,
            "model": status.engine.model or None,
            "base_url": (status.engine.base_url or None) if status.engine.model else None,
            "spent_today_usd": round(status.engine.spent_usd, 6),
            "usd_per_day": status.engine.usd_per_day if status.engine.model else None,
        },
        "scanned_at": iso(totals.scanned_at) if totals and totals.scanned_at else None,
        "projects": totals.projects if totals else 0,
        "sessions": {
            "known": totals.sessions if totals else 0,
            "bytes": totals.bytes if totals else 0,
            "unread": totals.unread if totals else 0,
            "missing": totals.missing if totals else 0,
        },
        "turns": {
            "waiting": (totals.waiting_turns if totals else 0) - status.skipped_turns,
            "skipped": status.skipped_turns,
            "open": totals.open_turns if totals else 0,
            "history": totals.history_turns if totals else 0,
            "vanished": totals.vanished_turns if totals else 0,
            "outcomes": dict(totals.outcomes) if totals else {},
        },
        "working": [
            {"session": one.session_id, "project": one.project_root, "since": iso(one.started_at)}
            for one in status.working
        ],
        "waiting": _waiting(status),
        "last": _last(status),
        "damaged": [{"path": damage.path, "lines": damage.lines} for damage in status.damaged],
        "not_transcripts": [{"path": path, "kind": kind} for path, kind in status.odd],
        "full_indexes": [
            {"path": one.path, "lines": one.lines, "bytes": one.bytes, "left_out": list(one.left_out)}
            for one in status.full
        ],
        "unreadable": [{"path": path, "error": error} for path, error in status.unreadable],
        "problems": [{"problem": problem.text, "fix": problem.fix} for problem in status.problems],
    }


def _waiting(status: Status) -> list[dict[str, Any]]:
    return [
        {
            "session": session.session_id,
            "project": session.project_root,
            "transcript": session.path,
            "turns": len(session.turn_ids),
            **_decision(decision),
        }
        for session, decision in status.waiting
    ]


def _last(status: Status) -> list[dict[str, Any]]:
    return [
        {
            "session": job.session_id,
            "project": job.project_root,
            "at": iso(job.ended_at),
            "outcome": job.outcome,
            "detail": job.detail or None,
            "saved": list(job.saved),
            "removed": list(job.removed),
            "usd": round(job.usd, 6),
        }
        for job in status.last
    ]


def _decision(decision: Run | Wait | Skip) -> dict[str, Any]:
    if isinstance(decision, Run):
        return {"decision": "ready", "reason": None, "why": decision.why, "until": None}
    if isinstance(decision, Wait):
        until = iso(decision.until) if decision.until is not None else None
        return {"decision": "wait", "reason": decision.reason, "why": decision.why, "until": until}
    return {
        "decision": f"skipped({decision.reason})",
        "reason": decision.reason,
        "why": decision.why,
        "until": None,
    }
