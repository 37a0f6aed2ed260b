"""kill -9 at every system call of an exchange that touches the disk: the next ones make all equal, and nothing is lost."""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.crash import strace
from tests.crash.exchanger import machine_in
from tests.stores.machines import memory

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.strace import Run
    from tests.torture.campaign import Campaign

OLD, MINE, THEIRS, NEW = (memory(f"Fact {word}.") for word in ("old", "mine", "theirs", "new"))


class World:
    """Two machines that have changed things apart: an edit and a deletion on each, a conflict, something new on each."""

    def __init__(self, place: Path) -> None:
        self._fresh, self.home = str(place / "fresh"), str(place / "home")  # what is exchanged is known by its path
        os.makedirs(os.path.join(self.home, "shared"))
        laptop, desktop = (machine_in(self.home, name) for name in ("laptop", "desktop"))
        for name in ("edited", "taken", "deleted", "dropped", "both"):
            laptop.write(f"{name}.md", OLD)
        laptop.exchange()
        desktop.exchange()
        for name in ("taken", "both"):
            desktop.write(f"{name}.md", THEIRS)
        desktop.remove("dropped.md")
        desktop.write("theirs.md", NEW)
        desktop.exchange()
        for name in ("edited", "both"):
            laptop.write(f"{name}.md", MINE)
        laptop.remove("deleted.md")
        laptop.write("mine.md", NEW)
        for machine in (laptop, desktop):
            machine.close()
        shutil.copytree(self.home, self._fresh)

    def reset(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self._fresh, self.home)

    def run(self, *inject: str) -> Run:
        return strace.run_module(self.home, ("tests.crash.exchanger", self.home), *inject)

    def check(self) -> None:
        """Exchange until all is said, and see that both have everything."""
        laptop, desktop = (machine_in(self.home, name) for name in ("laptop", "desktop"))
        for machine in (laptop, desktop, laptop):
            assert machine.exchange().is_whole
        wanted = {"edited.md": MINE, "taken.md": THEIRS, "both.md": MINE, "theirs.md": NEW, "mine.md": NEW}
        assert laptop.files == desktop.files == wanted
        assert THEIRS in laptop.history  # which lost against mine
        assert not [name for name in os.listdir(laptop.directory) if name.startswith(".memoryd-")]
        for machine in (laptop, desktop):
            machine.close()


@pytest.mark.torture
def test_killed_anywhere_the_next_exchange_makes_it_good(tmp_path: Path, torture: bool, campaign: Campaign) -> None:
    world = World(tmp_path)
    plain = world.run()
    assert plain.returncode == 0
    world.check()
    calls = list(plain.calls)
    print(f"{len(calls)} points to be killed at")
    chosen = calls if torture else random.Random(3).sample(calls, 12)
    killed = tried = 0
    for call in campaign.in_time(chosen):
        tried += 1
        world.reset()
        run = world.run(f"{call.kind}:signal=KILL:when={call.number}")
        killed += run.was_killed
        assert run.was_killed or run.returncode == 0
        world.check()
    # Names are random, so a run may write a page of the database less than the first one, and be over before.
    assert killed > 0.9 * tried
    campaign.tried("faults", "kill at a disk call of sync", killed)
