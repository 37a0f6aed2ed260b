"""Health of the daemon: every state that makes it slower or blind, reported when it begins and when it ends."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.daemon.single_instance import Trouble
from memoryd.formatting import ago, clock_time, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from structlog.typing import FilteringBoundLogger

    from memoryd.daemon.single_instance import InstanceLock
    from memoryd.paths import Paths

LEAST_FREE_BYTES = 200_000_000
_JUMP_SECONDS = 60.0
_REPORTED_SECONDS = 3600.0
_OVER = {
    "watch_limit": "The transcripts can be watched again.",
    "polling_only": "The system reports growing transcripts again.",
    "root_missing": "The transcripts are there.",
    "disk_nearly_full": "There is room on the disk again.",
    "database_busy": "The state database works again.",
    "config_broken": "The config file can be used again.",
}


class DaemonHealth:
    """Compares present troubles with those that were reported before."""

    def __init__(self, held: InstanceLock, say: Callable[[str], None], log: FilteringBoundLogger) -> None:
        self._held = held
        self._say = say
        self._log = log
        self._reported: tuple[str, tuple[Trouble, ...]] = ("", ())

    @property
    def names(self) -> list[str]:
        return [trouble.name for trouble in self._reported[1]]

    def report(self, watching: str, troubles: list[Trouble]) -> None:
        """Report each trouble that is new or over, once, to the user and the log; write all of them into the lock file."""
        before = {trouble.name for trouble in self._reported[1]}
        now = {trouble.name for trouble in troubles}
        for trouble in troubles:
            if trouble.name not in before:
                self._say(trouble.text)
                if trouble.fix:
                    self._say(f"  fix: {trouble.fix}")
                log = self._log.warning if trouble.fix else self._log.info
                log("trouble", name=trouble.name, reason=trouble.text)
        for name in sorted(before - now):
            if name in _OVER:
                self._say(_OVER[name])
            self._log.info("trouble is over", name=name)
        if self._reported != (watching, tuple(troubles)):
            self._reported = (watching, tuple(troubles))
            with suppress(OSError):  # some disks need space to overwrite a file; the full disk is reported above
                self._held.write_state(watching, troubles)


class ClockWatch:
    """Notices when the wall clock and the elapsed time disagree."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._jumped: tuple[float, Trouble] | None = None

    def look(self, now: float, elapsed: float) -> list[Trouble]:
        """Trouble about a clock that jumped; shown for an hour, as it passes by itself."""
        if self._last is not None:
            ahead = (now - self._last[0]) - (elapsed - self._last[1])
            if abs(ahead) > _JUMP_SECONDS:
                way = "forward" if ahead > 0 else "back"
                text = f"The clock jumped {way} by {ago(abs(ahead))}, to {clock_time(now)}."
                self._jumped = (
                    elapsed,
                    Trouble("clock_jumped", f"{text} What goes by time may come early or late once."),
                )
        self._last = now, elapsed
        if self._jumped is not None and elapsed - self._jumped[0] < _REPORTED_SECONDS:
            return [self._jumped[1]]
        return []


def disk_troubles(paths: Paths) -> Iterator[Trouble]:
    """Troubles of disks that are nearly full, where state and memories are."""
    for place in (paths.state_dir, paths.claude_dir):
        try:
            disk = os.statvfs(place)
        except OSError:
            continue
        free = disk.f_bavail * disk.f_frsize
        if free < LEAST_FREE_BYTES:
            text = f"The disk is nearly full: {size(free)} are left for {place}. What cannot be written waits."
            yield Trouble("disk_nearly_full", text, f"df -h {place}")
            return
