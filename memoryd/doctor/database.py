"""Whether the state database can be used, and what killed processes left in it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.doctor import machine
from memoryd.doctor.check import Check
from memoryd.errors import BusyError, StateError
from memoryd.instance import running_instance
from memoryd.state import health, notices
from memoryd.state.database import check, open_for_reading
from memoryd.words import ago, count, short, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.doctor.check import World
    from memoryd.errors import MemorydError
    from memoryd.state.database import Database
    from memoryd.state.health import Unfinished
    from memoryd.state.notices import Notice

MOST_CHECKED_BYTES = 500_000_000
"""A larger database is not looked over page by page: a person waits."""
COMMIT_SECONDS = 60.0
"""A commit that was begun this long ago belongs to a dead process."""
JOB_SECONDS = 3600.0
"""No job takes this long; a dream ends itself after 45 minutes."""


class Facts(NamedTuple):
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


def look(world: World) -> Facts:
    path = world.paths.database
    facts = Facts(path, world.paths.home, world.now, _bytes(path))
    database = None
    try:
        database = open_for_reading(world.paths)
        return facts if database is None else _look_into(database, world, facts)
    except BusyError as error:
        return facts._replace(error=error, holders=tuple(machine.holders_of(path)))
    except StateError as error:
        return facts._replace(error=error)
    finally:
        if database is not None:
            database.close()


def _look_into(database: Database, world: World, facts: Facts) -> Facts:
    is_small = (facts.bytes or 0) <= MOST_CHECKED_BYTES
    if is_small:
        check(database)
    return facts._replace(
        format=health.format_version(database),
        is_checked=is_small,
        prepared=tuple(health.prepared_since(database)),
        unfinished=tuple(health.unfinished_jobs(database)),
        notices=tuple(notices.standing(database)),
        is_running=running_instance(world.paths) is not None,
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


def judge(facts: Facts) -> Iterator[Check]:
    name = short(facts.path, facts.home)
    if facts.error is not None:
        who = ", ".join(f"{name or 'process'} ({pid})" for pid, name in facts.holders)
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
    for notice in facts.notices:
        yield Check("notices", "problem", notice.text.rstrip("."), notice.fix)


def _judge_recovery(facts: Facts) -> Iterator[Check]:
    left = [at for at in facts.prepared if facts.now - at > COMMIT_SECONDS]
    if not left:
        yield Check("recovery", "ok", "no change of memories was left half done")
        return
    which = "a change of memories was" if len(left) == 1 else f"{len(left):,} changes of memories were"
    if facts.is_running:
        yield Check("recovery", "note", f"{which} cut off; the next change there finishes or drops it")
    else:
        yield Check("recovery", "problem", f"{which} cut off; the next start finishes or drops it", "memoryd run")


def _judge_jobs(facts: Facts) -> Iterator[Check]:
    stuck = [job for job in facts.unfinished if facts.now - job.started_at > JOB_SECONDS]
    for job in stuck:
        is_dream = job.kind == "dream"
        what = "A dream" if is_dream else f"The job ({job.kind}) on session {job.session_id[:8]}"
        text = f"{what} began {ago(facts.now - job.started_at)} ago and has not ended; its process may be dead"
        yield Check("jobs", "problem", text, "memoryd dream-stop" if is_dream else "memoryd extract-now")
    if not stuck:
        text = f"{count(len(facts.unfinished), 'job')} at work, none hangs" if facts.unfinished else "no job hangs"
        yield Check("jobs", "ok", text)
