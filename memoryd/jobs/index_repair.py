"""Repair of indexes, without a memory changed: of a MEMORY.md that somebody deleted or cut, and of lines of global memories.

A global memory has a line in the index of every project. A commit in the global directory brings at most one of them up to date:
the commands refresh the others afterwards, and a daemon finds those that a killed command, or its own children, left behind.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.errors import MemorydError
from memoryd.memory.index_check import index_fault
from memoryd.memory.limits import INDEX_BYTES, INDEX_NAME
from memoryd.memory.stats import read_start
from memoryd.projects import is_excluded
from memoryd.state import changes, settings
from memoryd.state.projects import all_projects

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.state.database import Database

SETTLE_SECONDS = 5.0
"""A client writes a memory first and its line afterwards: so young a difference is left to it."""

_AGAIN_SECONDS = 600.0
_MOST_AT_ONCE = 100
"""The others are found again at the next look."""

_REFRESHED = "global_lines"
"""The last change in the global directory that the indexes of all projects tell of."""

_Stamp = tuple[int, int, int, int]


def refresh_global_lines(database: Database, config: Config, now: float) -> int:
    """Bring the lines of global memories up to date in every index, after commits; return how many were changed.

    Costs two queries while nothing was committed in the global directory. What a kill leaves is done after the next command.
    """
    global_dir = database.paths.global_dir if database.paths is not None else ""
    if not global_dir or not config.index.write:
        return 0
    last, done = changes.last_closed(database, global_dir), settings.get(database, _REFRESHED)
    if last == (done.value if done else 0):
        return 0
    stale = []
    for memory_dir in _watched(database, config):
        with suppress(OSError, MemorydError):  # `status` and `doctor` tell that it cannot be read
            if (fault := index_fault(memory_dir, global_dir)) is not None and fault.stale:
                stale.append(memory_dir)
    changed = repair_indexes(database, [*stale, *_left_alone(database, config, global_dir)], now)
    settings.put(database, _REFRESHED, last, now)
    return changed


def _watched(database: Database, config: Config) -> list[str]:
    """Memory directories whose index memoryd keeps right: of all projects, also of those that only commands have seen."""
    roots = {project.memory_dir: project.root for project in all_projects(database)}
    found = [path for path, root in roots.items() if not is_excluded(root, config.projects.exclude)]
    others = [path for path in changes.directories(database) if path not in roots]
    if not others or database.paths is None:
        return found
    from memoryd.memory.global_lines import carries_global_lines  # noqa: PLC0415 - as in `repair_indexes`

    return found + [path for path in others if carries_global_lines(path, database.paths.global_dir)]


def _left_alone(database: Database, config: Config, global_dir: str) -> list[str]:
    """Memory directories of excluded projects whose index has lines of global memories, which nobody would keep right."""
    return [
        project.memory_dir
        for project in all_projects(database)
        if is_excluded(project.root, config.projects.exclude)
        and f"]({global_dir}/".encode()
        in (read_start(os.path.join(project.memory_dir, INDEX_NAME), INDEX_BYTES) or b"")
    ]


class IndexWatch:
    """Finds wrong indexes. It remembers what it has seen: a directory that has not changed costs two stats."""

    def __init__(self) -> None:
        self._right: dict[str, _Stamp] = {}
        self._handed_out: dict[str, tuple[_Stamp, float]] = {}

    def wrong(self, database: Database, config: Config, now: float) -> list[str]:
        """Memory directories whose index is to be made right now; none where the config leaves that to somebody else."""
        found: list[str] = []
        if not config.index.write:
            return found
        global_dir = database.paths.global_dir if database.paths is not None else ""
        global_stamp = _stamp_of_files(global_dir)
        for memory_dir in _watched(database, config):
            stamp = _stamp(memory_dir, global_stamp)
            if stamp is None or self._right.get(memory_dir) == stamp:
                continue
            try:
                fault = index_fault(memory_dir, global_dir)
            except (OSError, MemorydError):
                continue  # `status` and `doctor` tell that it cannot be read
            if fault is None:
                self._right[memory_dir] = stamp
            elif self._is_due(memory_dir, stamp, now, is_missing=fault.is_missing) and len(found) < _MOST_AT_ONCE:
                self._handed_out[memory_dir] = stamp, now
                found.append(memory_dir)
        return found

    def _is_due(self, memory_dir: str, stamp: _Stamp, now: float, *, is_missing: bool) -> bool:
        """Whether to try: not while a client may be at it, and not every minute where it cannot be written."""
        tried = self._handed_out.get(memory_dir)
        if tried is not None and tried[0] == stamp and 0 <= now - tried[1] < _AGAIN_SECONDS:
            return False
        return is_missing or not 0 <= now - max(stamp[:2]) / 1e9 < SETTLE_SECONDS


def _stamp_of_files(global_dir: str) -> int:
    """A number that changes when a file comes to the global directory, goes, or is edited in its place."""
    found: set[tuple[str, int]] = set()
    with suppress(OSError), os.scandir(global_dir or os.devnull) as entries:
        found = {(entry.name, entry.stat(follow_symlinks=False).st_mtime_ns) for entry in entries}
    return hash(frozenset(found))


def _stamp(memory_dir: str, global_stamp: int) -> _Stamp | None:
    """When the directory and its index were last changed, and the size of that; None where there is no directory.

    The lines of global memories are right only as long as their files stay as they are: `global_stamp`.
    """
    try:
        changed_at = os.stat(memory_dir).st_mtime_ns
    except OSError:
        return None
    try:
        status = os.lstat(os.path.join(memory_dir, INDEX_NAME))
    except OSError:
        return changed_at, 0, -1, global_stamp
    return changed_at, status.st_mtime_ns, status.st_size, global_stamp


def repair_indexes(database: Database, memory_dirs: list[str], now: float) -> int:
    """Make these indexes right; return how many were changed. Whatever cannot be written waits for the next look."""
    from memoryd.memory.commit import reindex  # noqa: PLC0415 - megabytes that an idle daemon need not hold
    from memoryd.memory.directory import open_directory  # noqa: PLC0415 - as above

    changed = 0
    for memory_dir in memory_dirs:
        try:
            with open_directory(memory_dir) as directory:
                changed += reindex(database, directory, now).change_id is not None
        except (OSError, MemorydError):
            continue
    return changed
