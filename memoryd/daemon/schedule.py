"""Ticks of the daemon, by apscheduler. They only wake it: what is due is decided from the database."""

from __future__ import annotations

import logging
import threading
from datetime import UTC
from types import MappingProxyType
from typing import TYPE_CHECKING

from apscheduler.events import EVENT_SCHEDULER_STARTED
from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.blocking import BlockingScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

_JOIN_SECONDS = 5.0


class Ticks:
    """Thread that calls `wake` with a name, each name in its own interval, and some also at a time of day ("03:30")."""

    def __init__(
        self,
        wake: Callable[[str], None],
        seconds: Mapping[str, float],
        times_of_day: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.times_of_day = times_of_day
        logging.getLogger("apscheduler").handlers = [logging.NullHandler()]  # it would write to the terminal otherwise
        self._scheduler = BlockingScheduler(
            timezone=UTC,  # the zone of the machine may be unknown, and intervals need none
            executors={"default": DebugExecutor()},  # in its own thread: waking takes no time
            # After a sleep of the machine a late tick comes once.
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        for name, interval in seconds.items():
            self._scheduler.add_job(wake, "interval", args=(name,), seconds=interval, id=name)
        for name, time in times_of_day.items():
            hour, minute = time.split(":")
            self._scheduler.add_job(
                wake, "cron", args=(name,), hour=hour, minute=minute, timezone=_local_zone(), id=f"{name} at {time}"
            )
        is_started = threading.Event()
        self._scheduler.add_listener(lambda _: is_started.set(), EVENT_SCHEDULER_STARTED)
        self._thread = threading.Thread(target=self._scheduler.start, name="ticks", daemon=True)
        self._thread.start()
        is_started.wait(_JOIN_SECONDS)  # before that it cannot be stopped

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        self._thread.join(_JOIN_SECONDS)


def _local_zone() -> tzinfo:
    """The zone of the machine. Where it has none that has a name, the time of day is met by the intervals, a minute late."""
    from tzlocal import get_localzone  # noqa: PLC0415 - apscheduler brings it

    try:
        return get_localzone()
    except (LookupError, OSError, ValueError):
        return UTC
