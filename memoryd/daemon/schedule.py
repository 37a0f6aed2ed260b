"""Ticks of the daemon, by apscheduler. They only wake it: what is due is decided from the database."""

from __future__ import annotations

import logging
import threading
from datetime import UTC
from typing import TYPE_CHECKING

from apscheduler.events import EVENT_SCHEDULER_STARTED
from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.blocking import BlockingScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_JOIN_SECONDS = 5.0


class Ticks:
    """Thread that calls `wake` with a name, each name in its own interval."""

    def __init__(self, wake: Callable[[str], None], seconds: Mapping[str, float]) -> None:
        logging.getLogger("apscheduler").handlers = [logging.NullHandler()]  # it would write to the terminal otherwise
        self._scheduler = BlockingScheduler(
            timezone=UTC,  # the zone of the machine may be unknown, and intervals need none
            executors={"default": DebugExecutor()},  # in its own thread: waking takes no time
            # After a sleep of the machine a late tick comes once.
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        for name, interval in seconds.items():
            self._scheduler.add_job(wake, "interval", args=(name,), seconds=interval, id=name)
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
