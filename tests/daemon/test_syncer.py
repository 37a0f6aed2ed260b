"""When the daemon exchanges memories: at its start, 2 s after the last change, every period, and one at a time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config
from memoryd.config.schema import SyncSettings
from memoryd.daemon import syncer
from memoryd.daemon.syncer import Syncer
from memoryd.log.writer import open_log
from memoryd.projects import Project
from memoryd.state import sync
from memoryd.state.projects import update_projects
from memoryd.state.sync import Round

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoryd.paths import Paths
    from memoryd.state.database import Database

ON = Config(sync=SyncSettings("/shared", 60.0))


class Started:
    """A child process that ends when the test says so."""

    def __init__(self, *_: object, is_guarded: bool) -> None:
        assert is_guarded
        self.starts = 0
        self.is_running = self.is_terminated = False
        self.code: int | None = None

    def start(self, *arguments: str, config_file: str | None = None) -> None:
        assert (arguments, config_file) == (("--sync",), None)
        self.starts += 1
        self.is_running = True

    def end(self, code: int = 0) -> None:
        self.code = code

    def ended(self) -> int | None:
        code, self.code = self.code, None
        self.is_running = self.is_running and code is None
        return code

    def terminate(self) -> None:
        self.is_terminated = True

    def wait(self, seconds: float) -> bool:
        return seconds >= 0

    def kill(self) -> None:
        self.is_running = False


class Watched:
    """A syncer with one project, and what it did."""

    def __init__(self, database: Database, paths: Paths, place: Path) -> None:
        self.said: list[str] = []
        self.database = database
        self.memory = place / "memory"
        self.memory.mkdir()
        update_projects(database, [Project("/code/shop", "shop", str(self.memory))], 1.0)
        self._log = open_log(paths, "info")
        self.syncer = Syncer(self.said.append, self._log, {})

    @property
    def child(self) -> Started:
        child = self.syncer._child
        assert isinstance(child, Started)
        return child

    def look(self, now: float, config: Config = ON) -> int:
        """Look at this time; how many exchanges have been started so far."""
        self.syncer.look(self.database, config, now, None)
        return self.child.starts

    def change(self) -> None:
        """Add a file, with another time of the directory, whatever the clock of the disk."""
        (self.memory / f"{os.urandom(4).hex()}.md").write_text("x")
        os.utime(self.memory, ns=(0, int.from_bytes(os.urandom(6), "big")))

    def close(self) -> None:
        self._log.close()


@pytest.fixture
def watched(database: Database, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(syncer, "Child", Started)
    found = Watched(database, paths, tmp_path)
    yield found
    found.close()


def test_it_begins_with_an_exchange_and_then_waits_for_the_period(watched: Watched) -> None:
    assert watched.look(100.0) == 1
    watched.child.end()
    assert watched.look(101.0) == 1
    assert list(watched.syncer.times(ON)) == [151.0]
    assert watched.look(151.0) == 2


def test_a_change_goes_out_two_seconds_after_the_last_one(watched: Watched) -> None:
    watched.look(100.0)
    watched.child.end()
    watched.look(101.0)
    watched.change()
    assert watched.look(110.0) == 1
    assert list(watched.syncer.times(ON)) == [151.0, 112.0]
    watched.change()
    assert watched.look(111.0) == 1
    assert watched.look(112.5) == 1  # changed again meanwhile
    assert watched.look(113.0) == 2


def test_what_the_exchange_itself_wrote_is_no_change(watched: Watched) -> None:
    watched.look(100.0)
    watched.change()
    watched.child.end()
    assert watched.look(101.0) == 1
    assert list(watched.syncer.times(ON)) == [151.0]


def test_one_runs_at_a_time(watched: Watched) -> None:
    watched.look(100.0)
    watched.change()
    assert watched.look(500.0) == 1
    assert list(watched.syncer.times(ON)) == [1_000.0]


def test_one_that_hangs_is_ended_and_told_and_the_next_comes_after_the_period(watched: Watched) -> None:
    watched.look(100.0)
    assert watched.look(999.0) == 1
    assert watched.child.is_running
    assert watched.look(1_000.0) == 1
    assert watched.child.is_terminated
    assert not watched.child.is_running
    assert watched.said == ["The exchange of memories took longer than 15 minutes and was ended: memoryd sync"]
    assert list(watched.syncer.times(ON)) == [1_051.0]
    assert watched.look(1_051.0) == 2


def test_nothing_is_started_where_nothing_is_shared(watched: Watched) -> None:
    assert watched.look(100.0, Config()) == 0
    assert list(watched.syncer.times(Config())) == []


def test_a_clock_that_is_set_back_does_not_stop_it(watched: Watched) -> None:
    watched.look(100_000.0)
    watched.child.end()
    assert watched.look(50.0) == 2


def test_a_failure_is_told_once_until_it_has_passed(watched: Watched) -> None:
    failing = Round("/shared", error="It cannot be opened.", fix="ls")
    for done, now in ((failing, 100.0), (failing, 200.0), (Round("/shared"), 300.0), (failing, 400.0)):
        watched.look(now)
        sync.put_round(watched.database, done)
        watched.child.end()
        watched.look(now + 1)
    assert watched.said == ["Memories are not exchanged: It cannot be opened."] * 2
