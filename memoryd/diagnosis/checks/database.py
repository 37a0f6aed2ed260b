"""State database, what killed processes left in it, and memories that the last rot check found outdated."""

from __future__ import annotations

import os
import shlex
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.diagnosis.checks import machine
from memoryd.diagnosis.facts import read_outdated
from memoryd.diagnosis.problems import Check, check_notices
from memoryd.diagnosis.rules import read_rules
from memoryd.errors import BusyError, StateError
from memoryd.formatting import ago, count, short, size
from memoryd.state import notices, queries
from memoryd.state.database import open_for_reading
from memoryd.state.projects import all_projects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoryd.diagnosis.facts import World
    from memoryd.diagnosis.rules import BindingRule
    from memoryd.errors import MemorydError
    from memoryd.state.database import Database
    from memoryd.state.notices import Notice
    from memoryd.state.queries import Unfinished

MOST_CHECKED_BYTES = 500_000_000
"""A larger database is not looked over page by page: a person waits."""
COMMIT_SECONDS = 60.0
"""A commit that was begun this long ago belongs to a dead process."""
JOB_SECONDS = 3600.0
"""No job takes this long; a dream ends itself after 45 minutes."""


class DatabaseFacts(NamedTuple):
    path: str
    home: str
    now: float
    bytes: int | None
    """None: there is none."""
    error: MemorydError | None = None
    holders: tuple[tuple[int, str], ...] = ()
    """Processes that have it open, where it is busy."""
    format: int = 0
    is_checked: bool = False
    prepared: tuple[float, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()
    notices: tuple[Notice, ...] = ()
    is_running: bool = False


def read_database(world: World) -> DatabaseFacts:
    path = world.paths.database
    facts = DatabaseFacts(path, world.paths.home, world.now, _bytes(path))
    try:
        database = open_for_reading(world.paths)
        if database is None:
            return facts
        with closing(database):
            return _read_inside(database, world, facts)
    except BusyError as error:
        return facts._replace(error=error, holders=tuple(machine.holders_of(path)))
    except StateError as error:
        return facts._replace(error=error)


def _read_inside(database: Database, world: World, facts: DatabaseFacts) -> DatabaseFacts:
    is_small = (facts.bytes or 0) <= MOST_CHECKED_BYTES
    if is_small:
        database.check()
    return facts._replace(
        format=database.version(),
        is_checked=is_small,
        prepared=tuple(queries.prepared_since(database)),
        unfinished=tuple(queries.unfinished_jobs(database)),
        notices=tuple(notices.current_notices(database)),
        is_running=world.running is not None,
    )


def _bytes(path: str) -> int | None:
    """With what waits in its log."""
    try:
        total = os.stat(path).st_size
    except OSError:
        return None
    with suppress(OSError):
        total += os.stat(f"{path}-wal").st_size
    return total


def judge_database(facts: DatabaseFacts) -> Iterator[Check]:
    name = short(facts.path, facts.home)
    if facts.error is not None:
        who = ", ".join(f"{program or 'process'} ({pid})" for pid, program in facts.holders)
        text = facts.error.sentence.rstrip(".") + (f"; it is open in {who}" if who else "")
        yield Check("database", "problem", text, facts.error.fix)
        return
    if facts.bytes is None:
        yield Check("database", "ok", f"{name} is made at the first start")
        return
    state = "whole" if facts.is_checked else "too large to be looked over here"
    yield Check("database", "ok", f"{name}: {size(facts.bytes)}, format {facts.format}, {state}")
    yield from _judge_recovery(facts)
    yield from _judge_jobs(facts)
    yield from check_notices(facts.notices)


def _judge_recovery(facts: DatabaseFacts) -> Iterator[Check]:
    left = [at for at in facts.prepared if facts.now - at > COMMIT_SECONDS]
    if not left:
        yield Check("recovery", "ok", "no change of memories was left half done")
        return
    which = "a change of memories was" if len(left) == 1 else f"{len(left):,} changes of memories were"
    if facts.is_running:
        yield Check("recovery", "note", f"{which} cut off; the next change there finishes or drops it")
    else:
        yield Check("recovery", "problem", f"{which} cut off; the next start finishes or drops it", "memoryd run")


def _judge_jobs(facts: DatabaseFacts) -> Iterator[Check]:
    stuck = [job for job in facts.unfinished if facts.now - job.started_at > JOB_SECONDS]
    for job in stuck:
        is_dream = job.kind == "dream"
        what = "A dream" if is_dream else f"The job ({job.kind}) on session {job.session_id[:8]}"
        text = f"{what} began {ago(facts.now - job.started_at)} ago and has not ended; its process may be dead"
        yield Check("jobs", "problem", text, "memoryd dream-stop" if is_dream else "memoryd extract-now")
    if not stuck:
        text = f"{count(len(facts.unfinished), 'job')} at work, none hangs" if facts.unfinished else "no job hangs"
        yield Check("jobs", "ok", text)


class MemoryFacts(NamedTuple):
    home: str
    is_switched_off: bool
    outdated: Mapping[str, int]
    """How many memories name what is gone, by the root of their project."""
    asking: Sequence[tuple[str, BindingRule]]
    """Memories that ask to be binding, each with the root of its project; empty where that is not known."""


def read_memories(world: World) -> MemoryFacts:
    outdated = read_outdated(world.paths)
    with world.database() as database:
        projects = all_projects(database) if database else []
    by_root = {project.root: outdated[project.memory_dir] for project in projects if project.memory_dir in outdated}
    roots = {project.memory_dir: project.root for project in reversed(projects)}
    binding = read_rules(world.paths, 0.0).binding
    asking = [(roots.get(rule.memory_dir, ""), rule) for rule in binding if rule.request]
    return MemoryFacts(world.paths.home, not world.config.features.rot_check, by_root, asking)


def judge_memories(facts: MemoryFacts) -> Iterator[Check]:
    yield from _judge_asking(facts)
    if facts.is_switched_off:
        yield Check("rot", "note", "memories are not compared with the code: features.rot_check is off")
        return
    for root, number in sorted(facts.outdated.items()):
        names = "1 memory names" if number == 1 else f"{number:,} memories name"
        text = f"{names} what {short(root, facts.home)} no longer has"
        yield Check("rot", "note", text, f"memoryd verify --project {shlex.quote(root)}")
    if not facts.outdated:
        yield Check("rot", "ok", "no memory is known to name what the code no longer has")


def _judge_asking(facts: MemoryFacts) -> Iterator[Check]:
    for root, rule in facts.asking:
        where = f" --project {shlex.quote(root)}" if root else ""
        text = f"{short(rule.memory_dir, facts.home)}/{rule.file} {rule.request}"
        yield Check("binding", "note", text, f"memoryd enforce {shlex.quote(rule.file)}{where}")
    if not facts.asking:
        yield Check("binding", "ok", "no memory asks to be binding that you have not confirmed")
