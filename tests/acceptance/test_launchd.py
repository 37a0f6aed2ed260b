"""memoryd as an agent of launchd, here a small one of our own."""

from __future__ import annotations

import json
import os
import plistlib
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.paths import paths_from
from tests.acceptance import launchctl
from tests.acceptance.command import as_json, memoryd
from tests.acceptance.manager import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths


@pytest.fixture
def mac(environment: dict[str, str], tmp_path: Path) -> Iterator[dict[str, str]]:
    """A user whose machine has launchctl."""
    folder = tmp_path / "launchd"
    folder.mkdir()
    tool = tmp_path / "bin" / "launchctl"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{launchctl.__file__}" "{folder}" "$@"\n')
    tool.chmod(0o700)
    user = {**environment, "PATH": f"{tool.parent}:/usr/bin:/bin"}
    yield user
    state = folder / "local.memoryd.json"
    if state.exists():
        os.kill(json.loads(state.read_text())["keeper"], signal.SIGTERM)
        eventually(lambda: not state.exists())


@pytest.fixture
def home(mac: dict[str, str]) -> Paths:
    return paths_from(mac)


def plist(home: Paths) -> Path:
    return Path(home.home, "Library/LaunchAgents/local.memoryd.plist")


def test_installed_it_runs_with_what_the_agent_says(mac: dict[str, str], home: Paths) -> None:
    done = memoryd(mac, "service", "install")
    assert done.returncode == 0, done.stderr
    assert "Wrote ~/Library/LaunchAgents/local.memoryd.plist." in done.stdout
    assert "linger" not in done.stderr
    status = as_json(mac, "service", "status")
    assert (status["manager"], status["active"], status["enabled"]) == ("launchd", "active", True)
    assert status["since"]
    agent = plistlib.loads(plist(home).read_bytes())
    assert agent["ProgramArguments"] == [sys.executable, "-P", "-m", "memoryd", "run"]
    assert agent["EnvironmentVariables"] == {"MEMORYD_SUPERVISOR": "launchd", "PATH": mac["PATH"]}
    again = memoryd(mac, "service", "install")
    assert "Rewrote" in again.stdout
    assert as_json(mac, "service", "status")["pid"] not in (None, status["pid"])


def test_killed_it_is_started_again(mac: dict[str, str]) -> None:
    assert memoryd(mac, "service", "install").returncode == 0
    first = as_json(mac, "service", "status")["pid"]
    os.kill(first, signal.SIGKILL)
    eventually(lambda: as_json(mac, "service", "status")["pid"] not in (None, first))
    assert as_json(mac, "service", "status")["restarts"] == 1


def test_with_a_config_that_cannot_be_used_it_stays_down_and_says_why(mac: dict[str, str], home: Paths) -> None:
    assert memoryd(mac, "service", "install").returncode == 0
    os.makedirs(os.path.dirname(home.config_file))
    Path(home.config_file).write_text("nonsense = 1\n")
    done = memoryd(mac, "service", "restart")
    assert done.returncode == 78
    assert f"fix: ${{EDITOR:-vi}} +1 {home.config_file}" in done.stderr
    status = as_json(mac, "service", "status")
    assert status["active"] == "active"  # it goes on with the settings from before
    os.kill(status["pid"], signal.SIGKILL)
    eventually(lambda: as_json(mac, "service", "status")["active"] == "inactive")
    status = as_json(mac, "service", "status")
    assert (status["restarts"], status["failure"]["exit_code"]) == (1, 78)
    Path(home.config_file).unlink()
    assert memoryd(mac, "service", "restart").returncode == 0
    assert as_json(mac, "service", "status")["failure"] is None


def test_what_fails_in_the_first_look_is_told_by_install(mac: dict[str, str], home: Paths) -> None:
    os.makedirs(home.state_dir)
    with closing(sqlite3.connect(home.database)) as connection:
        connection.execute("PRAGMA user_version = 999")
    done = memoryd(mac, "service", "install")
    assert done.returncode == 1
    assert "memoryd does not start: " in done.stderr
    assert "was written by a newer memoryd" in done.stderr
    eventually(lambda: as_json(mac, "service", "status")["active"] == "inactive")


def test_removed_it_leaves_nothing_but_what_it_knows(mac: dict[str, str], home: Paths) -> None:
    assert memoryd(mac, "service", "install").returncode == 0
    pid = as_json(mac, "service", "status")["pid"]
    done = memoryd(mac, "service", "remove")
    assert done.returncode == 0
    assert not os.path.exists(f"/proc/{pid}")
    assert os.listdir(plist(home).parent) == []
    assert (Path(home.state_dir) / "crash.log").read_text() == ""
    assert memoryd(mac, "service", "remove").stdout == "There was no service.\n"
    assert memoryd(mac, "service", "status").returncode == 3


def test_an_agent_of_somebody_else_is_left_alone(mac: dict[str, str], home: Paths) -> None:
    plist(home).parent.mkdir(parents=True)
    plist(home).write_bytes(plistlib.dumps({"Label": "local.memoryd"}))
    assert memoryd(mac, "service", "install").returncode == 1
    assert plistlib.loads(plist(home).read_bytes()) == {"Label": "local.memoryd"}
    assert memoryd(mac, "service", "install", "--force").returncode == 0
