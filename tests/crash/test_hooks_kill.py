"""kill -9 at every system call of `memoryd hooks` that touches the disk: the settings are the old ones or the new ones."""

from __future__ import annotations

import os
import random
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import settings_file
from memoryd.paths import paths_from
from tests.crash import strace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crash.strace import Call, Run

NOW = 1_790_000_000.0
ORIGINAL = b'{\r\n\t"model": "opus", "hooks": { }\r\n}'


class World:
    """One home that is put back to how it was before every kill."""

    def __init__(self, place: Path) -> None:
        self.home = str(place / "home")
        self.paths = paths_from({"HOME": self.home})

    def reset(self, *, installed: bool) -> bytes:
        """Returns what stands in the settings."""
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(self.paths.claude_dir)
        self.write(ORIGINAL)
        if installed:
            settings_file.install(self.paths, "/old/python", NOW)
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
        settings_file.install(self.paths, sys.executable, NOW + 1)
        assert {hook.state for hook in settings_file.look(self.paths, {}, sys.executable)} == {"installed"}
        assert os.listdir(self.paths.claude_dir) == ["settings.json"]
        settings_file.remove(self.paths, NOW + 2)
        assert self.read() == ORIGINAL


def sample(calls: tuple[Call, ...], number: int) -> list[Call]:
    """Those that touch the client's directory, and some of the others: the same in every run."""
    own = [call for call in calls if ".claude" in call.arguments]
    others = [call for call in calls if ".claude" not in call.arguments]
    return own + random.Random(len(calls)).sample(others, min(len(others), number))


@pytest.mark.torture
@pytest.mark.parametrize(("action", "installed"), [("install", False), ("install", True), ("remove", True)])
def test_killed_anywhere_the_settings_are_old_or_new(
    tmp_path: Path, torture: bool, action: str, installed: bool
) -> None:
    world = World(tmp_path)
    old = world.reset(installed=installed)
    plain = world.run(action)
    assert plain.returncode == 0
    new = world.read()
    assert new != old
    seen = set()
    for call in sample(plain.calls, 1000 if torture else 2):
        world.reset(installed=installed)
        assert world.run(action, f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        assert world.read() in (old, new), f"torn at {call}"
        seen.add(world.read())
        world.check_the_next_one_ends_it()
    assert old in seen
