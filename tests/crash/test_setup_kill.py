"""kill -9 at every system call of `setup` and `uninstall` that touches the disk: run again, each is complete."""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import plugin
from memoryd.paths import paths_from
from tests.clients import old_hooks
from tests.crash import strace

if TYPE_CHECKING:
    from tests.crash.strace import Call, Run
    from tests.torture.campaign import Campaign

SETTINGS = b'{\r\n\t"model": "opus", "hooks": { }\r\n}'
SETUP = ("setup", "--yes", "--engine", "claude", "--no-service", "--no-history")
UNINSTALL = ("uninstall", "--yes")
FILES = {".claude/settings.json", "strace.log"}


class World:
    """One home that is put back to how it was before every kill."""

    def __init__(self, place: Path) -> None:
        self.home = str(place / "home")
        self.paths = paths_from({"HOME": self.home})
        self._ready = str(place / "ready")

    def reset(self, *, is_set_up: bool) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        if is_set_up and os.path.exists(self._ready):
            shutil.copytree(self._ready, self.home)
            return
        os.makedirs(self.paths.claude_dir)
        Path(self.paths.claude_settings).write_bytes(SETTINGS)
        old_hooks.install(self.paths, "/old/python")
        if is_set_up:
            assert self.run(SETUP).returncode == 0
            shutil.copytree(self.home, self._ready)

    def run(self, command: tuple[str, ...], *inject: str) -> Run:
        return strace.run_module(self.home, ("tests.crash.setter", self.home, *command), *inject)

    def check_set_up(self) -> None:
        assert self.run(SETUP).returncode == 0
        assert plugin.plugin_state(self.paths, sys.executable) == "installed"
        assert Path(self.paths.config_file).read_text() == 'engine = "claude"\n'
        self.check_gone()

    def check_gone(self) -> None:
        assert self.run(UNINSTALL).returncode == 0
        assert Path(self.paths.claude_settings).read_bytes() == SETTINGS
        left = {str(path.relative_to(self.home)) for path in Path(self.home).rglob("*") if path.is_file()}
        assert left == FILES
        folders = {str(path.relative_to(self.home)) for path in Path(self.home).rglob("*") if path.is_dir()}
        assert folders == {".claude", ".local", ".local/state"}  # the last two were there: an older memoryd was, too


def sample(calls: tuple[Call, ...], number: int) -> list[Call]:
    """The same in every run."""
    changing = [call for call in calls if call.kind != "openat" or "O_WRONLY" in call.arguments]
    return random.Random(len(calls)).sample(changing, min(len(changing), number))


@pytest.mark.torture
@pytest.mark.parametrize(("command", "is_set_up"), [(SETUP, False), (UNINSTALL, True)], ids=["setup", "uninstall"])
def test_killed_anywhere_the_next_run_completes_it(
    tmp_path: Path, torture: bool, command: tuple[str, ...], is_set_up: bool, campaign: Campaign
) -> None:
    world = World(tmp_path)
    world.reset(is_set_up=is_set_up)
    plain = world.run(command)
    assert plain.returncode == 0
    chosen = sample(plain.calls, 1000 if torture else 4)
    for call in chosen:
        world.reset(is_set_up=is_set_up)
        assert world.run(command, f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        if is_set_up:
            world.check_gone()
        else:
            world.check_set_up()
    campaign.tried("faults", f"kill at a disk call of {command[0]}", len(chosen))
