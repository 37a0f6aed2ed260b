"""A real `systemd --user` with a home of its own, for the tests of the service."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SYSTEMD = "/usr/lib/systemd/systemd"
PATIENCE_SECONDS = 180
LOOK_SECONDS = 0.05
_START = 'for group in "$@"; do echo $$ > "$group/cgroup.procs"; done; exec "$0" --user --unit=basic.target'


class Manager:
    """Lives in control groups of its own: it takes every process in its group for its own, and moves it about."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.runtime = place / "run"
        self.home.mkdir()
        self.runtime.mkdir(mode=0o700)
        self._groups = [group / f"memoryd-test-{os.getpid()}" for group in _own_groups()]
        for group in self._groups:
            group.mkdir()
        self.environment = {
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "PATH": f"{os.path.dirname(sys.executable)}:/usr/local/bin:/usr/bin:/bin",
        }
        with (place / "systemd.log").open("wb") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _START, SYSTEMD, *map(str, self._groups)],
                env={**self.environment, "SYSTEMD_LOG_TARGET": "console"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            eventually(lambda: self.systemctl("is-system-running").strip() in ("running", "degraded"))
        except AssertionError as error:
            self.stop()
            raise AssertionError((place / "systemd.log").read_text()) from error

    def systemctl(self, *arguments: str) -> str:
        done = subprocess.run(
            ["systemctl", "--user", "--no-pager", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        return done.stdout

    def fact(self, name: str, unit: str = "memoryd") -> str:
        return self.systemctl("show", unit, f"--property={name}", "--value").strip()

    def drop_in(self, *lines: str) -> None:
        """Lines of our own for [Service], as `systemctl --user edit --runtime` writes them.

        Tests of other things run beside this one, and the service is not to wait behind them all.
        """
        folder = self.runtime / "systemd" / "user" / "memoryd.service.d"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "test.conf").write_text("\n".join(("[Service]", "Nice=0", "CPUWeight=100", *lines, "")))
        self.systemctl("daemon-reload")

    def processes(self, unit: str = "memoryd") -> list[int]:
        """Everything that runs in a unit."""
        return [pid for group in self._groups for pid in _processes(group / "app.slice" / f"{unit}.service")]

    def stop(self) -> None:
        """End it, and all that it has started."""
        self.systemctl("exit")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for group in self._groups:
            for pid in _processes(group):
                os.kill(pid, signal.SIGKILL)
        for group in self._groups:
            eventually(lambda group=group: not _processes(group))  # type: ignore[misc]
            for folder, _, _ in os.walk(group, topdown=False):
                os.rmdir(folder)


def available() -> None:
    """Skip the test where there is no systemd to test with; in CI that is a failure."""
    why = ""
    if not os.path.exists(SYSTEMD):
        why = f"there is no {SYSTEMD}; fix: apt-get install systemd"
    elif not _own_groups() or not all(os.access(group, os.W_OK) for group in _own_groups()):
        why = "a manager needs control groups of its own; fix: run as root"
    elif not os.path.isdir("/run/systemd/system"):
        os.makedirs("/run/systemd/system")  # without it, systemctl does not even look for a manager
    if why and os.environ.get("CI"):
        pytest.fail(why)
    if why:
        pytest.skip(why)


def eventually(is_so: Callable[[], object]) -> None:
    """Wait for something that nobody reports."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until, "it never came"
        time.sleep(LOOK_SECONDS)


def _own_groups() -> list[Path]:
    """The folders of this process in the hierarchies that systemd keeps its services in."""
    mounts = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        name = "" if kind == "cgroup2" else "name=systemd" if "name=systemd" in options.split(",") else None
        if name is not None:
            mounts[name] = Path(before.split(" ")[4])
    found = re.findall(r"^\d+:(name=systemd|):(.+)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    return [mounts[name] / path.lstrip("/") for name, path in found if name in mounts]


def _processes(group: Path) -> list[int]:
    return [int(pid) for file in group.rglob("cgroup.procs") for pid in file.read_text().split()]
