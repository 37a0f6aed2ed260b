"""kill -9 at every system call of a whole dream that touches the disk: all old or all new, and no day is lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import structlog

from memoryd.config import Config
from memoryd.daemon.children import Children
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.extract import extract
from memoryd.jobs.recovery import recover_dead_dream
from memoryd.memory.limits import LOCK_NAME
from memoryd.model import Due as IsTime
from memoryd.state import dreams
from memoryd.state.database import open_database
from tests.crash import dreamer, strace
from tests.jobs.dream_workspace import NOW, FastClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoryd.state.database import Database
    from tests.crash.strace import Call
    from tests.torture.campaign import Campaign

KERNELS = {"exchange": (), "three renames": ("renameat2:error=ENOSYS",)}
LATER = NOW + 60

Files = dict[str, tuple[bytes, int]]


class World:
    """One home that is put back to how it was before every kill; its path is in the database and must not change."""

    def __init__(self, place: Path, kernel: str, *, has_lock: bool) -> None:
        self.home = str(place / "home")
        self.paths = dreamer.paths_of(self.home)
        self.memory = dreamer.memory_of(self.paths)
        self._kernel = KERNELS[kernel]
        self._fresh = str(place / "fresh")
        dreamer.make_world(self.home)
        if not has_lock:
            (self.memory / LOCK_NAME).unlink()
        shutil.copytree(self.home, self._fresh)
        self.before = self.files()
        code, self.calls = self.run()
        assert code == 0
        self.after = self.files()

    def reset(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self._fresh, self.home)

    def run(self, *inject: str) -> tuple[int, tuple[Call, ...]]:
        """Dream under strace, with these expressions for its -e inject."""
        log = os.path.join(os.path.dirname(self.home), "strace.log")
        code, said = strace.run_traced(self.home, ("tests.crash.dreamer", self.home), log, *self._kernel, *inject)
        assert not said
        with open(log, encoding="utf-8", errors="replace") as file:
            return code, strace._read(file.read().splitlines())[0]

    def files(self) -> Files:
        """Everything in the memory directory, temporary files and the lock as well."""
        return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(self.memory.iterdir())}

    # --- what must hold -----------------------------------------------------------------------------------------------

    def check_recovered(self, recover: Callable[[World, Database], None]) -> bool:
        """Everything that must hold once somebody has come by. Returns whether the dream counts."""
        with closing(open_database(self.paths)) as database:
            recover(self, database)
            found = self.files(), list(database._connection.iterdump())
            recover(self, database)
            assert (self.files(), list(database._connection.iterdump())) == found, "done twice, it is not the same"
            counts = self._check(database)
            if not counts:
                assert dreamer.dream(database, self.paths, FastClock()).outcome == "succeeded"
                assert self.files() == self.after
        return counts

    def _check(self, database: Database) -> bool:
        jobs = [row[0] for row in database.query("SELECT outcome FROM jobs")]
        assert jobs in ([], ["killed"], ["succeeded"])
        counts = jobs == ["succeeded"]
        assert self.files() == (self.after if counts else self.before), "half old and half new, or something was left"
        outcomes = {row[0] for row in database.query("SELECT outcome FROM turns")}
        assert outcomes == {"succeeded" if counts else None}
        assert not dreams.held_locks(database)
        decision = Checks(database, self.paths, Config(), str(self.memory), LATER).decision()
        assert isinstance(decision, IsTime) == (not counts), decision
        return counts


def by_burying(world: World, database: Database) -> None:
    assert recover_dead_dream(database, world.paths, str(world.memory), LATER)


def by_an_extraction(world: World, database: Database) -> None:
    assert list(extract(database, world.paths, str(world.memory), [], LATER, engine=OfflineEngine())) == []


def by_the_daemon(world: World, database: Database) -> None:
    children = Children(world.paths, lambda _: None, structlog.get_logger(), {})
    children.recover(database, LATER)
    children.recover_dead_dream(database, LATER)


RECOVERIES = (by_burying, by_an_extraction, by_the_daemon)


def sample(calls: tuple[Call, ...], number: int) -> list[Call]:
    """Some of them, the same in every run, and most of those that touch no database."""
    chance = random.Random(7)
    own = [call for call in calls if not call.is_of_the_database]
    others = [call for call in calls if call.is_of_the_database]
    return chance.sample(own, number * 3 // 4) + chance.sample(others, number - number * 3 // 4)


@pytest.mark.torture
@pytest.mark.parametrize("has_lock", [True, False], ids=["with a lock", "without"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_killed_anywhere_a_dream_is_whole_or_never_was_and_costs_no_day(
    tmp_path: Path, torture: bool, kernel: str, has_lock: bool, campaign: Campaign
) -> None:
    world = World(tmp_path, kernel, has_lock=has_lock)
    outcomes = []
    for number, call in enumerate(campaign.in_time(world.calls if torture else sample(world.calls, 5))):
        world.reset()
        code, _ = world.run(f"{call.kind}:signal=KILL:when={call.number}")
        assert code == -signal.SIGKILL, f"{call} was not reached"
        outcomes.append(world.check_recovered(RECOVERIES[number % len(RECOVERIES)]))
    print(f"killed at {len(outcomes)} of {len(world.calls)} points: {outcomes.count(True)} counted")
    shutil.rmtree(tmp_path)
    assert len(world.calls) > 100
    assert {True, False} == set(outcomes)
    campaign.tried("faults", "kill at a disk call of a dream", len(outcomes))
