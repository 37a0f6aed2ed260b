"""The unit and the agent: what stands in them, and what never does."""

from __future__ import annotations

import os
import plistlib
import re
import stat
from configparser import RawConfigParser
from typing import TYPE_CHECKING, Any

import pytest

from memoryd import service as package
from memoryd.cli.service import as_json
from memoryd.daemon.children import CHILD_SECONDS
from memoryd.daemon.last_failure import Failure
from memoryd.daemon.single_instance import Instance
from memoryd.errors import BusyError, ConfigError, NewerStateError, ServiceError
from memoryd.paths import paths_from
from memoryd.service.state import State
from memoryd.service.systemd import unreachable
from memoryd.service.tools import read_own, write_own
from memoryd.service.units import AGENT, UNIT, agent, is_ours, kept_variables, unit_text
from tests.acceptance.command import memoryd

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths

PYTHON = "/opt/memoryd/bin/python"
FOLDER = os.path.dirname(package.__file__)


@pytest.fixture
def service() -> dict[str, str]:
    """The settings of [Service] in the unit."""
    unit = RawConfigParser(strict=False, comment_prefixes=("#",), interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(unit_text(PYTHON, {}))
    return dict(unit["Service"])


@pytest.fixture
def made(paths: Paths) -> dict[str, Any]:
    return dict(plistlib.loads(agent(PYTHON, {"A": "b"}, paths)))


def test_both_managers_wait_longer_than_the_daemon_waits_for_its_children(
    service: dict[str, str], made: dict[str, Any]
) -> None:
    assert service["TimeoutStopSec"] == str(made["ExitTimeOut"]) == "45"
    assert made["ExitTimeOut"] >= CHILD_SECONDS + 10


def test_the_watchdog_waits_for_three_signs_of_life(service: dict[str, str]) -> None:
    assert service["Type"] == "notify"
    assert int(service["WatchdogSec"]) >= 3 * 60


def test_what_a_restart_would_not_mend_is_not_restarted(service: dict[str, str]) -> None:
    codes = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert codes == {BusyError.exit_code, ConfigError.exit_code} == {BusyError.exit_code, NewerStateError.exit_code}
    assert service["Restart"] == "on-failure"


def test_the_agent_says_what_launchd_needs(made: dict[str, Any], paths: Paths) -> None:
    assert made["ProgramArguments"] == [PYTHON, "-P", "-m", "memoryd", "run"]
    assert made["KeepAlive"] == {"SuccessfulExit": False}
    assert made["EnvironmentVariables"] == {"MEMORYD_SUPERVISOR": "launchd", "A": "b"}
    assert made["Umask"] == 0o077
    assert os.path.dirname(made["StandardErrorPath"]) == paths.state_dir


def test_files_are_private_in_both(service: dict[str, str]) -> None:
    assert (service["UMask"], service["LimitCORE"]) == ("0077", "0")


def test_each_line_that_can_hurt_says_whom() -> None:
    for name in (UNIT, AGENT):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            text = file.read()
        assert text.count("Hurts ") >= 2
    with open(os.path.join(FOLDER, "../../docs/service.md"), encoding="utf-8") as file:
        document = file.read()
    listed = re.findall(r"^\| `([A-Za-z]+)", document, re.MULTILINE)
    assert {"StartLimitIntervalSec", "WatchdogSec", "KillMode", "Nice", "OOMScoreAdjust", "NoNewPrivileges"} <= set(
        listed
    )


def test_every_setting_that_the_document_explains_is_in_the_unit(service: dict[str, str]) -> None:
    with open(os.path.join(FOLDER, "../../docs/service.md"), encoding="utf-8") as file:
        listed = re.findall(r"^\| `([A-Za-z]+)=(.+?)` \|", file.read(), re.MULTILINE)
    assert listed
    known = {**service, "StartLimitIntervalSec": "0"}
    assert dict(listed).items() <= known.items()


def test_every_field_of_its_status_is_in_the_contract() -> None:
    with open(os.path.join(FOLDER, "../../docs/json.md"), encoding="utf-8") as file:
        section = file.read().split("## `memoryd service status --json`")[1].split("\n## ")[0]
    state = State("systemd", "/unit", True, True, True, "active", 7, 0, "")
    printed = as_json(state, Failure(0.0, 78, "No.", "mend it"), Instance(7, 0.0))
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(printed)
    assert printed["since"] == "1970-01-01T00:00:00Z"
    assert (printed["failure"]["exit_code"], printed["by_hand"]) == (78, None)
    assert as_json(state, None, Instance(8, 0.0))["by_hand"] == 8


def test_the_files_are_those_of_the_repository() -> None:
    """Links, which a wheel holds the contents of."""
    for name, folder in ((UNIT, "systemd"), (AGENT, "launchd")):
        assert os.path.samefile(os.path.join(FOLDER, name), os.path.join(FOLDER, "../..", folder, name))


def test_only_what_decides_where_files_are_is_kept(paths: Paths) -> None:
    environment = {
        "HOME": paths.home,
        "PATH": "/usr/bin:.:relative:/opt/x/bin:/usr/bin::/odd\n",
        "XDG_CONFIG_HOME": "/c",
        "XDG_STATE_HOME": "relative, so it counts as unset",
        "XDG_DATA_HOME": "/d",
        "CLAUDE_CONFIG_DIR": "/claude",
        "CODEX_HOME": "/codex",
        "PYENV_ROOT": "/pyenv",
        "MEMORYD_CONFIG": "here.toml",
        "MEMORYD_DISABLE_DREAM": "secret",
        "MEMORYD_DISABLE_RECALL": "0",
        "ANTHROPIC_API_KEY": "secret",
        "HTTPS_PROXY": "http://user:secret@proxy",
        "LD_PRELOAD": "/x.so",
    }
    assert kept_variables(environment, paths_from(environment)) == {
        "PATH": "/usr/bin:/opt/x/bin",
        "XDG_CONFIG_HOME": "/c",
        "XDG_DATA_HOME": "/d",
        "CLAUDE_CONFIG_DIR": "/claude",
        "CODEX_HOME": "/codex",
        "MEMORYD_CONFIG": os.path.abspath("here.toml"),
        "MEMORYD_DISABLE_DREAM": "1",
    }


@pytest.mark.parametrize("path", ["/a\nExecStart=/evil", "/a\x7fb", "/a\udcffb"])
def test_a_path_that_would_break_the_unit_is_refused(path: str) -> None:
    with pytest.raises(ServiceError, match="cannot read this path"):
        unit_text(path, {})
    with pytest.raises(ServiceError, match="cannot read this path"):
        unit_text(PYTHON, {"XDG_STATE_HOME": path})


def test_ours_is_known_by_its_mark(paths: Paths) -> None:
    assert is_ours(unit_text(PYTHON, {}).encode())
    assert is_ours(agent(PYTHON, {}, paths))
    with open(os.path.join(FOLDER, UNIT), "rb") as file:
        assert not is_ours(file.read())  # copied by hand, it is the user's
    assert not is_ours(b"")


def test_a_file_is_written_whole_and_privately_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "new" / "folder" / "unit"
    write_own(str(place), b"one")
    write_own(str(place), b"two")
    assert read_own(str(place)) == b"two"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    folder = tmp_path / "taken"
    (folder / "unit").mkdir(parents=True)
    with pytest.raises(ServiceError, match="cannot be written"):
        write_own(str(folder / "unit"), b"x")
    assert os.listdir(folder) == ["unit"]


def test_without_a_manager_the_way_out_is_named(tmp_path: Path) -> None:
    here, gone = str(tmp_path), str(tmp_path / "gone")
    errors = [
        unreachable({}, gone, booted=False),
        unreachable({}, here, booted=True),
        unreachable({"XDG_RUNTIME_DIR": gone}, gone, booted=True),
    ]
    assert [error.fix.split(" ")[:3] for error in errors] == [
        ["memoryd", "run"],
        ["export", f"XDG_RUNTIME_DIR={here}"],
        ["sudo", "loginctl", "enable-linger"],
    ]


@pytest.mark.parametrize("action", ["install", "status", "restart", "remove"])
def test_where_there_is_no_manager_every_action_says_so(environment: dict[str, str], action: str) -> None:
    environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
    without = memoryd({**environment, "PATH": "/nowhere"}, "service", action)
    assert (without.returncode, without.stderr) == (1, "memoryd: There is no systemctl here.\n  fix: memoryd run\n")
    assert os.listdir(environment["HOME"]) == []


def test_with_a_broken_config_it_can_still_be_removed(environment: dict[str, str], paths: Paths) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write("nonsense = 1\n")
    environment["PATH"] = "/nowhere"
    for action in ("install", "restart"):
        assert memoryd(environment, "service", action).returncode == 78
    for action in ("status", "remove"):
        assert memoryd(environment, "service", action).returncode == 1
