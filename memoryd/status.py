"""What is the matter: gathered into one value; `memoryd status` shows it as text or JSON."""

from __future__ import annotations

import os
import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memoryd import gates
from memoryd.clock import day_of
from memoryd.engines.anthropic import account
from memoryd.errors import BusyError, StateError
from memoryd.instance import running_instance
from memoryd.jobs.standing import as_wait, hold_of
from memoryd.model import Run, Skip, Wait
from memoryd.projects import is_excluded
from memoryd.state import dreams, notices, report, steps, waiting
from memoryd.state import projects as known_projects
from memoryd.state.database import open_for_reading
from memoryd.words import count, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.config import Config
    from memoryd.instance import Instance
    from memoryd.jobs.dream_gates import Gate
    from memoryd.model import WaitingSession
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.dreams import DreamReport
    from memoryd.state.holds import Hold

_NAMED = 8
"""So many of a kind are named on the screen; `--json` names all."""

_SMALL_INDEX_BYTES = 3_000
_DREAM_TURNS = 30


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


class NextDream(NamedTuple):
    """What the gates say of the next dream on one memory directory."""

    project_root: str
    memory_dir: str
    gates: tuple[Gate, ...]
    decision: Run | Wait
    """Of the first gate that says no; Run where none does."""


class Dreams(NamedTuple):
    running: tuple[tuple[DreamReport, bool], ...] = ()
    """Each with whether its process is there; only a lock can tell that it is not."""
    last: tuple[DreamReport, ...] = ()
    """The newest first."""
    changes: Mapping[int, tuple[int, str]] = MappingProxyType({})
    """What the last ones changed: by job, the number of the change and its summary."""
    outcomes: tuple[tuple[str, int], ...] = ()
    upcoming: tuple[NextDream, ...] = ()
    """The most recently active project first."""
    not_asked: int = 0
    """Projects whose gates were not asked, for there are many."""


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
    dreams: Dreams

    @property
    def skipped_turns(self) -> int:
        return sum(len(session.turn_ids) for session, decision in self.waiting if isinstance(decision, Skip))


def gather(paths: Paths, config: Config, now: float, *, most_gates: int | None = None) -> Status:
    """Look at the lock and the database; neither is changed. A database that cannot be read is a problem, not an error.

    `most_gates`: of so many projects at most the gates of dreams are asked.
    """
    problems: list[Problem] = []
    try:
        database = open_for_reading(paths)
    except (StateError, BusyError) as error:
        problems.append(Problem(error.sentence, error.fix))
        database = None
    try:
        return _gather(paths, config, now, database, problems, most_gates)
    except (StateError, BusyError) as error:
        problems.append(Problem(error.sentence, error.fix))
        return _gather(paths, config, now, None, problems, most_gates)
    finally:
        if database is not None:
            database.close()


def _gather(
    paths: Paths,
    config: Config,
    now: float,
    database: Database | None,
    problems: list[Problem],
    most_gates: int | None,
) -> Status:
    root = paths.transcripts_root
    running = running_instance(paths)
    if running is not None and running.trouble:
        problems.append(Problem(running.trouble, running.fix))
    unreadable: list[tuple[str, str]] = []
    hold = None
    dreamt = Dreams()
    if database is not None:
        hold = hold_of(database, paths, config, now)
        unreadable = report.unreadable(database)
        dreamt = _dreams(database, paths, config, now, problems, most_gates)
        problems += _problems(database, paths, config, hold, unreadable)
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
        dreams=dreamt,
    )


