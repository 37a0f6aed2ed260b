"""Backoff: how long to wait after failures, twice as long after each one in a row, up to a longest delay."""

from __future__ import annotations

from memoryd.record import NamedTuple

_MOST_DOUBLINGS = 16
"""Beyond every longest delay: a number of failures that has grown for years must not overflow."""


class Backoff(NamedTuple):
    first_seconds: float
    longest_seconds: float

    def delay(self, failures: int) -> float:
        """Seconds to wait after this many failures in a row; the first failure is number 1."""
        return min(self.first_seconds * 2.0 ** min(max(failures - 1, 0), _MOST_DOUBLINGS), self.longest_seconds)

    def spread_delay(self, failures: int) -> float:
        """The delay and up to as much again at random, so that clients which failed together do not come back together."""
        import random  # noqa: PLC0415 - milliseconds that commands which never wait need not pay

        return min(self.delay(failures) * (1 + random.random()), self.longest_seconds)  # noqa: S311 - no secret


SESSION = Backoff(60.0, 6 * 3600.0)
"""A session whose extraction failed."""
DREAM = Backoff(3600.0, 24 * 3600.0)
"""A memory directory whose dream failed or was refused."""
ENGINE = Backoff(60.0, 3600.0)
"""An engine whose endpoint has trouble; the endpoint may ask for more, up to the longest."""
REQUEST = Backoff(1.0, 60.0)
"""A request within one run. An endpoint that asks for more than the longest is left alone for as long, not waited for."""
WATCH = Backoff(60.0, 600.0)
"""A file watch that could not be begun."""
