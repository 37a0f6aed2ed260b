"""Clock: the only reader of time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading


_ELAPSED = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux stops its monotonic clock while the machine sleeps; macOS does not."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, as the machine believes; it may step either way."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until the event is set (True) or the seconds have passed (False)."""


class SystemClock:
    def now(self) -> float:
        return time.time()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds)


def elapsed() -> float:
    """Seconds that only go forward, also while the machine sleeps, from some beginning."""
    return time.clock_gettime(_ELAPSED)


def rest(seconds: float) -> None:
    """Leave the processor to others for a moment. What waits for an event uses `Clock.wait`."""
    time.sleep(seconds)


def iso(at: float) -> str:
    """2026-10-16T07:40:18Z: how every time is printed in JSON."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_iso(text: str | None) -> float | None:
    """Seconds since 1970 of an ISO time, or None where it is not one. A time without a zone is UTC."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def day_of(at: float) -> tuple[float, float]:
    """When the day of a moment began and when it ends, in the zone of this machine."""
    # Without a zone, on purpose: the calendar counts, and a day may have 23 or 25 hours.
    midnight = datetime.fromtimestamp(at).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)  # noqa: DTZ006
    return midnight.timestamp(), (midnight + timedelta(days=1)).timestamp()


def time_of_day_before(text: str, at: float) -> float:
    """When it was last this time of the day ("03:30"), in the zone of this machine; now counts."""
    return max(moment for moment in _times_of_day(text, at) if moment <= at)


def time_of_day_after(text: str, at: float) -> float:
    """When it will next be this time of the day."""
    return min(moment for moment in _times_of_day(text, at) if moment > at)


def _times_of_day(text: str, at: float) -> list[float]:
    """The moments around this one. A time that a day leaves out comes an hour later, one that it has twice the first time."""
    time.tzset()  # a laptop travels while the daemon runs
    hour, minute = map(int, text.split(":"))
    today = datetime.fromtimestamp(at).replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)  # noqa: DTZ006
    return [(today + timedelta(days=days)).timestamp() for days in range(-2, 3)]


def hour_of(at: float) -> int:
    """The hour of the day, from 0 to 23, in the zone of this machine."""
    return datetime.fromtimestamp(at).hour  # noqa: DTZ006 - in the zone of this machine
