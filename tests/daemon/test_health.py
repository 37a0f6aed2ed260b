"""What troubles the daemon: told once when it begins, once when it ends, and for `status` as long as it lasts."""

from __future__ import annotations

import errno
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import structlog

from memoryd.daemon.health import LEAST_FREE_BYTES, ClockWatch, DaemonHealth, disk_troubles
from memoryd.daemon.single_instance import Trouble, only_instance, running_instance

if TYPE_CHECKING:
    from memoryd.paths import Paths

NOW = 2_000_000_000.0
DAY = 86_400.0
LIMIT = Trouble("watch_limit", "The limit is reached.", "sudo raise it")
MISSING = Trouble("root_missing", "There is no root yet.")
JUMPED = Trouble("clock_jumped", "The clock jumped.")


def test_each_is_told_when_it_begins_and_when_it_is_over_and_stands_in_the_lock(paths: Paths) -> None:
    said: list[str] = []
    with only_instance(paths, NOW) as held, structlog.testing.capture_logs() as logged:
        health = DaemonHealth(held, said.append, structlog.get_logger())

        def tell(watching: str, *troubles: Trouble) -> tuple[str, tuple[Trouble, ...]]:
            said.clear()
            health.report(watching, list(troubles))
            running = running_instance(paths)
            assert running
            assert health.names == [trouble.name for trouble in troubles]
            return running.watching, running.troubles

        assert tell("events") == ("events", ())
        assert said == []
        assert tell("polling", LIMIT, MISSING) == ("polling", (LIMIT, MISSING))
        assert said == ["The limit is reached.", "  fix: sudo raise it", "There is no root yet."]
        assert tell("polling", LIMIT, MISSING) == ("polling", (LIMIT, MISSING))
        assert said == []
        other = LIMIT._replace(text="It is still reached.")
        assert tell("polling", other, JUMPED) == ("polling", (other, JUMPED))
        assert said == ["The clock jumped.", "The transcripts are there."]
        assert tell("events") == ("events", ())
        assert said == ["The transcripts can be watched again."]  # that a clock jumped is never over
    assert [(line["event"], line["name"]) for line in logged] == [
        ("trouble", "watch_limit"),
        ("trouble", "root_missing"),
        ("trouble", "clock_jumped"),
        ("trouble is over", "root_missing"),
        ("trouble is over", "clock_jumped"),
        ("trouble is over", "watch_limit"),
    ]


def test_a_lock_file_that_cannot_be_written_ends_nothing(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with only_instance(paths, NOW) as held:
        health = DaemonHealth(held, said.append, structlog.get_logger())
        monkeypatch.setattr(os, "pwrite", full)
        health.report("events", [LIMIT])
        health.report("events", [LIMIT])
    assert said == ["The limit is reached.", "  fix: sudo raise it"]


@pytest.mark.parametrize(
    ("now", "elapsed", "text"),
    [
        (NOW + 60, 60, None),
        (NOW + DAY, DAY, None),  # the machine slept, and its count of passed time with it did not stop
        (NOW + 60 + 59, 60, None),  # put right by seconds
        (NOW + 60 - 59, 60, None),
        (NOW + 60 - DAY, 60, "The clock jumped back by 24 h, to "),
        (NOW + 60 + 90, 60, "The clock jumped forward by 90 s, to "),
        (NOW + 60 + 3 * DAY, 60, "The clock jumped forward by 3 days, to "),
    ],
)
def test_a_clock_that_jumped_is_named(now: float, elapsed: float, text: str | None) -> None:
    watch = ClockWatch()
    assert watch.look(NOW, 0) == []
    found = watch.look(now, elapsed)
    assert [(trouble.name, trouble.fix) for trouble in found] == ([] if text is None else [("clock_jumped", "")])
    assert all(trouble.text.startswith(text or "") for trouble in found)


def test_a_jump_is_named_for_an_hour_and_is_no_jump_any_more() -> None:
    watch = ClockWatch()
    watch.look(NOW, 0)
    assert watch.look(NOW - DAY, 1)
    assert watch.look(NOW - DAY + 3598, 3599)
    assert watch.look(NOW - DAY + 3600, 3601) == []


def test_a_disk_that_is_nearly_full_is_named_with_what_is_left(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    os.makedirs(paths.state_dir)
    os.makedirs(paths.claude_dir)
    free = {paths.state_dir: LEAST_FREE_BYTES, paths.claude_dir: LEAST_FREE_BYTES}
    monkeypatch.setattr(
        "memoryd.daemon.health.os.statvfs", lambda place: SimpleNamespace(f_bavail=free[place] // 1000, f_frsize=1000)
    )
    assert list(disk_troubles(paths)) == []
    free[paths.claude_dir] = 7_000_000
    (trouble,) = disk_troubles(paths)
    assert (trouble.name, trouble.fix) == ("disk_nearly_full", f"df -h {paths.claude_dir}")
    assert f"7.0 MB are left for {paths.claude_dir}" in trouble.text
    free[paths.state_dir] = 0
    (trouble,) = disk_troubles(paths)  # one is enough
    assert paths.state_dir in trouble.text


def test_a_place_that_is_not_there_is_not_full(paths: Paths) -> None:
    assert list(disk_troubles(paths)) == []
