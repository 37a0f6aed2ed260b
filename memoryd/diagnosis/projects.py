"""Projects in `status`: memories, waiting turns, how full the index is, when the next dream comes."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.diagnosis.facts import read_outdated
from memoryd.diagnosis.problems import Problem, moved_repository, unreadable, wrong_index
from memoryd.errors import StateError
from memoryd.memory.index_check import index_fault
from memoryd.memory.limits import INDEX_NAME
from memoryd.memory.stats import fill_of
from memoryd.model import Skip, Wait
from memoryd.projects import is_excluded
from memoryd.state import queries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.diagnosis.facts import World
    from memoryd.jobs.dream_gates import Gate
    from memoryd.memory.stats import Counted, Fill, MemoryStats
    from memoryd.model import Due, WaitingSession
    from memoryd.state.database import Database

_SMALL_INDEX_BYTES = 2_000
"""A smaller one cannot be near its limits: a line that names a file takes more than 14 bytes."""


class NextDream(NamedTuple):
    """What the gates say of the next dream on a memory directory."""

    gates: tuple[Gate, ...]
    decision: Due | Wait
    """Of the first gate that says no; Due where none does."""
    lines: int = 0
    """Lines of daily logs that wait to be distilled."""


class ProjectStatus(NamedTuple):
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


class ProjectsStatus(NamedTuple):
    named: tuple[ProjectStatus, ...] = ()
    """The most recently active first."""
    others: int = 0
    """How many more there are, which were not looked at."""
    full: tuple[FullIndex, ...] = ()
    person: Counted | None = None
    """The global memories; None where there are none."""


def read_projects(
    world: World,
    database: Database,
    waiting: Iterable[tuple[WaitingSession, Due | Wait | Skip]],
    *,
    most: int | None,
    census: MemoryStats,
) -> tuple[ProjectsStatus, list[Problem]]:
    """Look at the projects that were active last, at most `most` of them. What cannot be looked at is a problem."""
    excluded = world.config.projects.exclude
    places = [place for place in queries.dream_directories(database) if not is_excluded(place.project_root, excluded)]
    pending: dict[str, int] = {}
    for session, decision in waiting:
        if not isinstance(decision, Skip):
            pending[session.memory_dir] = pending.get(session.memory_dir, 0) + len(session.turn_ids)
    extracted, outdated = queries.extractions(database), read_outdated(world.paths)
    named, problems = [], []
    for place in places[:most]:
        project = ProjectStatus(
            place.project_root,
            place.memory_dir,
            place.sessions,
            pending.get(place.memory_dir, 0),
            place.active_at,
            extracted.get(place.memory_dir),
            outdated=outdated.get(place.memory_dir, 0),
        )
        try:
            counted = census.count(place.memory_dir)
            is_ours = counted is not None and world.config.index.write
            if fault := index_fault(place.memory_dir, world.paths.global_dir) if is_ours else None:
                problems.append(wrong_index(place.project_root, str(fault), world.paths))
            problems += _left_behind(world, database, place.project_root, counted)
            if counted is not None:
                project = project._replace(counted=counted)
                project = project._replace(dream=_next_dream(world, database, place.memory_dir))
        except StateError as error:
            problems.append(Problem(error.sentence, error.fix))
        except OSError as error:
            problems.append(unreadable(place.memory_dir, error.strerror or str(error)))
        named.append(project)
    full = tuple(_full_indexes(place.memory_dir for place in places))
    person = None
    if os.path.lexists(world.paths.global_dir):
        problems += _unusable(world.paths.global_dir)
        with suppress(OSError):  # which is told already
            person = census.count(world.paths.global_dir)
    return ProjectsStatus(tuple(named), len(places) - len(named), full, person), problems


def _unusable(memory_dir: str) -> list[Problem]:
    from memoryd.memory.directory import problem_of  # noqa: PLC0415 - a fresh home need not pay for it

    error = problem_of(memory_dir)
    return [Problem(error.sentence, error.fix)] if error is not None else []


def _left_behind(world: World, database: Database, root: str, counted: Counted | None) -> list[Problem]:
    """Memories of a repository that was moved here: they are kept by its path, and nobody finds them under the new one."""
    if counted is not None and counted.types:
        return []
    from memoryd.jobs.repository_identity import other_checkouts  # noqa: PLC0415 - for a project without memories

    others = other_checkouts(database, root, only_recorded=True) if os.path.isdir(root) else []
    return [moved_repository(root, other.root, other.memories, world.paths) for other in others[:1] if other.is_gone]


def _next_dream(world: World, database: Database, memory_dir: str) -> NextDream:
    from memoryd.jobs.dream_gates import Checks  # noqa: PLC0415 - a fresh home need not pay for it

    checks = Checks(database, world.paths, world.config, memory_dir, world.now)
    asked = checks.all()
    refusal = next((gate.decision for gate in asked if isinstance(gate.decision, Wait)), None)
    counted = next(gate.decision for gate in asked if gate.name in ("sessions", "lines"))
    return NextDream(tuple(asked), refusal or counted, checks.lines)


def _full_indexes(memory_dirs: Iterable[str]) -> Iterator[FullIndex]:
    """Look at all indexes; only one that is large enough to matter is read."""
    for memory_dir in memory_dirs:
        path = os.path.join(memory_dir, INDEX_NAME)
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
            state = directory.read(INDEX_NAME)
            topics = directory.listing().topics
    except (OSError, StateError):
        return ()
    text = state.data.decode("utf-8", "replace") if state else ""
    named = {index.entry_of(line) for line in text.splitlines()}
    return tuple(sorted((name for name in topics if name not in named), key=lambda name: topics[name]))
