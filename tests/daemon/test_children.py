"""The daemon's children, as real processes: who is begun, how one that ends is noticed, and that none is left."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
import structlog

from memoryd.clients.registry import ALL
from memoryd.clock import SystemClock, elapsed
from memoryd.config import Config, Turns
from memoryd.daemon.children import REST_SECONDS, Children
from memoryd.jobs.extract import only_worker
from memoryd.jobs.ingest import Ingester
from memoryd.recall.index import up_to_date_index
from memoryd.recall.store import open_store
from memoryd.state import jobs
from tests.recall.memories import Library
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from memoryd.state.database import Database

PATIENCE_SECONDS = 180.0


class Team:
    """A children, and a turn that waits for it."""

    def __init__(self, database: Database, paths: Paths, environment: dict[str, str]) -> None:
        self.database = database
        self.config = Config(turns=Turns(quiet_seconds=0))
        os.makedirs(os.path.dirname(paths.config_file))
        Path(paths.config_file).write_text("[turns]\nquiet_seconds = 0\n")  # for the child
        self.now = SystemClock().now()  # which the child lives by
        self.said: list[str] = []
        self._others = psutil.Process().children()
        self.children = Children(paths, self.said.append, structlog.get_logger(), environment)
        os.makedirs(paths.transcripts_root)
        ingester = Ingester(ALL, database, paths, self.config)
        ingester.ingest(self.now - 60)
        session = Session()
        write(paths.transcripts_root, session, session.turn())
        ingester.ingest(self.now - 30)

    def extract(self, later: float = 0) -> psutil.Process | None:
        """The child that was begun, if one was."""
        before = self.processes()
        self.children.extract(self.database, self.config, self.now + later)
        return next((child for child in self.processes() if child not in before), None)

    def processes(self) -> list[psutil.Process]:
        """Processes of the children: other tests of this process may have some of their own."""
        return [child for child in psutil.Process().children() if child not in self._others]

    def handle_ended(self) -> list[str]:
        """What is reported of children that ended."""
        self.said.clear()
        self.children.handle_ended(self.database, self.now)
        return self.said


@pytest.fixture
def team(database: Database, paths: Paths, environment: dict[str, str]) -> Iterator[Team]:
    team = Team(database, paths, environment)
    with structlog.testing.capture_logs():
        yield team
    team.children.stop(0)


def end(child: psutil.Process) -> None:
    """End it, and wait without hearing how: that is for the children."""
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def begun(child: psutil.Process | None) -> psutil.Process:
    assert child is not None
    return child


def test_a_worker_does_what_is_due_and_its_end_is_no_news(team: Team) -> None:
    child = begun(team.extract())
    assert team.children.is_at_work
    assert team.extract() is None
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert team.handle_ended() == []
    assert not team.children.is_at_work
    assert team.extract() is None  # nothing is due any more
    assert team.children.rest_until == 0


def test_one_that_is_killed_is_told_and_another_comes_after_a_rest(team: Team) -> None:
    end(begun(team.extract()))
    assert team.handle_ended() == ["The worker ended with code -9; it is tried again in 30 s."]
    assert team.extract(REST_SECONDS - 1) is None
    assert team.extract(REST_SECONDS) is not None


def test_a_clock_that_is_set_back_does_not_make_the_rest_longer(team: Team) -> None:
    end(begun(team.extract()))
    team.handle_ended()
    assert team.extract(-10) is not None


def test_one_that_dies_is_told_though_the_next_one_is_due_already(team: Team) -> None:
    """It may die between the moment when the dead are looked for and the one when the next is begun."""
    child = begun(team.extract())
    assert team.handle_ended() == []
    end(child)
    assert team.extract() is None
    assert not team.children.start_upkeep()
    assert team.handle_ended() == ["The worker ended with code -9; it is tried again in 30 s."]


def test_a_worker_that_gives_way_is_not_begun_again_at_once(team: Team, paths: Paths) -> None:
    """Somebody else works there: it would be begun as often as the daemon looks."""
    memory_dir = os.path.join(paths.transcripts_root, "-code-acme", "memory")
    with only_worker(paths, memory_dir):
        child = begun(team.extract())
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert team.handle_ended() == []
    assert team.extract(1) is None
    assert team.extract(REST_SECONDS) is not None


def test_a_job_whose_process_died_is_ended_though_nobody_works_there_again(team: Team, paths: Paths) -> None:
    """A backfill that was killed, of a project that rests: all that ends behind it is told once it has ended."""
    memory_dir = os.path.join(paths.transcripts_root, "-code-old", "memory")
    lost = jobs.claim(team.database, memory_dir, 1, "session", team.now)
    assert lost is not None
    with only_worker(paths, memory_dir):  # it lives
        team.children.dream(team.database, team.config, team.now)
        assert jobs.number_running(team.database) == 1
    team.children.dream(team.database, team.config, team.now)
    (report,) = jobs.ended_since(team.database, 0)
    assert (report.id, report.outcome, report.detail) == (lost.id, "failed", "its process died")


def test_children_know_nothing_of_the_supervisor(database: Database, paths: Paths, environment: dict[str, str]) -> None:
    """A child that told it anything would speak for the daemon."""
    supervised = environment | {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    team = Team(database, paths, supervised)
    child = begun(team.extract())
    variables = Path(f"/proc/{child.pid}/environ").read_bytes().split(b"\0")
    team.children.stop(0)
    assert f"HOME={environment['HOME']}".encode() in variables
    assert not [variable for variable in variables if variable.startswith((b"NOTIFY_", b"WATCHDOG_"))]


def test_one_that_does_not_hear_is_killed_when_the_time_is_over(team: Team) -> None:
    child = begun(team.extract())
    child.suspend()
    began = elapsed()
    team.children.stop(0.1)
    assert elapsed() - began < PATIENCE_SECONDS
    assert not child.is_running()
    assert team.processes() == []  # no zombie either


def test_upkeep_waits_until_nobody_is_at_work(team: Team) -> None:
    child = begun(team.extract())
    child.suspend()
    assert not team.children.start_upkeep()
    end(child)
    team.handle_ended()
    assert team.children.start_upkeep()
    (child,) = team.processes()
    assert child.cmdline()[-2:] == ["child", "--upkeep"]
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert team.handle_ended() == []


def test_memories_that_a_prompt_did_not_wait_for_are_read_by_a_child(team: Team, paths: Paths, tmp_path: Path) -> None:
    library = Library(paths, tmp_path / "memory")
    library.write({f"project_{number}.md": (f"Rule {number}", "Words.") for number in range(50)})
    with closing(open_store(paths)) as store:
        hurried = up_to_date_index(store, str(library.place), team.now, seconds=0.0)
        assert hurried is not None
        assert (hurried.is_unfinished, hurried.memories) == (True, 20)
        team.children.read_memories(team.now)
        (child,) = team.processes()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert team.handle_ended() == []
        known = store.directory(str(library.place))
        assert known is not None
        assert (known.is_unfinished, known.memories) == (False, 50)
        team.children.read_memories(team.now)
        assert not team.children.is_at_work
