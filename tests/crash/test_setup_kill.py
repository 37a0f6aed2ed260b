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
CLIENTS = {
    ".codex/config.toml": b'model = "x" # mine\r\n\r\n[mcp_servers.other]\r\ncommand = "y"',
    ".gemini/settings.json": b'{"hooks":{"BeforeAgent":[]},"mcpServers":{"other":{}}}',
    ".qwen/settings.json": b'{\n  // mine\n  "$version": 4\n}\n',
    ".copilot/settings.json": b'{ "banner": "never" }',
    ".pi/agent/models.json": b"{}",
    ".config/opencode/opencode.json": b'{\n  "theme": "x"\n}\n',
    ".config/opencode/node_modules/@opencode-ai/plugin/package.json": b"{}",
}
"""The settings of other clients; what is not named here, setup makes."""


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
        for name, content in {".claude/settings.json": SETTINGS, **CLIENTS}.items():
            file = Path(self.home, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        old_hooks.install(self.paths, "/old/python")
        self._before = self.clients_files()
        if is_set_up:
            assert self.run(SETUP).returncode == 0
            self._after = self.clients_files()
            shutil.copytree(self.home, self._ready)

    def clients_files(self) -> dict[str, bytes]:
        """What the other clients have, and memoryd in it."""
        folders = {name.split("/")[0] for name in CLIENTS}
        files = [path for folder in folders for path in Path(self.home, folder).rglob("*") if path.is_file()]
        config = os.path.dirname(self.paths.config_file)
        return {str(path.relative_to(self.home)): path.read_bytes() for path in files if str(path.parent) != config}

    def run(self, command: tuple[str, ...], *inject: str) -> Run:
        return strace.run_module(self.home, ("tests.crash.setter", self.home, *command), *inject)

    def check_whole(self) -> None:
        """Each file is as it was, or as it is to be."""
        for name, content in self.clients_files().items():
            if ".memoryd-" not in name:  # what a kill leaves beside a file goes with the next run
                assert content in (self._before.get(name), self._after.get(name)), name

    def check_set_up(self) -> None:
        assert self.run(SETUP).returncode == 0
        assert plugin.plugin_state(self.paths, sys.executable) == "installed"
        assert Path(self.paths.config_file).read_text() == 'engine = "claude"\n'
        assert self.clients_files() == self._after
        self.check_gone()

    def check_gone(self) -> None:
        assert self.run(UNINSTALL).returncode == 0
        left = {str(path.relative_to(self.home)) for path in Path(self.home).rglob("*")}
        kept = {".claude/settings.json": SETTINGS, **CLIENTS}
        folders = {str(folder) for name in kept for folder in Path(name).parents[:-1]}
        # The state directory was there: an older memoryd was, too.
        assert left == {*kept, *folders, ".local", ".local/state", "strace.log"}
        assert {name: Path(self.home, name).read_bytes() for name in kept} == kept


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
    world.reset(is_set_up=True)
    world.reset(is_set_up=is_set_up)
    plain = world.run(command)
    assert plain.returncode == 0
    chosen = sample(plain.calls, 1000 if torture else 4)
    killed = 0
    for call in campaign.in_time(chosen):
        killed += 1
        world.reset(is_set_up=is_set_up)
        assert world.run(command, f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        world.check_whole()
        if is_set_up:
            world.check_gone()
        else:
            world.check_set_up()
    campaign.tried("faults", f"kill at a disk call of {command[0]}", killed)
