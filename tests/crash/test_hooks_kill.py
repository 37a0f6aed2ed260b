"""kill -9 at every system call of `memoryd hooks remove` that touches the disk: the settings are the old or the new ones."""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import settings_file
from memoryd.paths import paths_from
from tests.clients import old_hooks
from tests.crash import strace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.strace import Call, Run
    from tests.torture.campaign import Campaign

NOW = 1_790_000_000.0
ORIGINAL = b'{\r\n\t"model": "opus", "hooks": { }\r\n}'


class World:
    """One home that is put back to how it was before every kill."""

    def __init__(self, place: Path) -> None:
        self.home = str(place / "home")
        self.paths = paths_from({"HOME": self.home})

    def reset(self) -> bytes:
        """With the hooks of an older memoryd; returns what stands in the settings."""
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(self.paths.claude_dir)
        self.write(ORIGINAL)
        old_hooks.install(self.paths, "/old/python")
        return self.read()

    def run(self, action: str, *inject: str) -> Run:
        return strace.run_module(self.home, ("tests.crash.hooker", self.home, action), *inject)

    def read(self) -> bytes:
        with open(self.paths.claude_settings, "rb") as file:
            return file.read()

    def write(self, data: bytes) -> None:
        with open(self.paths.claude_settings, "wb") as file:
            file.write(data)

    def check_the_next_one_ends_it(self) -> None:
        settings_file.remove(self.paths, NOW + 2)
        assert self.read() == ORIGINAL
        assert settings_file.old_hooks(self.paths) == ()


def sample(calls: tuple[Call, ...], number: int) -> list[Call]:
    """Those that touch the client's directory, and some of the others: the same in every run."""
    own = [call for call in calls if ".claude" in call.arguments]
    others = [call for call in calls if ".claude" not in call.arguments]
    return own + random.Random(len(calls)).sample(others, min(len(others), number))


@pytest.mark.torture
def test_killed_anywhere_the_settings_are_old_or_new(tmp_path: Path, torture: bool, campaign: Campaign) -> None:
    world = World(tmp_path)
    old = world.reset()
    plain = world.run("remove")
    assert plain.returncode == 0
    new = world.read()
    assert new != old
    seen, killed = set(), 0
    for call in campaign.in_time(sample(plain.calls, 1000 if torture else 2)):
        killed += 1
        world.reset()
        assert world.run("remove", f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        assert world.read() in (old, new), f"torn at {call}"
        seen.add(world.read())
        world.check_the_next_one_ends_it()
    assert old in seen
    campaign.tried("faults", "kill at a disk call of hooks", killed)
