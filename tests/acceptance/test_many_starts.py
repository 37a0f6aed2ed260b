"""`memoryd run` started a hundred times at once, and begun and ended a thousand times: one lives, nothing is left."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import cycle, islice, product
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from memoryd.daemon.single_instance import only_instance, running_instance
from tests.acceptance.command import PATIENCE_SECONDS, Daemon, as_json
from tests.acceptance.manager import eventually
from tests.transcript import Session, id_of, write

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.torture.campaign import Campaign

MANY_SECONDS = 180


@pytest.fixture
def quick(environment: dict[str, str], paths: Paths, tmp_path: Path) -> dict[str, str]:
    """The environment of a daemon that waits for no silence, and has all its places below one directory."""
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text("[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0\n")
    places = {"TMPDIR": str(tmp_path / "tmp"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    for place in places.values():
        os.mkdir(place, 0o700)
    return environment | places


# --- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.torture
def test_of_many_started_at_once_one_lives_and_the_others_name_it(
    quick: dict[str, str], paths: Paths, torture: bool
) -> None:
    with Daemon(quick, is_new=True) as killed:
        killed.says("watches")
    # Now the lock file names a process that is no more, and nobody may take it for the one that lives.
    started = [
        subprocess.Popen([sys.executable, "-m", "memoryd", "run"], env=quick, stderr=subprocess.PIPE, text=True)
        for _ in range(40 if torture else 6)
    ]
    with ThreadPoolExecutor(len(started)) as pool:
        ends = {pool.submit(process.communicate): process for process in started}
        try:
            gave_way = {
                ends[end]: end.result()[1] for end in islice(as_completed(ends, MANY_SECONDS), len(started) - 1)
            }
            (alive,) = set(started) - set(gave_way)
            words = f"memoryd: memoryd is already running (process {alive.pid}).\n  fix: memoryd status\n"
            assert {(process.returncode, said) for process, said in gave_way.items()} == {(75, words)}
            running = running_instance(paths)
            assert running
            assert running.pid == alive.pid
            alive.terminate()
            assert alive.wait(PATIENCE_SECONDS) == 0
        finally:
            for process in started:
                process.kill()


# --- again and again --------------------------------------------------------------------------------------------------


class User:
    """Has something to say for every daemon, and looks at what it leaves."""

    def __init__(self, environment: dict[str, str], paths: Paths, place: Path) -> None:
        self._environment = environment
        self._paths = paths
        self._place = place
        self._session = Session()
        self._transcript = write(paths.transcripts_root, self._session, b"")
        self.said: list[str] = []

    def say(self) -> None:
        turn = self._session.turn()
        self.said.append(id_of(turn))
        with self._transcript.open("ab") as file:
            file.write(turn)

    def see_one_well(self, number: int) -> None:
        """Run a daemon until it has read what was said, then end it."""
        self.say()
        with Daemon(self._environment, is_new=True) as daemon:
            daemon.says("read, nothing to keep")
            assert self._end(daemon, number) == (-number if number == signal.SIGKILL else 0)
        assert "Traceback" not in daemon.said

    def cut_one_short(self, number: int, behind: str, seconds: float) -> None:
        """Run a daemon and end it, wherever it is so long after it has said this; nothing stands for its very start."""
        self.say()
        with Daemon(self._environment, is_new=True) as daemon:
            if behind:
                daemon.says(behind)
            threading.Event().wait(seconds)
            code = self._end(daemon, number)
        was_python_itself = code == 1 and number == signal.SIGINT and "KeyboardInterrupt" in daemon.said
        assert code in (0, 130, -number) or was_python_itself, daemon.said

    def _end(self, daemon: Daemon, number: int) -> int:
        """End it and see that its lock is free at once and that no process is left; returns its exit code."""
        daemon.process.send_signal(number)
        until = time.monotonic() + PATIENCE_SECONDS
        while daemon.process.poll() is None:
            # Before memoryd has a say, Python loses a Ctrl-C that meets it at a certain line of an import, and tells so.
            if number == signal.SIGINT and "Exception ignored in: <function _get_module_lock" in daemon.said:
                daemon.process.send_signal(number)
                break
            assert time.monotonic() < until, daemon.said
            threading.Event().wait(0.01)
        code = daemon.process.wait(PATIENCE_SECONDS)
        left = self._processes()
        with only_instance(self._paths, since=0.0):
            pass
        assert number == signal.SIGKILL or not left
        psutil.wait_procs(left, PATIENCE_SECONDS)  # a killed daemon's child ends what it is at
        assert self._processes() == []
        return code

    def _processes(self) -> list[psutil.Process]:
        """Every process in this home, however it came to be."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.pid != os.getpid() and process.environ().get("HOME") == self._environment["HOME"]:
                    found.append(process)
            except psutil.Error:
                continue  # it has ended, or is somebody else's
        return found

    def files(self) -> set[str]:
        return {str(path.relative_to(self._place)) for path in self._place.rglob("*")}

    def read(self) -> list[str]:
        """What was worked on, each as often as it was."""
        connection = sqlite3.connect(f"file:{self._paths.database}?mode=ro", uri=True)
        try:
            return [row[0] for row in connection.execute("SELECT prompt_id FROM turns WHERE outcome IS NOT NULL")]
        finally:
            connection.close()


@pytest.mark.torture
def test_begun_and_ended_again_and_again_it_leaves_nothing_and_loses_nothing(
    quick: dict[str, str], paths: Paths, tmp_path: Path, torture: bool, campaign: Campaign
) -> None:
    chance = campaign.random
    user = User(quick, paths, tmp_path)
    with Daemon(quick) as daemon:
        daemon.says("Found 1 session")  # and nothing in it: all that is said from here on is new
        daemon.stop(signal.SIGTERM)
    user.see_one_well(signal.SIGTERM)
    files = user.files()
    lives = product(("well", "early", "working"), (signal.SIGTERM, signal.SIGINT, signal.SIGKILL))
    for life, number in campaign.in_time(islice(cycle(lives), 1000 if torture else 9)):
        match life:
            case "early":  # before the first import, before the lock, in the first look
                user.cut_one_short(number, "", chance.random() * 0.8)
            case "working":
                user.cut_one_short(number, " ended, read", chance.random() * 0.4)
            case _:
                user.see_one_well(number)
                assert number == signal.SIGKILL or user.files() == files
    user.see_one_well(signal.SIGTERM)
    assert user.files() == files
    assert sorted(user.read()) == sorted(user.said)
    assert as_json(quick, "status")["problems"] == []


@pytest.mark.torture
def test_a_daemon_that_had_many_children_keeps_nothing_of_them(
    quick: dict[str, str], paths: Paths, torture: bool
) -> None:
    with Daemon(quick) as daemon:
        process = psutil.Process(daemon.process.pid)

        def have_read(name: int) -> None:
            session = Session(name)
            write(paths.transcripts_root, session, session.turn())
            daemon.says(f"{session.id[:8]}: read, nothing to keep")
            eventually(lambda: not process.children())  # nor one that has ended and was never asked how

        daemon.says("nothing there yet")
        have_read(0)
        descriptors, threads = process.num_fds(), process.num_threads()
        for number in range(1, 60 if torture else 4):
            have_read(number)
        eventually(lambda: process.num_fds() <= descriptors and process.num_threads() <= threads)
