"""Cancellation of a dream: by a request in the database, by its longest time, by a signal; never in a commit."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.errors import MemorydError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_SECONDS = 45 * 60.0
_LOOK_SECONDS = 0.5


class StopRequest(BaseException):
    """Somebody asked the dream to stop."""


class TimeIsUp(BaseException):
    """The dream takes longer than it may."""


class OverdueError(MemorydError):
    """The dream took longer than it may."""

    def __init__(self) -> None:
        super().__init__(f"It took longer than {LONGEST_SECONDS / 60:g} min, and changed nothing.", "memoryd dream-now")


@contextmanager
def interruptible(is_to_stop: Callable[[], bool]) -> Iterator[None]:
    """Context in which a request to stop, or the longest time, ends even a step that hangs.

    `is_to_stop` is called in a signal handler, between two steps of the program, so it has a database connection of its own.
    """
    left = LONGEST_SECONDS
    has_ended = False

    def look(*_: object) -> None:
        nonlocal left
        left -= _LOOK_SECONDS
        if left < 0:
            end(TimeIsUp())
        if is_to_stop():
            end(StopRequest())

    def on_term(*_: object) -> None:
        end(StopRequest())

    def end(by: BaseException) -> None:
        nonlocal has_ended
        if not has_ended:  # once: the clean-up after it must not be interrupted again
            has_ended = True
            raise by

    before = {
        signal.SIGALRM: signal.signal(signal.SIGALRM, look),
        signal.SIGTERM: signal.signal(signal.SIGTERM, on_term),
    }
    signal.setitimer(signal.ITIMER_REAL, _LOOK_SECONDS, _LOOK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Context in which signals wait, until the commit is closed and the lock released.

    Signals are noted, not blocked: a block applies to one thread, and the kernel would deliver them to another.
    """
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: noted.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(noted):
            signal.raise_signal(late)
