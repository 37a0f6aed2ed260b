"""Status: everything that `memoryd status` shows, gathered into one value."""

from __future__ import annotations

import os
from contextlib import closing
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memoryd import __version__
from memoryd.clients.registry import present_clients
from memoryd.daemon import last_failure
from memoryd.diagnosis import problems as found_problems
from memoryd.diagnosis.facts import World, is_service_installed, read_chosen_engine, read_config_error
from memoryd.diagnosis.problems import Problem
from memoryd.diagnosis.projects import ProjectsStatus, read_projects
from memoryd.diagnosis.rules import RulesStatus, read_rules
from memoryd.engines.model import credentials
from memoryd.errors import BusyError, StateError
from memoryd.jobs import gates
from memoryd.jobs.holds import engine_wait
from memoryd.memory.stats import MemoryStats
from memoryd.model import Skip
from memoryd.recall.outcomes import use_since
from memoryd.state import dreams, inbox, notices, pauses, queries, sync, team, waiting
from memoryd.state.database import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.config import Config
    from memoryd.daemon.last_failure import Failure
    from memoryd.daemon.single_instance import Instance, Trouble
    from memoryd.diagnosis.facts import ChosenEngine
    from memoryd.model import Due, Wait, WaitingSession
    from memoryd.paths import Paths
    from memoryd.recall.outcomes import Use
    from memoryd.state.database import Database
    from memoryd.state.dreams import DreamReport
    from memoryd.state.pauses import Pause
    from memoryd.state.sync import Round

RECALL_SECONDS = 7 * 86_400.0
_LAST = 8
_DREAM_TURNS = 30


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
    is_set_up: bool
    """Whether setup was run: without a service, this machine has none, or the user wanted none."""
    engine: ChosenEngine
    problems: tuple[Problem, ...]
    pause: Pause | None = None
    totals: queries.Totals | None = None
    outcomes: Mapping[str, int] = MappingProxyType({})
    """What came of the turns that have been worked on; empty for a screen, which does not show it."""
    waiting: tuple[tuple[WaitingSession, Due | Wait], ...] = ()
    skipped: tuple[tuple[WaitingSession, Skip], ...] = ()
    """Sessions with turns that nobody will work on."""
    working: tuple[queries.Working, ...] = ()
    """Jobs that have begun and not ended."""
    last: tuple[queries.JobResult, ...] = ()
    """The last jobs, newest first."""
    damaged: tuple[queries.Damage, ...] = ()
    odd: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    projects: ProjectsStatus = ProjectsStatus()
    dreams: Dreams = Dreams()
    recall: Use | None = None
    """What came of recall in the last days; None: it was never used."""
    rules: RulesStatus = RulesStatus()
    """What binds, and what came of rules in the last days."""
    clients: Mapping[str, int] = MappingProxyType({})
    """How many sessions there are of each client, by its name."""
    to_review: int = 0
    """Changes that wait for the user's yes or no."""
    sync: tuple[tuple[Round, int], ...] = ()
    """The last round with each store in use, and how many files were kept apart."""
    team_projects: int | None = None
    """How many projects take part in their team; None: teams are switched off."""

    @property
    def skipped_turns(self) -> int:
        return sum(len(session.turn_ids) for session, _ in self.skipped)

    @property
    def notes(self) -> tuple[Trouble, ...]:
        """What troubles the daemon and passes by itself, or is no harm."""
        return tuple(trouble for trouble in self.running.troubles if not trouble.fix) if self.running else ()


def gather(
    paths: Paths, config: Config, now: float, *, most_projects: int | None = None, census: MemoryStats | None = None
) -> Status:
    """Look at the lock, the database and the memories; nothing is changed. What cannot be read is a problem, not an error.

    `most_projects`: for a screen; without it all are read. `census`: one that has counted before counts faster.
    """
    world = World(paths, config, now)
    running = world.running
    roots = [place.root for client in present_clients(paths) for place in client.session_places(paths, ())]
    status = Status(
        now=now,
        home=paths.home,
        root=next(iter(roots), paths.transcripts_root),
        root_exists=bool(roots),
        running=running,
        failure=last_failure.last(paths) if running is None else None,
        is_installed=is_service_installed(paths),
        is_set_up=os.path.exists(paths.setup_record),
        engine=read_chosen_engine(world, None),
        problems=(),
        recall=use_since(paths, now - RECALL_SECONDS),
        rules=read_rules(paths, now - RECALL_SECONDS),
    )
    status = status._replace(problems=tuple(_problems_of_daemon_and_config(status, paths)))
    try:
        database = open_for_reading(paths)
        if database is None:
            return status
        with closing(database):
            return _with_database(status, world, database, most_projects, census or MemoryStats())
    except (StateError, BusyError) as error:
        return status._replace(problems=(*status.problems, Problem(error.sentence, error.fix)))


