"""What is the matter: gathered into one value; `memoryd status` shows it as a screen or JSON."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memoryd import failure, gates
from memoryd.clock import day_of
from memoryd.engines.anthropic import account
from memoryd.errors import BusyError, StateError
from memoryd.instance import running_instance
from memoryd.jobs.standing import as_wait, hold_of
from memoryd.memory.census import Census
from memoryd.model import Skip
from memoryd.recall.sessions import use_since
from memoryd.recall.store import store_to_look
from memoryd.state import dreams, pauses, report, steps, waiting
from memoryd.state.database import open_for_reading
from memoryd.status import problems as found_problems
from memoryd.status import projects as known_projects
from memoryd.status.problems import Problem
from memoryd.status.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.config import Config
    from memoryd.failure import Failure
    from memoryd.instance import Instance, Trouble
    from memoryd.model import Run, Wait, WaitingSession
    from memoryd.paths import Paths
    from memoryd.recall.sessions import Use
    from memoryd.state.database import Database
    from memoryd.state.dreams import DreamReport
    from memoryd.state.pauses import Pause

RECALL_SECONDS = 7 * 86_400.0
_LAST = 8
_DREAM_TURNS = 30
_SERVICE_FILES = ("{config}/systemd/user/memoryd.service", "{home}/Library/LaunchAgents/local.memoryd.plist")


class Engine(NamedTuple):
    """Who reads the turns."""

    name: str
    model: str = ""
    base_url: str = ""
    spent_usd: float = 0.0
    """Today, with what is reserved."""
    usd_per_day: float = 0.0
    has_price: bool = True


class Dreams(NamedTuple):
    running: tuple[tuple[DreamReport, bool], ...] = ()
    """Each with whether its process is there; only a lock can tell that it is not."""
    last: tuple[DreamReport, ...] = ()
    """The newest first."""
    changes: Mapping[int, tuple[int, str]] = MappingProxyType({})
    """What the last ones changed: by job, the number of the change and its summary."""
    outcomes: tuple[tuple[str, int], ...] = ()


class Status(NamedTuple):
    now: float
    home: str
    root: str
    root_exists: bool
    running: Instance | None
    failure: Failure | None
    """Why the last start failed, where nothing runs."""
    is_installed: bool
    """Whether there is a service that could run."""
    engine: Engine
    problems: tuple[Problem, ...]
    pause: Pause | None = None
    totals: report.Totals | None = None
    outcomes: Mapping[str, int] = MappingProxyType({})
    """What came of the turns that have been worked on; empty on a screen, which does not tell."""
    waiting: tuple[tuple[WaitingSession, Run | Wait], ...] = ()
    skipped: tuple[tuple[WaitingSession, Skip], ...] = ()
    """Sessions with turns that nobody will work on."""
    working: tuple[report.Working, ...] = ()
    """Jobs that have begun and not ended."""
    last: tuple[report.JobResult, ...] = ()
    """The last jobs, newest first."""
    damaged: tuple[report.Damage, ...] = ()
    odd: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    projects: Projects = Projects()
    dreams: Dreams = Dreams()
    recall: Use | None = None
    """What came of recall in the last days; None: it was never used."""

    @property
    def skipped_turns(self) -> int:
        return sum(len(session.turn_ids) for session, _ in self.skipped)

    @property
    def notes(self) -> tuple[Trouble, ...]:
        """What troubles the daemon and passes by itself, or is no harm."""
        return tuple(one for one in self.running.troubles if not one.fix) if self.running else ()


def gather(
    paths: Paths, config: Config, now: float, *, most_projects: int | None = None, census: Census | None = None
) -> Status:
    """Look at the lock, the database and the memories; nothing is changed. What cannot be read is a problem, not an error.

    `most_projects`: for a screen; without it everything is told. `census`: one that has counted before counts faster.
    """
    running = running_instance(paths)
    failed = failure.last(paths) if running is None else None
    is_installed = _is_installed(paths)
    problems = list(found_problems.of_the_daemon(running, failed, now, is_installed=is_installed))
    problems += found_problems.of_the_config(paths, problems)
    known = Status(
        now=now,
        home=paths.home,
        root=paths.transcripts_root,
        root_exists=os.path.isdir(paths.transcripts_root),
        running=running,
        failure=failed,
        is_installed=is_installed,
        engine=_engine(None, config, now),
        problems=(),
    )
    database = None
    try:
        database = open_for_reading(paths)
        if database is not None:
            known = _from_ledger(known, database, paths, config, problems, most_projects, census or Census())
    except (StateError, BusyError) as error:
        problems.append(Problem(error.sentence, error.fix))
    finally:
        if database is not None:
            database.close()
    return _with_recall(known, paths)._replace(problems=tuple(problems))


def _with_recall(known: Status, paths: Paths) -> Status:
    """What recall has noted, if it has noted anything; that it cannot be read is told by `doctor`."""
    known = known._replace(recall=use_since(paths, known.now - RECALL_SECONDS))
    store = store_to_look(paths)
    if store is None:
        return known
    with closing(store), suppress(StateError, BusyError):
        outdated = {os.fsdecode(path): number for path, number in store.outdated()}
        named = tuple(one._replace(outdated=outdated.get(one.memory_dir, 0)) for one in known.projects.named)
        known = known._replace(projects=known.projects._replace(named=named))
    return known


def _from_ledger(
    known: Status,
    database: Database,
    paths: Paths,
    config: Config,
    problems: list[Problem],
    most_projects: int | None,
    census: Census,
) -> Status:
    now = known.now
    hold = hold_of(database, config, now)
    unread = report.unreadable(database)
    sessions = [
        (session, gates.extraction(session, config, paths.state_dir, now, as_wait(hold)))
        for session in waiting.waiting_sessions(database)
    ]
    projects = known_projects.look(
        database, paths, config, now, sessions, most=most_projects, census=census, problems=problems
    )
    problems += found_problems.of_the_ledger(database, paths, config, hold, unread)
    return known._replace(
        pause=pauses.standing(database, now),
        engine=_engine(database, config, now),
        totals=report.totals(database),
        outcomes=report.turn_outcomes(database) if most_projects is None else {},
        waiting=tuple((session, decision) for session, decision in sessions if not isinstance(decision, Skip)),
        skipped=tuple((session, decision) for session, decision in sessions if isinstance(decision, Skip)),
        working=tuple(report.working(database)),
        last=tuple(report.last_jobs(database, _LAST)),
        damaged=tuple(report.damaged(database)),
        odd=tuple(report.oddities(database)),
        unreadable=tuple(unread),
        projects=projects,
        dreams=_dreams(database),
    )


def _is_installed(paths: Paths) -> bool:
    """By its file: asking the service manager takes longer than all the rest, and `memoryd service status` does it."""
    places = {os.path.dirname(os.path.dirname(paths.config_file)), os.path.join(paths.home, ".config")}
    return any(
        os.path.exists(name.format(config=place, home=paths.home)) for name in _SERVICE_FILES for place in places
    )


def _dreams(database: Database) -> Dreams:
    found = dreams.last_dreams(database, _LAST, turns=_DREAM_TURNS)
    last = tuple(one for one in found if one.ended_at is not None)
    return Dreams(
        tuple((one, _is_alive(database, one)) for one in found if one.ended_at is None),
        last,
        report.changes_of_dreams(database, [one.job_id for one in last]),
        tuple(report.dream_outcomes(database)),
    )


def _is_alive(database: Database, dream: DreamReport) -> bool:
    """False where its lock names a process that is gone: whoever comes next puts right what it left."""
    held = next((one for one in dreams.held_locks(database, dream.memory_dir) if one.job_id == dream.job_id), None)
    if held is None:
        return True
    from memoryd.memory import lock  # noqa: PLC0415 - only where a lock names somebody

    return lock.same_process(lock.Holder(held.pid, held.start_ticks, held.boot_id))


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


def exit_code(status: Status) -> int:
    """0 all is well, 1 there is a problem, 3 no daemon runs."""
    if status.running is None:
        return 3
    return 1 if status.problems else 0
