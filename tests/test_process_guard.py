"""The process below its guard: it ends when it is told to, and with whoever wanted it, and leaves nobody behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd import process_guard as guard
from memoryd.engines.model.claude.process import GuardedProcess
from tests.acceptance.manager import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

# A parent with a child that nobody can ask to end, which say who they are.
STUBBORN = """
import os, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), child.pid, flush=True)
while True:
    signal.pause()
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def started(tmp_path: Path, code: str) -> GuardedProcess:
    return GuardedProcess([sys.executable, "-I", "-S", "-c", code], os.environ, str(tmp_path), str(tmp_path / "errors"))


def read_line(process: GuardedProcess) -> str:
    os.set_blocking(process.stdout, True)
    data = b""
    while not data.endswith(b"\n"):
        piece = os.read(process.stdout, 1000)
        if not piece:
            break
        data += piece
    return data.decode()


@pytest.fixture
def stubborn(tmp_path: Path) -> Iterator[tuple[GuardedProcess, list[int]]]:
    process = started(tmp_path, STUBBORN)
    yield process, [int(pid) for pid in read_line(process).split()]
    process.end()


def test_the_end_of_the_command_is_the_end_of_the_guard(tmp_path: Path) -> None:
    process = started(tmp_path, "import sys; sys.stderr.write('so   it\\nwas'); sys.exit(7)")
    assert process.wait_for_code() == 7
    assert process.said() == "so it was"
    process.end()


def test_a_command_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    process = GuardedProcess([str(tmp_path / "gone")], os.environ, str(tmp_path), str(tmp_path / "errors"))
    assert process.wait_for_code() == guard.NOT_STARTED
    assert "No such file" in process.said()
    process.end()


def test_it_runs_with_less_priority_and_in_a_group_of_its_own(tmp_path: Path) -> None:
    process = started(tmp_path, "import os; print(os.nice(0), os.getpgrp(), flush=True)")
    niceness, group = map(int, read_line(process).split())
    assert niceness >= min(19, os.nice(0) + guard.NICENESS)
    assert group != os.getpgrp()
    process.end()


def test_who_does_not_want_to_end_is_killed_with_all_its_children(stubborn: tuple[GuardedProcess, list[int]]) -> None:
    process, pids = stubborn
    assert all(map(is_alive, pids))
    process.end()
    eventually(lambda: not any(map(is_alive, pids)))


VICTIM = """
import os, sys
sys.path.insert(0, {root!r})
from memoryd.engines.model.claude.process import GuardedProcess
process = GuardedProcess([sys.executable, "-I", "-S", "-c", {code!r}], os.environ, {cwd!r}, {errors!r})
os.set_blocking(process.stdout, True)
print(os.read(process.stdout, 1000).decode(), flush=True)
import signal
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_does_not_outlive_the_job(tmp_path: Path, number: signal.Signals) -> None:
    root = str(Path(guard.__file__).parents[1])
    code = VICTIM.format(root=root, code=STUBBORN, cwd=str(tmp_path), errors=str(tmp_path / "errors"))
    victim = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    pids = [int(pid) for pid in victim.stdout.readline().split()]
    victim.send_signal(number)
    victim.wait()
    victim.stdout.close()
    eventually(lambda: not any(map(is_alive, pids)))


def test_a_guard_that_is_killed_leaves_its_group_to_the_job(stubborn: tuple[GuardedProcess, list[int]]) -> None:
    process, pids = stubborn
    guard_pid = int(Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard_pid, signal.SIGKILL)
    assert process.wait_for_code() == -signal.SIGKILL
    process.end()
    eventually(lambda: not any(map(is_alive, pids)))