def _problems_of_daemon_and_config(status: Status, paths: Paths) -> list[Problem]:
    checks = list(found_problems.check_failure(status.failure, status.now, is_running=status.running is not None))
    if status.running is not None:
        checks += found_problems.check_instance(status.running, __version__, is_service=status.is_installed)
    problems = found_problems.problems_in(checks)
    error = read_config_error(paths)
    # The daemon, or the reason of the last failure, may have named it already.
    if error is not None and not any(error.sentence in problem.text for problem in problems):
        problems.append(Problem(error.sentence, error.fix))
    return problems


def _with_database(
    status: Status, world: World, database: Database, most_projects: int | None, census: MemoryStats
) -> Status:
    hold = engine_wait(database, world.paths, world.config, world.now)
    sessions = [
        (session, gates.extraction(session, world.config, world.paths.state_dir, world.now, hold))
        for session in waiting.waiting_sessions(database)
    ]
    projects, problems = read_projects(world, database, sessions, most=most_projects, census=census)
    status = status._replace(
        pause=pauses.current_pause(database, world.now),
        engine=read_chosen_engine(world, database),
        totals=queries.totals(database),
        outcomes=queries.turn_outcomes(database) if most_projects is None else {},
        waiting=tuple((session, decision) for session, decision in sessions if not isinstance(decision, Skip)),
        skipped=tuple((session, decision) for session, decision in sessions if isinstance(decision, Skip)),
        working=tuple(queries.running_jobs(database)),
        last=tuple(queries.last_jobs(database, _LAST)),
        damaged=tuple(queries.damaged(database)),
        odd=tuple(queries.oddities(database)),
        unreadable=tuple(queries.unreadable(database)),
        projects=projects,
        dreams=_dreams(database),
        to_review=inbox.number_waiting(database),
        sync=tuple(sync.rounds_in_use(database, world.now)) if world.config.is_anything_shared else (),
        team_projects=_team_projects(world, database),
        clients=queries.sessions_by_client(database),
    )
    return status._replace(problems=(*status.problems, *problems, *_problems_in_database(status, world, database)))


def _team_projects(world: World, database: Database) -> int | None:
    if not world.config.is_team_on:
        return None
    return sum(bool(answer.place) for answer in team.answers(database).values())


def _problems_in_database(status: Status, world: World, database: Database) -> Iterator[Problem]:
    hold = status.engine.hold
    has_key = credentials.is_chosen(world.config) and world.config.engine != credentials.CLAUDE
    key_error = credentials.key_problem(world.config.anthropic) if has_key else None
    if hold is not None:  # also a budget that is used up: what was said waits
        yield Problem(*found_problems.check_hold(hold)[2:])
    elif key_error is not None:
        yield from found_problems.problems_in([found_problems.check_key(key_error)])
    yield from found_problems.problems_in(found_problems.check_notices(notices.current_notices(database)))
    yield from found_problems.unreadable_transcripts(status.unreadable)
    yield from found_problems.failing_sessions(queries.failing(database), hold)
    yield from found_problems.failing_dreams(queries.failing_dreams(database), hold)
    for done, _ in status.sync:
        if done.error:
            yield Problem(f"Memories are not exchanged: {done.error}", done.fix)
    for root, older in queries.collisions(database):
        yield found_problems.collision(root, older, world.paths)


def _dreams(database: Database) -> Dreams:
    found = dreams.last_dreams(database, _LAST, turns=_DREAM_TURNS)
    last = tuple(dream for dream in found if dream.ended_at is not None)
    return Dreams(
        tuple((dream, _is_alive(database, dream)) for dream in found if dream.ended_at is None),
        last,
        queries.changes_of_dreams(database, [dream.job_id for dream in last]),
        tuple(queries.dream_outcomes(database)),
    )


def _is_alive(database: Database, dream: DreamReport) -> bool:
    """False where its lock names a process that is gone: whoever comes next puts right what it left."""
    held = next((held for held in dreams.held_locks(database, dream.memory_dir) if held.job_id == dream.job_id), None)
    if held is None:
        return True
    from memoryd.memory import lock  # noqa: PLC0415 - only where a lock names somebody

    return lock.same_process(lock.Holder(held.pid, held.start_ticks, held.boot_id))


def exit_code(status: Status) -> int:
    """0 all is well, 1 there is a problem, 3 no daemon runs."""
    if status.running is None:
        return 3
    return 1 if status.problems else 0
