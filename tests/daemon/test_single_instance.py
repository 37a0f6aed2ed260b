"""One daemon per user."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from memoryd.daemon.single_instance import Instance, Trouble, only_instance, running_instance
from memoryd.errors import BusyError, StateError

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths


def test_the_second_one_is_told_who_runs(paths: Paths) -> None:
    with (
        only_instance(paths, since=5.0),
        pytest.raises(BusyError, match=f"process {os.getpid()}"),
        only_instance(paths, 6.0),
    ):
        pass


def test_who_runs_and_since_when(paths: Paths) -> None:
    assert running_instance(paths) is None
    with only_instance(paths, since=5.0):
        assert running_instance(paths) == Instance(os.getpid(), 5.0)
    assert running_instance(paths) is None


def test_a_lock_file_that_was_deleted_is_taken_anew(paths: Paths) -> None:
    trouble = Trouble("polling_only", "It is slow.")
    with only_instance(paths, since=5.0) as held:
        held.write_state("polling", [trouble])
        assert not held.keep()
        os.remove(paths.daemon_lock)
        assert running_instance(paths) is None
        assert held.keep()
        assert running_instance(paths) == Instance(os.getpid(), 5.0, "polling", (trouble,))
        with pytest.raises(BusyError, match=f"process {os.getpid()}"), only_instance(paths, 6.0):
            pass
    assert running_instance(paths) is None


def test_whoever_took_a_deleted_lock_first_keeps_it(paths: Paths) -> None:
    with only_instance(paths, since=5.0) as held:
        os.remove(paths.daemon_lock)
        with only_instance(paths, since=6.0), pytest.raises(BusyError, match="already running"):
            held.keep()


def test_asking_does_not_keep_a_daemon_from_starting(paths: Paths) -> None:
    """Whoever asks holds the lock for an instant."""
    with only_instance(paths, since=1.0):
        pass
    asked = threading.Event()
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            running_instance(paths)
            asked.set()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    asked.wait()
    try:
        for _ in range(100):
            with only_instance(paths, since=1.0):
                pass
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_kill_minus_nine_leaves_no_lock(paths: Paths, environment: dict[str, str]) -> None:
    code = (
        "import os, signal\nfrom memoryd.daemon.single_instance import only_instance\nfrom memoryd.paths import paths_from\n"
        "with only_instance(paths_from(os.environ), 1.0): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == -9
    assert os.path.exists(paths.daemon_lock)
    assert running_instance(paths) is None
    with only_instance(paths, since=5.0):
        pass


def test_a_symlink_in_the_place_of_the_lock_is_not_followed(paths: Paths, tmp_path: Path) -> None:
    os.makedirs(paths.state_dir)
    (tmp_path / "precious").write_text("keep me")
    os.symlink(tmp_path / "precious", paths.daemon_lock)
    with pytest.raises(StateError), only_instance(paths, since=5.0):
        pass
    assert (tmp_path / "precious").read_text() == "keep me"
