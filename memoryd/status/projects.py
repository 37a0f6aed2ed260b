"""Projects as a person asks for them: what is remembered, what waits, how full the index is, when the next dream comes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import StateError
from memoryd.memory.census import fill_of
from memoryd.model import Skip, Wait
from memoryd.projects import is_excluded
from memoryd.state import report
from memoryd.status.problems import Problem, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.config import Config
    from memoryd.jobs.dream_gates import Gate
    from memoryd.memory.census import Census, Counted, Fill
    from memoryd.model import Run, WaitingSession
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_SMALL_INDEX_BYTES = 2_000
"""A smaller one cannot be near its limits: a line that names a file takes more than 14 bytes."""


class NextDream(NamedTuple):
    """What the gates say of the next dream on a memory directory."""

    gates: tuple[Gate, ...]
    decision: Run | Wait
    """Of the first gate that says no; Run where none does."""


class Project(NamedTuple):
    """A memory directory, and the project that used it last."""

    root: str
    memory_dir: str
    sessions: int
    waiting_turns: int
    active_at: float | None
    extracted: tuple[float, str] | None
    """When the last job on one of its sessions ended, and how."""
    counted: Counted | None = None
    """None: there is no such directory yet, or nobody may look into it."""
    dream: NextDream | None = None
    """None: nothing is there to dream of."""
    outdated: int = 0
    """Memories that name what the repository no longer has."""


class FullIndex(NamedTuple):
    """An index that is near what clients load of it, or beyond."""

    path: str
    fill: Fill
    left_out: tuple[str, ...]
    """Memories that have no line in it for want of room, the oldest first."""


class Projects(NamedTuple):
    named: tuple[Project, ...] = ()
    """The most recently active first."""
    others: int = 0
    """There are so many more, which were not looked at."""
    full: tuple[FullIndex, ...] = ()


def look(
    database: Database,
    paths: Paths,
    config: Config,
    now: float,
    waiting: Iterable[tuple[WaitingSession, Run | Wait | Skip]],
    *,
    most: int | None,
    census: Census,
    problems: list[Problem],
) -> Projects:
    """Look at the projects that were active last, at most so many. What cannot be looked at is a problem."""
    places = [one for one in report.dreamers(database) if not is_excluded(one.project_root, config.projects.exclude)]
    pending: dict[str, int] = {}
    for session, decision in waiting:
        if not isinstance(decision, Skip):
            pending[session.memory_dir] = pending.get(session.memory_dir, 0) + len(session.turn_ids)
    extracted = report.extractions(database)
    named = []
    for place in places[:most]:
        project = Project(
            place.project_root,
            place.memory_dir,
            place.sessions,
            pending.get(place.memory_dir, 0),
            place.active_at,
            extracted.get(place.memory_dir),
        )
        try:
            counted = census.count(place.memory_dir)
            if counted is not None:
                project = project._replace(counted=counted)
                project = project._replace(dream=_next_dream(database, paths, config, place.memory_dir, now))
        except StateError as error:
            problems.append(Problem(error.sentence, error.fix))
        except OSError as error:
            problems.append(unreadable(place.memory_dir, error.strerror or str(error)))
        named.append(project)
    return Projects(tuple(named), len(places) - len(named), tuple(_full_indexes(place.memory_dir for place in places)))


def _next_dream(database: Database, paths: Paths, config: Config, memory_dir: str, now: float) -> NextDream:
    from memoryd.jobs.dream_gates import Checks  # noqa: PLC0415 - a fresh home need not pay for it

    asked = Checks(database, paths, config, memory_dir, now).all()
    refusal = next((one.decision for one in asked if isinstance(one.decision, Wait)), None)
    counted = next(one.decision for one in asked if one.name == "sessions")
    return NextDream(tuple(asked), refusal or counted)


def _full_indexes(memory_dirs: Iterable[str]) -> Iterator[FullIndex]:
    """Look at all indexes; only one that is large enough to matter is read."""
    for memory_dir in memory_dirs:
        path = os.path.join(memory_dir, "MEMORY.md")
        try:
            if os.stat(path).st_size < _SMALL_INDEX_BYTES:
                continue
        except OSError:
            continue
        fill = fill_of(memory_dir)
        if fill.is_near:
            yield FullIndex(path, fill, _left_out(memory_dir))


def _left_out(memory_dir: str) -> tuple[str, ...]:
    from memoryd.memory import index  # noqa: PLC0415 - 20 ms that most calls need not pay
    from memoryd.memory.directory import open_directory  # noqa: PLC0415

    try:
        with open_directory(memory_dir) as directory:
            state = directory.read(index.NAME)
            topics = directory.listing().topics
    except (OSError, StateError):
        return ()
    text = state.data.decode("utf-8", "replace") if state else ""
    named = {index.entry_of(line) for line in text.splitlines()}
    return tuple(sorted((name for name in topics if name not in named), key=lambda name: topics[name]))
