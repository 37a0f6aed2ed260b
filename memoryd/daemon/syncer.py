"""The daemon's exchange of memories with stores: when it is due, and the child process that does it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.daemon.child import Child, stop_all
from memoryd.formatting import count
from memoryd.jobs.team_answers import apply_switch
from memoryd.state import sync
from memoryd.state.projects import all_projects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from structlog.typing import FilteringBoundLogger

    from memoryd.config import Config
    from memoryd.state.database import Database

SETTLE_SECONDS = 2.0
"""So long after the last change here it goes out."""
PERIOD = 0.85
"""Of the interval, after which it is looked at again: what others have given is to be here within the interval, and giving
and taking it takes some seconds too."""
CHILD_SECONDS = 5.0
"""How long an exchange may take to end itself when the daemon is told to stop; a kill would do no harm either."""
MOST_SECONDS = 900.0
"""An exchange that takes longer hangs: on a network share that does not answer, for instance."""
_NOT_THEIRS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Syncer:
    """Starts an exchange at the start, after changes of memory directories, and periodically; one at a time.

    It has a child of its own, since a server that does not answer must not keep anything else waiting.
    """

    def __init__(self, say: Callable[[str], None], log: FilteringBoundLogger, environment: Mapping[str, str]) -> None:
        self._say = say
        self._log = log
        theirs = {name: value for name, value in environment.items() if name not in _NOT_THEIRS}
        self._child = Child(theirs, is_guarded=True)  # a git that waits for a server would outlive a killed daemon
        self._stamps: dict[str, int] = {}
        self._changed_at: float | None = None
        self._began_at: float | None = None
        self._is_off = False
        self._failed: frozenset[str] = frozenset()  # stores whose trouble was told
        self._rounds: dict[str, float | None] = {}

    def look(self, database: Database, config: Config, now: float, config_file: str | None) -> None:
        """Handle a child that has ended, notice changes, and start the next exchange where it is due."""
        if (code := self._child.ended()) is not None:
            self._stamps = _stamps(database)  # what it wrote itself is no change that has to go out
            self._report(database, code)
        if not config.is_anything_shared:
            if not self._is_off:  # else each exchange looks at the switch
                apply_switch(database, config, now)
            self._is_off = True
            self._began_at = self._changed_at = None
            return
        self._is_off = False
        if self._child.is_running:
            if self._began_at is not None and now - self._began_at >= MOST_SECONDS:
                self._end_late(now)
            return
        stamps = _stamps(database)
        if stamps != self._stamps:
            self._stamps, self._changed_at = stamps, now
        if self._is_due(config, now):
            self._began_at, self._changed_at = now, None
            self._child.start("--sync", config_file=config_file)

    def _is_due(self, config: Config, now: float) -> bool:
        return self._began_at is None or any(at <= now for at in self.times(config)) or self._began_at > now

    def times(self, config: Config) -> Iterator[float]:
        """Times at which an exchange falls due."""
        if self._began_at is None:
            return  # nothing is exchanged
        if self._child.is_running:
            yield self._began_at + MOST_SECONDS  # unless its end wakes us before
            return
        yield self._began_at + config.sync.interval_seconds * PERIOD
        if self._changed_at is not None:
            yield self._changed_at + SETTLE_SECONDS

    def _end_late(self, now: float) -> None:
        """End an exchange that hangs; the next one comes after the period."""
        self.stop()
        self._began_at = now
        self._log.error("exchange hung", seconds=MOST_SECONDS)
        self._say(
            f"The exchange of memories took longer than {MOST_SECONDS / 60:g} minutes and was ended: memoryd sync"
        )

    def _report(self, database: Database, code: int) -> None:
        if code:
            self._log.error("exchange died", code=code)
        rounds = sync.all_rounds(database)
        for done in rounds:
            if done.exchanged_at is not None and done.exchanged_at != self._rounds.get(done.store):
                self._log.info("exchanged", store=done.store, **done.facts)
                taken, given = done.facts["taken"] + done.facts["dropped"], done.facts["given"] + done.facts["deleted"]
                self._say(f"{done.store}: {count(taken, 'memory')} came, {count(given, 'memory')} went.")
            if done.error and done.store not in self._failed:
                self._log.warning("exchange failed", store=done.store, reason=done.error)
                self._say(f"Memories are not exchanged: {done.error}")
        self._rounds = {done.store: done.exchanged_at for done in rounds}
        self._failed = frozenset(done.store for done in rounds if done.error)

    def stop(self) -> None:
        stop_all([self._child], CHILD_SECONDS)

    def kill(self) -> None:
        self._child.kill()


def _stamps(database: Database) -> dict[str, int]:
    """When each memory directory was last changed: a commit and most editors replace files, which changes it."""
    found: dict[str, int] = {}
    for project in all_projects(database):
        for place in (project.memory_dir, os.path.join(project.memory_dir, "team")):
            with suppress(OSError):
                found[place] = os.stat(place).st_mtime_ns
    return found
