"""The ticks: they ring, they end, and what a wrong clock does to them."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from apscheduler.schedulers.blocking import BlockingScheduler
from tzlocal import reload_localzone

from memoryd.daemon.schedule import Ticks
from memoryd.daemon.wakeup import Wakeup

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_SECONDS = 180.0
SOON = 0.05
NEVER = 300.0


class Ringer:
    """Counts who rang."""

    def __init__(self, wakeup: Wakeup) -> None:
        self.wakeup = wakeup
        self.rung: Counter[str] = Counter()

    def ring(self, name: str) -> None:
        self.rung[name] += 1
        self.wakeup.wake(name)


@pytest.fixture
def ringer() -> Iterator[Ringer]:
    with Wakeup() as wakeup:
        yield Ringer(wakeup)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[dt.timedelta]:
    """By how much the clock of the scheduler is wrong."""
    wrong = [dt.timedelta()]

    class Moment(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Moment:
            return super().now(tz) + wrong[0]

    monkeypatch.setattr("apscheduler.schedulers.base.datetime", Moment)
    monkeypatch.setattr("apscheduler.triggers.interval.datetime", Moment)
    return wrong


def test_each_name_rings_in_its_own_interval(ringer: Ringer) -> None:
    ticks = Ticks(ringer.ring, {"look": SOON, "dreams": 4 * SOON, "upkeep": NEVER})
    try:
        while not ringer.rung["dreams"]:
            assert ringer.wakeup.wait(PATIENCE_SECONDS)
        assert ringer.rung["look"] >= 1
        assert not ringer.rung["upkeep"]
        assert ticks.is_alive
    finally:
        ticks.stop()


def test_a_time_of_day_rings_by_the_clock_of_the_machine(ringer: Ringer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    reload_localzone()  # it is looked up once in a process
    soon = dt.datetime.now(ZoneInfo("Asia/Kathmandu")) + dt.timedelta(minutes=1)
    ticks = Ticks(ringer.ring, {"look": NEVER}, {"dreams": f"{soon:%H:%M}"})
    try:
        (job,) = (job for job in ticks._scheduler.get_jobs() if job.args == ("dreams",))
        assert 0 <= (job.next_run_time - soon.replace(second=0, microsecond=0)).total_seconds() < 60
    finally:
        ticks.stop()
        monkeypatch.undo()
        reload_localzone()


def test_stopped_at_once_it_is_over_at_once(ringer: Ringer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that has not begun yet cannot be stopped, and would go on for ever."""
    start = BlockingScheduler.start

    def start_late(scheduler: BlockingScheduler) -> None:
        threading.Event().wait(0.05)
        start(scheduler)

    monkeypatch.setattr(BlockingScheduler, "start", start_late)
    before = threading.active_count()
    ticks = Ticks(ringer.ring, {"look": NEVER})
    ticks.stop()
    assert not ticks.is_alive
    ticks.stop()
    assert threading.active_count() == before


def test_a_ring_that_fails_ends_nothing_and_says_nothing(ringer: Ringer, capfd: pytest.CaptureFixture[str]) -> None:
    def fail_first(name: str) -> None:
        ringer.ring(name)
        if ringer.rung[name] == 1:
            raise ZeroDivisionError

    ticks = Ticks(fail_first, {"look": SOON})
    try:
        while ringer.rung["look"] < 3:
            assert ringer.wakeup.wait(PATIENCE_SECONDS)
    finally:
        ticks.stop()
    assert capfd.readouterr() == ("", "")


def test_a_thread_that_died_is_seen_and_can_be_stopped(ringer: Ringer, monkeypatch: pytest.MonkeyPatch) -> None:
    died = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: died.set())
    ticks = Ticks(ringer.ring, {"look": NEVER})
    monkeypatch.setattr(ticks._scheduler, "_process_jobs", lambda: 1 / 0)
    ticks._scheduler.wakeup()
    assert died.wait(PATIENCE_SECONDS)
    ticks._thread.join(PATIENCE_SECONDS)
    assert not ticks.is_alive
    ticks.stop()


def test_after_a_sleep_of_the_machine_it_rings_once_and_goes_on(ringer: Ringer, clock: list[dt.timedelta]) -> None:
    ticks = Ticks(ringer.ring, {"look": SOON, "upkeep": NEVER})
    try:
        ringer.wakeup.wait(PATIENCE_SECONDS)
        clock[0] = dt.timedelta(seconds=3.5 * NEVER)  # three times the upkeep was missed
        while not ringer.rung["upkeep"]:
            assert ringer.wakeup.wait(PATIENCE_SECONDS)
        seen = ringer.rung["look"]
        while ringer.rung["look"] < seen + 2:
            assert ringer.wakeup.wait(PATIENCE_SECONDS)
        assert ringer.rung["upkeep"] == 1
    finally:
        ticks.stop()


def test_a_clock_that_is_set_back_makes_it_silent_though_alive(ringer: Ringer, clock: list[dt.timedelta]) -> None:
    """So the daemon must notice that the ticks are late; new ones ring by the new time."""
    ticks = Ticks(ringer.ring, {"look": SOON})
    try:
        assert ringer.wakeup.wait(PATIENCE_SECONDS)
        clock[0] = dt.timedelta(days=-1)
        until = time.monotonic() + PATIENCE_SECONDS
        while ringer.wakeup.wait(10 * SOON):  # some may be on their way
            assert time.monotonic() < until
        assert ticks.is_alive
    finally:
        ticks.stop()
    ticks = Ticks(ringer.ring, {"look": SOON})
    try:
        assert ringer.wakeup.wait(PATIENCE_SECONDS)
    finally:
        ticks.stop()
