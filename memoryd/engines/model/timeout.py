"""A call with a time limit: given up when its time is over, whatever it is at by then.

A request to an endpoint is more than the wait for an answer: a command may print the key, the SDK takes a second to load,
a name is resolved, headers come byte by byte. No timeout of the transport bounds all of that, so it goes on in a thread,
which nobody waits for any longer once it is late.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from memoryd.clock import elapsed

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGNAL_SECONDS = 0.5
"""So often who waits looks for signals: some systems give them to another thread, which wakes nobody up."""


class Closable(Protocol):
    def close(self) -> None: ...


R = TypeVar("R", bound=Closable)
T = TypeVar("T")


class LateError(Exception):
    """The time was over before the call."""

    def __init__(self, *, is_used: bool) -> None:
        super().__init__("the time is over")
        self.is_used = is_used
        """The resource was in use: what was asked with it may have been done."""


class TimedCall(threading.Thread, Generic[R, T]):
    """Gets a resource and uses it once. The thread dies with its process: nothing of ours is left half done by it."""

    def __init__(self, get: Callable[[], R], use: Callable[[R], T]) -> None:
        super().__init__(name="memoryd-timed-call", daemon=True)
        self.resource: R | None = None
        """For the next call; None where there is none, or it is still in use by this one, which was given up."""
        self._get = get
        self._use = use
        self._lock = threading.Lock()
        self._is_given_up = False
        self._is_over = False
        self._results: list[T] = []
        self._error: Exception | None = None

    def result(self, until: float) -> T:
        """What `use` returns. Raises what it or `get` raises, and LateError where `elapsed` has come to `until`."""
        is_used = False
        try:
            self.start()
            while self.is_alive() and (left := until - elapsed()) > 0:
                self.join(min(left, _SIGNAL_SECONDS))
        finally:  # also where a signal ends the wait
            is_used = self._give_up()
        if self._error is not None:
            raise self._error
        if not self._results:
            raise LateError(is_used=is_used)
        return self._results[0]

    def run(self) -> None:
        results, error = [], None
        try:
            resource = self._get()
            if self._may_use(resource):
                results.append(self._use(resource))
        except Exception as raised:  # noqa: BLE001 - handed to who waits for it
            error = raised
        with self._lock:
            if not self._is_given_up:
                self._results, self._error, self._is_over = results, error, True

    def _may_use(self, resource: R) -> bool:
        """What was given up before it was used is not used: nobody would count what that costs."""
        with self._lock:
            if not self._is_given_up:
                self.resource = resource
                return True
        resource.close()
        return False

    def _give_up(self) -> bool:
        """Nobody waits any longer. Whether the resource was in use; it is closed, which ends the use with the next byte."""
        with self._lock:
            if self._is_over:
                return False
            self._is_given_up = True
            resource, self.resource = self.resource, None
        if resource is None:
            return False
        resource.close()
        return True
