"""Wakeup of the daemon by threads, signal handlers and time. Waking never blocks and never fails."""

from __future__ import annotations

import os
import select
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_MANY = 4096


class Wakeup:
    """Wakeup by a pipe. A `threading.Event` takes a lock, on which a signal handler could block."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._rung: deque[str] = deque()

    def wake(self, name: str) -> None:
        self._rung.append(name)
        with suppress(OSError):  # full: it wakes anyway; closed: nobody waits any more
            os.write(self._writer, b"!")

    def wait(self, seconds: float) -> frozenset[str]:
        """Wait until somebody wakes us or the time is over; return the names since the last time."""
        select.select([self._reader], [], [], max(0.0, seconds))
        with suppress(BlockingIOError):
            while os.read(self._reader, _MANY):
                pass
        heard = set()
        while self._rung:
            heard.add(self._rung.popleft())
        return frozenset(heard)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        reader, writer = self._reader, self._writer
        self._reader = self._writer = -1  # a late wake must not write into a file that got the same number
        os.close(reader)
        os.close(writer)
