"""memoryd as a service of a real `systemd --user`."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryd.paths import paths_from
from memoryd.service.units import unit_text
from tests.acceptance import manager as real
from tests.acceptance.command import Daemon, as_json, memoryd
from tests.acceptance.manager import Manager, eventually
from tests.acceptance.model import hire, memories, say
from tests.messages_server import Hang, MessagesServer
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths

QUICK = "[scan]\ninterval_seconds = 0.2\n[turns]\nquiet_seconds = 0.2\n"


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    real.available()
    made = Manager(tmp_path_factory.mktemp("systemd"))
    yield made
    made.stop()


@pytest.fixture
def user(manager: Manager, environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """A user of that manager, whose home is empty before and after. The service gets its turn also on a busy machine."""
    manager.drop_in()
    yield {**environment, **manager.environment}
    manager.systemctl("stop", "memoryd")
    for place in (manager.home, manager.runtime / "systemd" / "user"):
        shutil.rmtree(place, ignore_errors=True)
    manager.home.mkdir()
    manager.systemctl("daemon-reload")
    manager.systemctl("reset-failed")


@pytest.fixture
def home(user: dict[str, str]) -> Paths:
    return paths_from(user)


def configure(home: Paths, text: str) -> None:
    os.makedirs(os.path.dirname(home.config_file), exist_ok=True)
    Path(home.config_file).write_text(text)


def install(user: dict[str, str]) -> str:
    done = memoryd(user, "service", "install")
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def main_pid(manager: Manager) -> int:
    return int(manager.fact("MainPID"))


def everything(manager: Manager) -> set[str]:
    return {str(path.relative_to(manager.home)) for path in manager.home.rglob("*")}


def test_installed_it_is_ready_and_starts_at_login(user: dict[str, str], home: Paths, manager: Manager) -> None:
    said = install(user)
    assert "Wrote ~/.config/systemd/user/memoryd.service." in said
    assert "loginctl enable-linger" in said
    assert manager.fact("ActiveState") == "active"
    assert manager.fact("UnitFileState") == "enabled"
    assert manager.fact("StatusText")
    status = as_json(user, "service", "status")
    assert status["pid"] == main_pid(manager)
    assert status["since"]
    assert (status["installed"], status["enabled"], status["active"]) == (True, True, "active")
    assert as_json(user, "status")["running"]["pid"] == main_pid(manager)
    unit = Path(home.home, ".config/systemd/user/memoryd.service")
    assert unit.stat().st_mode & 0o777 == 0o600


def test_what_it_hears_of_in_the_service_becomes_a_memory(user: dict[str, str], home: Paths, manager: Manager) -> None:
    configure(home, QUICK)
    install(user)
    session = Session()
    write(home.transcripts_root, session, session.turn("never push to main without asking"))
    eventually(lambda: "MEMORY.md" in memories(home))
    assert manager.fact("ActiveState") == "active"


def test_installed_again_it_runs_the_new_program(user: dict[str, str], manager: Manager) -> None:
    install(user)
    first = main_pid(manager)
    assert "Rewrote" in install(user)
    assert main_pid(manager) != first
    assert manager.fact("NRestarts") == "0"


def test_the_variables_that_decide_where_files_are_go_along(
    user: dict[str, str], manager: Manager, tmp_path: Path
) -> None:
    secret = "sk-ant-not-in-a-unit"  # noqa: S105 - an example
    elsewhere = tmp_path / 'a "state" of $HOME, 100%'
    user |= {"XDG_STATE_HOME": str(elsewhere), "ANTHROPIC_API_KEY": secret, "MEMORYD_DISABLE_DREAM": "yes"}
    user["XDG_CONFIG_HOME"] = str(tmp_path / "of the shell alone")  # the manager reads units elsewhere
    said = install(user)
    assert "MEMORYD_DISABLE_DREAM, PATH, XDG_CONFIG_HOME, XDG_STATE_HOME" in said
    assert (elsewhere / "memoryd" / "memoryd.sqlite3").exists()
    assert secret not in Path(user["HOME"], ".config/systemd/user/memoryd.service").read_text()
    environment = Path(f"/proc/{main_pid(manager)}/environ").read_text()
    assert "MEMORYD_DISABLE_DREAM=1\0" in environment
    assert f"PATH={user['PATH']}\0" in environment


def test_it_lives_past_its_watchdog_and_is_replaced_when_it_hangs(user: dict[str, str], manager: Manager) -> None:
    manager.drop_in("WatchdogSec=6", "RestartSec=100ms")
    install(user)
    first = main_pid(manager)
    seen: list[str] = []

    def signs_of_life() -> int:
        seen.append(manager.fact("WatchdogTimestampMonotonic"))
        return len(set(seen))

    eventually(lambda: signs_of_life() > 4)  # which takes longer than the watchdog waits
    assert main_pid(manager) == first
    os.kill(first, signal.SIGSTOP)
    eventually(lambda: main_pid(manager) not in (0, first) and manager.fact("ActiveState") == "active")
    assert not os.path.exists(f"/proc/{first}")
    assert manager.fact("NRestarts") == "1"


def test_killed_it_is_started_again(user: dict[str, str], manager: Manager) -> None:
    manager.drop_in("RestartSec=100ms")
    install(user)
    first = main_pid(manager)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: main_pid(manager) not in (0, first) and manager.fact("ActiveState") == "active")
    assert as_json(user, "service", "status")["restarts"] == 1
    assert as_json(user, "status")["running"]["pid"] == main_pid(manager)


def test_a_config_that_cannot_be_used_is_refused_before_anything_is_written(
    user: dict[str, str], home: Paths, manager: Manager
) -> None:
    configure(home, "[scan]\nintervall = 3\n")
    done = memoryd(user, "service", "install")
    assert done.returncode == 78
    assert "line 2" in done.stderr
    assert not any("systemd" in name for name in everything(manager))


def test_with_a_config_that_cannot_be_used_it_stays_down_and_says_why(
    user: dict[str, str], home: Paths, manager: Manager
) -> None:
    manager.drop_in("RestartSec=100ms")
    install(user)
    configure(home, "[scan]\nintervall = 3\n")
    done = memoryd(user, "service", "restart")
    assert done.returncode == 78
    assert f"fix: ${{EDITOR:-vi}} +2 {home.config_file}" in done.stderr
    assert manager.fact("ActiveState") == "active"  # it goes on with the settings from before
    manager.systemctl("kill", "--signal=KILL", "memoryd")
    eventually(lambda: manager.fact("ActiveState") == "failed")
    assert (manager.fact("ExecMainStatus"), manager.fact("NRestarts")) == ("78", "1")
    assert "line 2: there is no key `scan.intervall`" in manager.systemctl("status", "memoryd")
    status = as_json(user, "service", "status")
    assert (status["active"], status["failure"]["exit_code"]) == ("failed", 78)
    assert "line 2" in status["failure"]["sentence"]
    told = memoryd(user, "status")
    assert "line 2" in told.stdout + told.stderr
    shown = memoryd(user, "service", "status")
    assert shown.returncode == 3
    assert f"fix: ${{EDITOR:-vi}} +2 {home.config_file}" in shown.stdout
    configure(home, "")
    assert memoryd(user, "service", "restart").returncode == 0
    assert as_json(user, "service", "status")["failure"] is None


def test_beside_a_memoryd_by_hand_it_is_not_installed(user: dict[str, str], manager: Manager) -> None:
    with Daemon(user) as daemon:
        daemon.says("nothing there yet")
        done = memoryd(user, "service", "install")
        assert done.returncode == 75
        assert f"process {daemon.process.pid}" in done.stderr
        assert not any("systemd" in name for name in everything(manager))
        assert as_json(user, "service", "status")["by_hand"] == daemon.process.pid


def test_stopped_while_a_model_answers_it_ends_in_time_and_whole(
    user: dict[str, str], home: Paths, manager: Manager
) -> None:
    gate = threading.Event()
    with MessagesServer(lambda _: Hang(gate)) as server:
        hire(home, server, more=QUICK)
        install(user)
        say(home, Session(), "never push to main without asking")
        eventually(lambda: server.requests)
        assert len(manager.processes()) > 1
        manager.systemctl("stop", "memoryd")
        gate.set()
    assert manager.fact("Result") == "success"  # `timeout` if it had to be killed
    assert manager.processes() == []
    assert memories(home) == {}
    status = as_json(user, "status")
    assert status["working"] == []
    assert status["turns"]["waiting"] == 1


def test_removed_it_leaves_nothing_but_what_it_knows(user: dict[str, str], home: Paths, manager: Manager) -> None:
    configure(home, QUICK)
    before = everything(manager) | {".config/systemd", ".config/systemd/user"}
    install(user)
    session = Session()
    write(home.transcripts_root, session, session.turn("never push to main without asking"))
    eventually(lambda: "MEMORY.md" in memories(home))
    kept = memories(home)
    done = memoryd(user, "service", "remove")
    assert done.returncode == 0
    assert "its state in ~/.local/state/memoryd" in done.stderr
    assert memories(home) == kept
    left = {name for name in everything(manager) - before if not name.startswith((".claude", ".local/state/memoryd"))}
    assert left <= {".config/systemd/user/default.target.wants", ".local", ".local/state"}
    assert not list(Path(home.home, ".config/systemd/user").rglob("memoryd*"))
    assert manager.fact("LoadState") == "not-found"
    assert manager.processes() == []
    again = memoryd(user, "service", "remove")
    assert (again.returncode, again.stdout) == (0, "There was no service.\n")
    assert memoryd(user, "service", "status").returncode == 3


def test_a_unit_of_somebody_else_is_left_alone(user: dict[str, str], home: Paths) -> None:
    unit = Path(home.home, ".config/systemd/user/memoryd.service")
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/sleep 1\n")
    for action in ("install", "remove"):
        done = memoryd(user, "service", action)
        assert done.returncode == 1
        assert f"fix: memoryd service {action} --force" in done.stderr
    assert unit.read_text() == "[Service]\nExecStart=/bin/sleep 1\n"
    assert memoryd(user, "service", "install", "--force").returncode == 0
    assert "memoryd run" in unit.read_text()


def test_a_symlink_in_the_place_of_the_unit_is_not_followed(user: dict[str, str], home: Paths) -> None:
    unit = Path(home.home, ".config/systemd/user/memoryd.service")
    unit.parent.mkdir(parents=True)
    precious = Path(home.home, "precious")
    precious.write_text("keep me")
    unit.symlink_to(precious)
    assert memoryd(user, "service", "install").returncode == 1
    assert memoryd(user, "service", "install", "--force").returncode == 0
    assert precious.read_text() == "keep me"
    assert not unit.is_symlink()


def test_a_unit_whose_python_is_gone_is_mended_by_installing(
    user: dict[str, str], home: Paths, manager: Manager
) -> None:
    """As after an upgrade of Python, or a moved installation."""
    install(user)
    unit = Path(home.home, ".config/systemd/user/memoryd.service")
    unit.write_text(unit.read_text().replace("ExecStart=", 'ExecStart="/gone/python" '))
    manager.systemctl("daemon-reload")
    done = memoryd(user, "service", "restart")
    assert done.returncode == 1
    assert "`memoryd service install` mends that" in done.stderr
    manager.systemctl("stop", "memoryd")
    install(user)
    assert manager.fact("ActiveState") == "active"


NAMES = st.text(
    st.sampled_from("ab \"'\\$%{}@:;#=~-+!&*?|<>()[]`,.")
    | st.characters(codec="utf-8", categories=("L", "N", "S", "P", "Zs"), exclude_characters="/"),
    min_size=1,
    max_size=12,
).filter(lambda name: name not in (".", ".."))


@settings(max_examples=8)
@given(names=st.lists(NAMES, min_size=1, max_size=12))
@example(names=["$$", "a${HOME}b", "%h %%", '"', "\\", "'", " ", "~", "a=b", "#", ";", "\\x41", "\u00a0", "$HOME"])
def test_every_path_reaches_the_program_as_it_is(
    manager: Manager, tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    """The real systemd reads what was written: a program of that path is started, and says what it got."""
    place = tmp_path_factory.mktemp("paths")
    units = manager.runtime / "systemd" / "user"
    units.mkdir(parents=True, exist_ok=True)
    started = []
    for number, name in enumerate(names):
        program = place / str(number) / name / "python"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\nprintf "%s" "$0 $* $VALUE" > "$OUT"\n')
        program.chmod(0o700)
        out = place / str(number) / "out"
        text = unit_text(str(program), {"VALUE": name, "OUT": str(out)})
        (units / f"path-{number}.service").write_text(text.replace("Type=notify", "Type=oneshot"))
        started.append((f"path-{number}", out, f"{program} -P -m memoryd run {name}"))
    manager.systemctl("daemon-reload")
    manager.systemctl("start", *(unit for unit, _, _ in started))
    assert [out.read_text() if out.exists() else unit for unit, out, _ in started] == [said for _, _, said in started]
    manager.systemctl("stop", *(unit for unit, _, _ in started))


def test_setup_starts_it_once_and_uninstall_takes_it_away(user: dict[str, str], home: Paths, manager: Manager) -> None:
    before = everything(manager)
    done = memoryd(user, "setup", "--yes")
    assert (done.returncode, "It runs (process " in done.stdout) == (0, True), done.stdout + done.stderr
    pid = main_pid(manager)
    assert as_json(user, "setup", "--show")["service"] == as_json(user, "service", "status")["file"]
    again = memoryd(user, "setup", "--yes")
    assert f"It runs already (process {pid})." in again.stdout
    assert main_pid(manager) == pid
    assert memoryd(user, "uninstall", "--yes").returncode == 0
    assert main_pid(manager) == 0
    assert everything(manager) == before
    assert not os.path.exists(home.state_dir)
