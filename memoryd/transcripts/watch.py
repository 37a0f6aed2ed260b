"""Watcher of sessions that grow, by watchdog. A hint only: the scan is the truth.

The handler only notes a folder and wakes the daemon: an exception in it would end watchdog's thread silently.
"""

from __future__ import annotations

import errno
import os
import threading
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from watchdog.events import (
    DirCreatedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

# Not opening and closing of files: memoryd does that, and would wake itself.
_EVENTS: list[type[FileSystemEvent]] = [
    DirCreatedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]
_FOLDERS = 10_000
"""Folders that are remembered between two passes; beyond that all are read."""
_STOP_SECONDS = 5.0


class WatchLimitError(OSError):
    """The system lets this user watch no more folders."""


class WatchedPlace(NamedTuple):
    """A directory to be watched."""

    root: str
    is_deep: bool
    """With all folders below it."""
    counts: Callable[[str], bool]
    """Whether a file of this name counts."""


class Watcher:
    """A watch on each place of sessions that is there, and one on the folder of the wake file."""

    def __init__(self, places: Sequence[WatchedPlace], wake_file: str, wake: Callable[[], None]) -> None:
        """Watch from now on. Raises WatchLimitError, and OSError where a folder cannot be watched."""
        self._reports = _Reports(wake)
        self.places = tuple(places)
        wake_place = WatchedPlace(os.path.dirname(wake_file), False, os.path.basename(wake_file).__eq__)
        self._roots = [place.root for place in (*self.places, wake_place)]
        self._identities = list(map(_identity, self._roots))
        self._observer: BaseObserver = Observer()
        others = set(threading.enumerate())
        try:
            self._observer.start()
            for place, identity in zip((*self.places, wake_place), self._identities, strict=True):
                if identity is not None:
                    handler = _Handler(place.counts, self._reports)
                    self._observer.schedule(handler, place.root, recursive=place.is_deep, event_filter=_EVENTS)
        except OSError as error:
            _release(error)
            self.stop()
            if error.errno in (errno.ENOSPC, errno.EMFILE):
                raise WatchLimitError(error.errno, error.strerror) from error
            raise
        # Also threads that watchdog does not report: without its reader the others wait for ever.
        self._threads = set(threading.enumerate()) - others

    @property
    def number(self) -> int:
        """How often something was reported."""
        return self._reports.number

    @property
    def has_root(self) -> bool:
        """Whether any place of sessions is there."""
        return any(identity is not None for identity in self._identities[:-1])

    @property
    def is_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    @property
    def is_in_place(self) -> bool:
        """Whether the watched folders are still those at their paths: a folder that was made again is another one."""
        return list(map(_identity, self._roots)) == self._identities

    def take(self) -> frozenset[str]:
        """The folders in which transcripts were reported to have changed since the last time."""
        return self._reports.take()

    def stop(self) -> None:
        """Stop in a thread, with a time limit: a thread of watchdog may hang on a disk that does not answer.

        It may also sleep until a clock that was set back has caught up, while it waits for the second half of a move.
        """
        stopping = threading.Thread(target=self._stop, name="unwatch", daemon=True)
        stopping.start()
        stopping.join(_STOP_SECONDS)

    def _stop(self) -> None:
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join()
        self._observer.unschedule_all()  # also where its thread had died


class _Reports:
    """Folders in which something has changed; the first report since they were taken wakes the daemon."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._folders: set[str] = set()
        self._has_rung = False
        self.number = 0

    def add(self, paths: list[str]) -> None:
        with self._lock:
            self.number += 1
            if len(self._folders) < _FOLDERS:
                self._folders.update(map(os.path.dirname, paths))
            has_rung, self._has_rung = self._has_rung, True
        if not has_rung:
            self._wake()

    def take(self) -> frozenset[str]:
        with self._lock:
            self._has_rung = False
            folders, self._folders = self._folders, set()
        return frozenset(folders)


class _Handler(FileSystemEventHandler):
    def __init__(self, counts: Callable[[str], bool], reports: _Reports) -> None:
        self._counts = counts
        self._reports = reports

    def dispatch(self, event: FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        # Not memories nor tool results: many of them are written by memoryd itself.
        if event.is_directory or any(self._counts(os.path.basename(path)) for path in paths):
            self._reports.add(paths)


def _release(error: OSError) -> None:
    """Close what watchdog leaves open when it cannot watch all of a tree: it would keep watches, which are scarce."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        begun: Any = frame.f_locals.get("self")
        if type(begun).__name__ == "Inotify" and hasattr(begun, "_kill_w"):
            begun._close_resources()  # noqa: SLF001 - nothing else refers to it
            return


def _identity(path: str) -> tuple[int, int] | None:
    """Device and inode of a folder; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
