"""kill -9 at every system call that touches the disk, of an append to daily logs, of its undo, and of a night.

After recovery all is old or all is new; when the work is done again, every line and every fact is there once.
"""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.recovery import recover_dead_dream, recover_directory
from memoryd.memory.directory import TEMPORARY_PREFIX
from memoryd.memory.document import body_of
from memoryd.model import Due as IsTime
from memoryd.state import log_lines
from memoryd.state.database import open_database
from tests.crash import daily_logger, strace
from tests.jobs.daily_log_workspace import DAILY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.campaign import Campaign


BEFORE = {"append": (), "undo": ("append",), "night": ("append",)}


class World:
    """One home that is put back to how it was before every kill; its path is in the database and must not change."""

    def __init__(self, place: Path, action: str) -> None:
        self.home, self.action = str(place / "home"), action
        self.paths = daily_logger.paths_of(self.home)
        self.memory = daily_logger.memory_of(self.paths)
        self._fresh = str(place / "fresh")
        daily_logger.make_world(self.home)
        for earlier in BEFORE[action]:
            self.act(earlier)
        self.old = self.files()
        shutil.copytree(self.home, self._fresh)
        self.calls = self.run().calls
        self.new = self.files()
        assert self.new != self.old

    def run(self, *inject: str) -> strace.Run:
        return strace.run_module(self.home, ("tests.crash.daily_logger", self.home, self.action), *inject)

    def reset(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self._fresh, self.home)

    def act(self, action: str) -> None:
        with closing(open_database(self.paths)) as database:
            daily_logger.ACTIONS[action](database, self.paths)

    def files(self) -> dict[str, bytes]:
        """Everything in the memory directory but the lock."""
        return {
            str(path.relative_to(self.memory)): path.read_bytes()
            for path in sorted(self.memory.rglob("*"))
            if path.is_file() and path.name != ".consolidate-lock"
        }

    def check_recovered(self) -> bool:
        """Everything that must hold once the next process has come by; whether the change was made."""
        with closing(open_database(self.paths)) as database:
            recover_dead_dream(database, self.paths, str(self.memory), daily_logger.NIGHT + 60)
            recover_directory(database, self.paths, str(self.memory), daily_logger.NIGHT + 60)
            found = self.files()
            assert found in (self.old, self.new), "half old and half new, or something was left"
            is_new = found == self.new
            turns = {row[0] for row in database.query("SELECT outcome FROM turns")}
            assert turns == {None if self.action == "append" and not is_new else "succeeded"}
            cursors = log_lines.cursors(database, str(self.memory))
            if self.action == "night":
                ends = {name: len(data) for name, data in self.old.items()}
                assert {name: cursor.end for name, cursor in cursors.items()} == (ends if is_new else {})
                decision = Checks(database, self.paths, DAILY, str(self.memory), daily_logger.NIGHT + 60).decision()
                assert isinstance(decision, IsTime) == (not is_new), decision
        if not is_new or self.action != "undo":  # undoing once more would undo the next change
            self.act(self.action)
        assert self.files() == self.new, "done again, it is not the same"
        return is_new


@pytest.mark.torture
@pytest.mark.parametrize("action", BEFORE)
def test_killed_anywhere_a_daily_log_and_its_night_are_old_or_new(
    tmp_path: Path, action: str, torture: bool, monkeypatch: pytest.MonkeyPatch, campaign: Campaign
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    world = World(tmp_path, action)
    chance = random.Random(5)
    own = [call for call in world.calls if not call.is_of_the_database]
    others = [call for call in world.calls if call.is_of_the_database]
    some = chance.sample(own, min(len(own), 6)) + chance.sample(others, 4)
    outcomes = []
    for call in campaign.in_time(world.calls if torture else some):
        world.reset()
        assert world.run(f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        outcomes.append(world.check_recovered())
    print(f"{action}: killed at {len(outcomes)} of {len(world.calls)} points: {outcomes.count(True)} new")
    assert {True, False} == set(outcomes)
    campaign.tried("faults", "kill at a disk call of a daily log", len(outcomes))
    _check_facts(world)
    shutil.rmtree(tmp_path)


def _check_facts(world: World) -> None:
    lines = [data.decode() for name, data in world.files().items() if name.startswith("logs/")]
    bodies = [body_of(data) for name, data in world.files().items() if "/" not in name and name != "MEMORY.md"]
    for fact in daily_logger.FACTS:
        assert sum(log.count(fact) for log in lines) == (world.action != "undo")
        assert sum(body.count(fact) for body in bodies) == (world.action == "night")
    assert not [name for _, _, names in os.walk(world.memory) for name in names if name.startswith(TEMPORARY_PREFIX)]
