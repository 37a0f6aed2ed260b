"""What a user sees of history that is older than it is kept."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clock import SystemClock
from memoryd.jobs.upkeep import last_upkeep
from memoryd.state import settings
from tests.acceptance.command import PATIENCE_SECONDS, Daemon, as_json, memoryd

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database

DAY = 86_400.0


@pytest.fixture
def here(environment: dict[str, str], database: Database) -> tuple[str, str]:
    """A project with one memory that was written long ago, after the upkeep of last night."""
    here = ("--project", environment["HOME"])
    words = "the release is frozen until Friday because QA is out"
    assert memoryd(environment, "remember", words, *here).returncode == 0
    database.execute("UPDATE changes SET at = at - ?", (100 * DAY,))
    settings.put(database, settings.UPKEEP, {"tried_at": None, "did": None}, SystemClock().now() - DAY)
    assert memoryd(environment, "child", "--upkeep").returncode == 0
    done = last_upkeep(database)
    assert done is not None
    assert done.contents > 0
    return here


def test_it_is_shown_and_said_and_nothing_is_half_done(environment: dict[str, str], here: tuple[str, str]) -> None:
    (change,) = as_json(environment, "history", *here)
    (name,) = change["files"]
    assert not change["kept"]
    assert memoryd(environment, "history", *here).stdout.endswith(f"{name} (no longer kept)\n")
    memory_dir = change["memory_dir"]
    before = {file: os.stat(os.path.join(memory_dir, file)).st_mtime_ns for file in os.listdir(memory_dir)}
    for command in (["undo"], ["undo", "1"], ["diff"], ["diff", "1"], ["diff", name], ["restore", name]):
        done = memoryd(environment, *command, *here)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            "memoryd: Change 1 is older than history is kept (`history.keep_days` and `history.keep_megabytes` in the"
            " config): what it did can no longer be shown, undone or restored.\n  fix: memoryd history\n"
        )
    assert {file: os.stat(os.path.join(memory_dir, file)).st_mtime_ns for file in os.listdir(memory_dir)} == before
    assert as_json(environment, "why", name, *here)["changes"] == [1]
    assert memoryd(environment, "forget", name, *here).returncode == 0
    assert memoryd(environment, "undo", *here).returncode == 0
    assert os.path.exists(os.path.join(memory_dir, name))


def test_a_daemon_sees_to_it_by_itself(environment: dict[str, str], paths: Paths, database: Database) -> None:
    settings.put(database, settings.UPKEEP, {"tried_at": None, "did": None}, SystemClock().now() - 2 * DAY)
    place = paths.place_for("/gone", "workers")
    os.makedirs(os.path.dirname(place))
    Path(place).touch()
    os.utime(place, (1, 1))
    with Daemon(environment) as daemon:
        until = time.monotonic() + PATIENCE_SECONDS
        while (done := last_upkeep(database)) is None:
            assert time.monotonic() < until, daemon.said
            threading.Event().wait(0.1)
        assert (done.locks, os.path.exists(place)) == (1, False)
        assert daemon.stop(signal.SIGTERM) == 0
        assert "ended with code" not in daemon.said
