"""The daemon's wakeup: rung by anybody at any moment, and nobody is lost."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from memoryd.daemon.wakeup import Wakeup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_SECONDS = 180.0
RINGS = 300
THREADS = 4


@pytest.fixture
def wakeup() -> Iterator[Wakeup]:
    with Wakeup() as one:
        yield one


def test_who_rang_before_is_heard_at_once_and_once(wakeup: Wakeup) -> None:
    wakeup.wake("look")
    wakeup.wake("stop")
    wakeup.wake("look")
    assert wakeup.wait(PATIENCE_SECONDS) == {"look", "stop"}
    assert wakeup.wait(0) == frozenset()


def test_the_time_is_over_when_nobody_rings(wakeup: Wakeup) -> None:
    assert wakeup.wait(0.01) == frozenset()
    assert wakeup.wait(-5) == frozenset()  # what was due is over


def test_a_thread_wakes_who_waits(wakeup: Wakeup) -> None:
    threading.Timer(0.05, wakeup.wake, ["change"]).start()
    assert wakeup.wait(PATIENCE_SECONDS) == {"change"}


def test_a_signal_wakes_who_waits(wakeup: Wakeup) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: wakeup.wake("stop"))
    try:
        threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGUSR1]).start()
        assert wakeup.wait(PATIENCE_SECONDS) == {"stop"}
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_of_threads_and_signals_that_ring_at_once_none_is_lost(wakeup: Wakeup) -> None:
    """A handler interrupts whoever rings or listens, also in the middle of the wakeup's own lines."""
    rung: list[str] = []

    def on_signal(*_: object) -> None:
        rung.append(f"signal {len(rung)}")
        wakeup.wake(rung[-1])

    def ring(thread: int) -> None:
        for number in range(RINGS):
            wakeup.wake(f"thread {thread}, {number}")
            os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, on_signal)
    try:
        threads = [threading.Thread(target=ring, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        heard: set[str] = set()
        while any(thread.is_alive() for thread in threads):
            heard |= wakeup.wait(0.01)
        heard |= wakeup.wait(0)
    finally:
        signal.signal(signal.SIGUSR1, before)
    heard |= wakeup.wait(0)
    assert rung
    assert heard == {f"thread {thread}, {number}" for thread in range(THREADS) for number in range(RINGS)} | set(rung)


def test_ringing_never_blocks_however_long_nobody_listens(wakeup: Wakeup) -> None:
    """More rings than a pipe holds bytes."""
    for _ in range(70_000):
        wakeup.wake("child")
    wakeup.wake("stop")
    assert wakeup.wait(PATIENCE_SECONDS) == {"child", "stop"}
    assert wakeup.wait(0) == frozenset()


def test_who_rings_late_writes_into_nothing(tmp_path: Path) -> None:
    """Files that are opened next get the numbers of the wakeup's."""
    with Wakeup() as wakeup:
        numbers = {wakeup._reader, wakeup._writer}
    files = [os.open(tmp_path / str(number), os.O_RDWR | os.O_CREAT) for number in range(4)]
    try:
        assert numbers <= set(files)
        wakeup.wake("late")
        assert [os.fstat(file).st_size for file in files] == [0, 0, 0, 0]
    finally:
        for file in files:
            os.close(file)
