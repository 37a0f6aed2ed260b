"""An endpoint for those who cannot wait: given up when the time is over, whatever it is at by then.

A request to it is more than the wait for an answer: a command may print the key, and the SDK takes a second to load. All of
that goes on in a thread, which nobody waits for any longer once it is late.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from memoryd.clock import elapsed
from memoryd.engines.anthropic.client import EndpointError

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.engines.anthropic.client import Client
    from memoryd.engines.anthropic.wire import Reply

_GRACE_SECONDS = 5.0
"""So much later the connection itself ends: who asked has gone on by then."""


class PunctualClient:
    """Made for one question; `connect` makes the client, and may take its time or raise. `until` is by `elapsed`."""

    def __init__(self, connect: Callable[[], Client], until: float) -> None:
        self._connect = connect
        self._until = until

    def send(self, request: dict[str, Any], deadline: float) -> Reply:
        """As `Client.send`, and in time. Raises what that and `connect` raise; EndpointError where it is late."""
        errand = _Errand(self._connect, request, deadline + _GRACE_SECONDS)
        left = self._until - elapsed()
        if left > 0:
            errand.start()
            errand.join(left)
        if errand.error is not None:
            raise errand.error
        if errand.reply is None:
            raise EndpointError("it does not answer in time", is_charged=errand.give_up())
        return errand.reply


class _Errand(threading.Thread):
    """Fetches one reply. It dies with its process: nothing of ours is left half done by it."""

    def __init__(self, connect: Callable[[], Client], request: dict[str, Any], deadline: float) -> None:
        super().__init__(name="memoryd-errand", daemon=True)
        self.reply: Reply | None = None
        self.error: Exception | None = None
        self._connect = connect
        self._request = request
        self._deadline = deadline
        self._lock = threading.Lock()
        self._is_wanted = True
        self._is_sent = False

    def run(self) -> None:
        try:
            client = self._connect()
            try:
                if self._may_send():
                    self.reply = client.send(self._request, self._deadline)
            finally:
                client.close()
        except Exception as error:  # noqa: BLE001 - handed to who waits for it
            self.error = error

    def _may_send(self) -> bool:
        """What was given up before it was sent is not sent: nobody would count what it costs."""
        with self._lock:
            self._is_sent = self._is_wanted
            return self._is_sent

    def give_up(self) -> bool:
        """Nobody waits any longer. Whether the request is on its way, and may be charged."""
        with self._lock:
            self._is_wanted = False
            return self._is_sent