def _problems(
    database: Database, paths: Paths, config: Config, hold: Hold | None, unreadable: list[tuple[str, str]]
) -> Iterator[Problem]:
    """What the database knows of that a person should look at."""
    trouble = account.key_problem(config.anthropic) if account.is_chosen(config) else None
    if hold is not None:
        yield Problem(hold.text, hold.fix or "memoryd retry")
    elif trouble is not None:
        yield Problem(trouble.sentence, trouble.fix)
    for notice in notices.standing(database):
        yield Problem(notice.text, notice.fix)
    for path, why in unreadable[:_NAMED]:
        yield _unreadable(path, why)
    if len(unreadable) > _NAMED:
        yield Problem(f"{len(unreadable) - _NAMED} more transcripts cannot be read.", "memoryd status --json")
    for why, number in report.failing(database)[:_NAMED]:
        if hold is None or why != hold.text:
            yield Problem(f"{count(number, 'session')} could not be worked on: {why.rstrip('.')}.", "memoryd retry")
    for dream in report.failing_dreams(database)[:_NAMED]:
        if hold is None or dream.detail != hold.text:
            yield _failing(dream)
    for root, older in report.collisions(database):
        yield _collision(root, older, paths)


def _failing(dream: report.FailingDreams) -> Problem:
    """A dream that failed once is tried again by itself, and no problem yet."""
    name = os.path.basename(dream.project_root) or dream.project_root
    why = f"{dream.outcome}: {dream.detail.rstrip('.')}" if dream.detail else dream.outcome
    return Problem(
        f"{dream.times} dreams in a row of {name} came to nothing ({why}). Its memories are as they were.",
        f"memoryd dream-now --project {shlex.quote(dream.project_root)}",
    )


def _dreams(
    database: Database, paths: Paths, config: Config, now: float, problems: list[Problem], most_gates: int | None
) -> Dreams:
    found = dreams.last_dreams(database, _NAMED, turns=_DREAM_TURNS)
    running = [one for one in found if one.ended_at is None]
    last = tuple(one for one in found if one.ended_at is not None)
    places = [
        one
        for one in report.dreamers(database)
        if not is_excluded(one.project_root, config.projects.exclude) and os.path.isdir(one.memory_dir)
    ]
    asked = places if most_gates is None else places[:most_gates]
    return Dreams(
        tuple((one, _is_alive(database, one)) for one in running),
        last,
        report.changes_of_dreams(database, [one.job_id for one in last]),
        tuple(report.dream_outcomes(database)),
        tuple(_upcoming(database, paths, config, now, asked, problems)),
        len(places) - len(asked),
    )


def _is_alive(database: Database, dream: DreamReport) -> bool:
    """False where its lock names a process that is gone: whoever comes next puts right what it left."""
    held = next((one for one in dreams.held_locks(database, dream.memory_dir) if one.job_id == dream.job_id), None)
    if held is None:
        return True
    from memoryd.memory import lock  # noqa: PLC0415 - only where a lock names somebody

    return lock.same_process(lock.Holder(held.pid, held.start_ticks, held.boot_id))


def _upcoming(
    database: Database,
    paths: Paths,
    config: Config,
    now: float,
    places: list[report.Dreamer],
    problems: list[Problem],
) -> Iterator[NextDream]:
    if not places:
        return
    from memoryd.jobs.dream_gates import Checks, lock_time  # noqa: PLC0415 - 20 ms that a fresh home need not pay

    for place in places:
        try:
            asked = Checks(database, paths, config, place.memory_dir, now).all()
            match decision := _decision(asked):
                case Wait(until=float(later), reason="counted_recently"):
                    # That says nothing of the sessions; what the count will say is what a person wants to know.
                    ahead = _decision(Checks(database, paths, config, place.memory_dir, later).all())
                    decision = decision._replace(why=f"{decision.why}; {ahead.why}")
                case Wait(reason="too_soon") if lock_time(place.memory_dir) is None:
                    decision = decision._replace(why="there was none yet, and the project is new")
        except StateError as error:
            problems.append(Problem(error.sentence, error.fix))
        except OSError as error:
            problems.append(_unreadable(place.memory_dir, error.strerror or str(error)))
        else:
            yield NextDream(place.project_root, place.memory_dir, tuple(asked), decision)


def _decision(asked: list[Gate]) -> Run | Wait:
    refusal = next((one.decision for one in asked if isinstance(one.decision, Wait)), None)
    counted = next((one.decision for one in asked if one.name == "sessions" and one.decision), None)
    return refusal or counted or Run("")


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
