"""Stopping `memoryd run`: the first signal asks, the second insists, and no process is left in either case."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.acceptance.command import PATIENCE_SECONDS, Daemon, as_json, memoryd
from tests.acceptance.manager import eventually
from tests.acceptance.model import hire, memories, say
from tests.keeping_model import keeping_model
from tests.messages_server import Hang, MessagesServer, Trickle
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from tests.messages_server import Answer, Request

QUICK = "[scan]\ninterval_seconds = 0.5\nsettle_seconds = 0.1\n[turns]\nquiet_seconds = 0\n"
INTERRUPTED = 130


class Model:
    """Answers slowly: its first word comes when the gate opens, or never."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.never = False
        self.server = MessagesServer(self._answer)

    def _answer(self, request: Request) -> Answer:
        return Hang(self.gate) if self.never else Trickle(keeping_model(request), self.gate)


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    with model.server:
        yield model
        model.gate.set()


@pytest.fixture
def quick(environment: dict[str, str], paths: Paths) -> dict[str, str]:
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text(QUICK)
    return environment


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE  # for its heir to bury


def children(daemon: Daemon) -> list[psutil.Process]:
    return psutil.Process(daemon.process.pid).children(recursive=True)


def asked(daemon: Daemon, paths: Paths, model: Model, session: Session) -> psutil.Process:
    """Say something to keep, wait until the model is asked, and return the process that asks."""
    daemon.says("Found 1 session")
    say(paths, session, "well. keep nonce-00000001 is blue.")
    eventually(lambda: model.server.requests)
    (worker,) = children(daemon)
    return worker


def with_model(paths: Paths, model: Model) -> Session:
    """A session that memoryd knows already, and the model."""
    hire(paths, model.server, more=QUICK)
    session = Session()
    say(paths, session, "let us begin")
    return session


def test_the_first_signal_lets_the_job_that_runs_finish(
    environment: dict[str, str], paths: Paths, model: Model
) -> None:
    session = with_model(paths, model)
    with Daemon(environment) as daemon:
        worker = asked(daemon, paths, model, session)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.says("Waiting for the job that runs, 30 s at most")
        assert worker.is_running()
        model.gate.set()
        assert daemon.process.wait(PATIENCE_SECONDS) == 0
        daemon.says("Stopped.")
        assert is_gone(worker)
    assert "project_nonce_00000001.md" in memories(paths)
    status = as_json(environment, "status")
    assert (status["running"], status["turns"]["waiting"], status["working"]) == (None, 0, [])


def test_the_second_signal_ends_it_now_and_nothing_is_lost(
    environment: dict[str, str], paths: Paths, model: Model
) -> None:
    """Whoever is impatient presses more than twice."""
    session = with_model(paths, model)
    model.never = True
    with Daemon(environment) as daemon:
        worker = asked(daemon, paths, model, session)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.says("Waiting for the job that runs")
        daemon.process.send_signal(signal.SIGINT)
        assert daemon.stop(signal.SIGINT) == INTERRUPTED
        assert is_gone(worker)
        assert "Traceback" not in daemon.said
    model.never = False
    model.gate.set()
    with Daemon(environment) as daemon:  # which goes on where that one was
        daemon.says("project_nonce_00000001.md")


def test_a_worker_that_is_killed_is_told_and_the_daemon_lives(
    environment: dict[str, str], paths: Paths, model: Model
) -> None:
    session = with_model(paths, model)
    model.never = True
    with Daemon(environment) as daemon:
        asked(daemon, paths, model, session).kill()
        daemon.says("The worker ended with code -9")
        assert children(daemon) == []  # no zombie either
        assert daemon.stop(signal.SIGTERM) == 0


def test_a_storm_of_signals_that_mean_nothing_disturbs_nothing(quick: dict[str, str], paths: Paths) -> None:
    """Each wakes it once at most, and the end of a child is not lost among them."""
    session = Session()
    write(paths.transcripts_root, session, b"")
    with Daemon(quick) as daemon:
        daemon.says("Found 1 session")
        for number in range(2000):
            daemon.process.send_signal(signal.SIGCHLD)
            if number == 1000:
                write(paths.transcripts_root, session, session.turn("from now on, use tabs"))
        daemon.says("feedback_use_tabs.md")
        eventually(lambda: not children(daemon))
        assert daemon.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize("signals", [1, 2])
def test_it_can_be_stopped_while_it_reads_for_the_first_time_and_the_next_one_goes_on(
    quick: dict[str, str], paths: Paths, signals: int
) -> None:
    for number in range(1500):
        session = Session(number)
        write(paths.transcripts_root, session, session.turn(), folder=f"-code-{number % 10}")
    with Daemon(quick) as daemon:
        daemon.says("watches ~/.claude/projects")
        for _ in range(signals - 1):
            daemon.process.send_signal(signal.SIGTERM)
        assert daemon.stop(signal.SIGTERM) in ({0} if signals == 1 else {0, INTERRUPTED})
        assert "Traceback" not in daemon.said
    assert memoryd(quick, "extract-now").returncode == 0
    assert as_json(quick, "status")["turns"]["history"] == 1500
