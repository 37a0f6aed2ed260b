"""`make install` and `make uninstall` where something is in the way: nothing of somebody else's goes, nothing is left half."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from memoryd.paths import Paths

CLONE = Path(__file__).parents[2]


class Installed:
    """A program that only ends with a code, whatever it is told, and the command that leads to it."""

    def __init__(self, paths: Paths, environment: dict[str, str], code: int) -> None:
        self._environment = environment
        self.app, self.command = Path(paths.home, "my app"), Path(paths.home, "bin", "memoryd")
        self.program = self.app / "bin" / "memoryd"
        self.program.parent.mkdir(parents=True)
        for program in (self.program, self.program.with_name("python")):
            program.write_text(f"#!/bin/sh\nexit {code}\n")
            program.chmod(0o700)
        self.command.parent.mkdir()
        self.command.symlink_to(self.program)

    def make(self, target: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["make", target, f"APP={self.app}", f"COMMANDS={self.command.parent}"],
            cwd=CLONE,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.parametrize("code", [0, 1], ids=["removed", "nobody to ask for one"])
def test_without_a_service_all_of_it_goes(paths: Paths, environment: dict[str, str], code: int) -> None:
    installed = Installed(paths, environment, code)
    assert installed.make("uninstall").returncode == 0
    assert not installed.app.exists()
    assert not os.path.lexists(installed.command)


def test_a_service_that_cannot_be_removed_keeps_its_program(paths: Paths, environment: dict[str, str]) -> None:
    """It would be started for ever, and nothing would be there."""
    installed = Installed(paths, environment, 1)
    unit = Path(paths.home, ".config", "systemd", "user", "memoryd.service")
    unit.parent.mkdir(parents=True)
    unit.touch()
    done = installed.make("uninstall")
    assert done.returncode != 0
    assert str(unit) in done.stdout
    assert installed.program.exists()
    assert installed.command.exists()


def test_the_command_of_another_installation_stays(paths: Paths, environment: dict[str, str]) -> None:
    """As pipx makes it: a link, too."""
    installed = Installed(paths, environment, 0)
    assert installed.make("install").returncode == 0
    other = Path(paths.home, "other")
    other.touch()
    installed.command.unlink()
    installed.command.symlink_to(other)
    done = installed.make("install")
    assert done.returncode != 0
    assert "somebody else's" in done.stdout
    assert os.readlink(installed.command) == str(other)
