"""Health of the watcher: restarts it, and notices growth that it does not report."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.backoff import WATCH
from memoryd.daemon.single_instance import Trouble
from memoryd.daemon.wake_file import prepare
from memoryd.formatting import short
from memoryd.paths import is_below
from memoryd.transcripts.watch import WatchedPlace, Watcher, WatchLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.clients.base import CodingClient
    from memoryd.paths import Paths

_BELIEVED_MISSES = 1
"""One missed report may be the system's (its queue was full, a folder was moved in), and a new watch mends that."""
_FEW_FOLDERS = 100
"""Number of folders from which on reading all is no more work."""
_DOUBT_SECONDS = 1.0
CONFIRM_SECONDS = 2 * _DOUBT_SECONDS
"""Time to the next pass after growth that was not reported: the report may be on its way."""


class WatchHealth:
    """Called before and after every pass. Without a watcher the daemon is slower, never wrong."""

    def __init__(
        self, clients: Sequence[CodingClient], paths: Paths, wake: Callable[[], None], log: Callable[..., object]
    ) -> None:
        self._clients = clients
        self._paths = paths
        self._projects: tuple[str, ...] = ()
        self._wake = wake
        self._log = log
        self._watcher: Watcher | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._trouble: Trouble | None = None
        self._misses = 0  # in a row
        self._missed_in = ""
        self._reported: frozenset[str] = frozenset()
        self._suspects: frozenset[str] = frozenset()
        self._suspected_at = 0.0
        self._has_looked = False  # once since the watch began: only then growth must have been reported

    @property
    def troubles(self) -> list[Trouble]:
        found = []
        if self._trouble is not None:
            found.append(self._trouble)
        elif self._misses > _BELIEVED_MISSES:
            found.append(
                Trouble(
                    "polling_only",
                    f"The system does not report that transcripts below {self._missed_in} grow, as on a network disk."
                    " They are looked at every `scan.interval_seconds` instead: nothing is lost, it takes longer.",
                    f"df -T {self._missed_in}",
                )
            )
        roots = [place.root for place in self._places()]
        if not any(map(os.path.isdir, roots)):
            text = f"{short(roots[0], self._paths.home)}: there is nothing there yet, nor where other agents keep sessions."
            found.append(Trouble("root_missing", f"{text} It appears when one is used for the first time."))
        return found

    def use_projects(self, roots: Sequence[str]) -> None:
        """Watch also in these directories, for clients that keep sessions in their projects."""
        self._projects = tuple(roots)

    def _places(self) -> list[WatchedPlace]:
        return [
            WatchedPlace(place.root, bool(place.folders), client.is_session)
            for client in self._clients
            for place in client.session_places(self._paths, self._projects)
            if place.folders or os.path.isdir(place.root)  # a project that is gone is nothing to wait for
        ]

    @property
    def watching(self) -> str:
        is_believed = self._watcher is not None and self._watcher.has_root and self._misses <= _BELIEVED_MISSES
        return "events" if is_believed else "polling"

    @property
    def number(self) -> int:
        """How often something was reported, of the present watch."""
        return self._watcher.number if self._watcher else 0

    @property
    def has_suspects(self) -> bool:
        return bool(self._suspects)

    def keep(self, elapsed: float) -> None:
        """Start the watcher; restart it where it died, its folder was replaced, or there are other places."""
        watcher = self._watcher
        roots = [place.root for place in self._places()]
        if (
            watcher is not None
            and watcher.is_alive
            and watcher.is_in_place
            and roots == [place.root for place in watcher.places]
        ):
            return
        if watcher is not None:
            if not watcher.is_alive and watcher.is_in_place:
                self._log("watcher died", restarts=self._failures)
                self._trouble = self._died()
                self._back_off(elapsed)
            self.stop()
        if elapsed >= self._retry_at:
            self._begin(elapsed)

    def _begin(self, elapsed: float) -> None:
        try:
            prepare(self._paths)
            self._watcher = Watcher(self._places(), self._paths.wake_file, self._wake)
        except OSError as error:
            self._trouble = self._failed(error)
            self._log("cannot watch", reason=error.strerror)
            self._back_off(elapsed)
        else:
            self._trouble = None
        self._reported = self._suspects = frozenset()
        self._has_looked = False

    def _failed(self, error: OSError) -> Trouble:
        if isinstance(error, WatchLimitError):
            is_of_folders = error.errno == errno.ENOSPC
            what = "watched folders" if is_of_folders else "programs that watch"
            fix = _more("max_user_watches", 524_288) if is_of_folders else _more("max_user_instances", 1024)
            return Trouble(
                "watch_limit",
                f"The system's limit of {what} is reached. Transcripts are looked at every `scan.interval_seconds` instead.",
                fix,
            )
        place = os.fsdecode(error.filename) if error.filename else self._places()[0].root
        return Trouble(
            "polling_only",
            f"{place} cannot be watched: {error.strerror}. Transcripts are looked at every `scan.interval_seconds` instead.",
            f"ls -ld {place}",
        )

    def _died(self) -> Trouble:
        text = "The watch on transcripts ended by itself, and not for the first time. It is begun anew after a while;"
        return Trouble("polling_only", f"{text} transcripts are looked at every `scan.interval_seconds` meanwhile.")

    def _back_off(self, elapsed: float) -> None:
        """Delay the next start of the watcher: none the first time, then longer each time."""
        if self._failures:
            self._retry_at = elapsed + WATCH.delay(self._failures)
        self._failures += 1

    def take(self) -> frozenset[str] | None:
        """Note which folders were reported until now; called right before a pass.

        Return the folders to read when a report is all that woke us; None: all of them.
        """
        if self._watcher is not None:
            self._reported |= self._watcher.take()
        is_believed = self._has_looked and not self._misses and not self._suspects
        return self._reported if is_believed and 0 < len(self._reported) <= _FEW_FOLDERS else None

    def judge(self, grown: frozenset[str], elapsed: float) -> None:
        """Compare the growth that a pass found with what was reported before it.

        Growth that is not reported until a later pass was missed. The first pass after a start also finds older growth,
        which does not count.
        """
        reported, self._reported = self._reported, frozenset()
        missing = self._suspects - reported
        if missing and elapsed - self._suspected_at >= _DOUBT_SECONDS:
            self._missed(missing, elapsed)
            return
        if reported & (grown | self._suspects):
            self._misses = self._failures = 0
        if not missing and self._has_looked and self._watcher and self._watcher.has_root:
            missing, self._suspected_at = grown - reported, elapsed
        self._suspects = missing
        self._has_looked = True

    def _missed(self, folders: frozenset[str], elapsed: float) -> None:
        """Restart the watcher; where that did not help before, only from time to time."""
        self._misses += 1
        self._missed_in = next((place.root for place in self._places() if is_below(min(folders), place.root)), "/")
        self._log("growth not reported", folders=len(folders), times=self._misses)
        self._suspects = frozenset()
        if self._misses <= _BELIEVED_MISSES or elapsed >= self._retry_at:
            self._retry_at = elapsed + WATCH.longest_seconds if self._misses > _BELIEVED_MISSES else 0.0
            self.stop()
            self._begin(elapsed)
            self._wake()  # growth in between was not reported

    def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None


def _more(limit: str, least: int) -> str:
    """The command that raises a limit: to twice what it is."""
    now = 0
    with suppress(OSError, ValueError), open(f"/proc/sys/fs/inotify/{limit}", encoding="ascii") as file:
        now = int(file.read())
    return f"sudo sysctl fs.inotify.{limit}={max(2 * now, least)}"
