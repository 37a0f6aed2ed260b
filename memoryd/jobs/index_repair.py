"""Repair of indexes between commits: a MEMORY.md that somebody deleted or cut is made right again, without a memory changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.errors import MemorydError
from memoryd.memory.index_check import index_fault
from memoryd.memory.limits import INDEX_NAME
from memoryd.projects import is_excluded
from memoryd.state.projects import all_projects

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.state.database import Database

SETTLE_SECONDS = 5.0
"""A client writes a memory first and its line afterwards: so young a difference is left to it."""

_AGAIN_SECONDS = 600.0
_MOST_AT_ONCE = 100
"""The others are found again at the next look."""

_Stamp = tuple[int, int, int, int | None]


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
        global_stamp = _stamp(global_dir) if global_dir else None
        for project in all_projects(database):
            memory_dir = project.memory_dir
            stamp = _stamp(memory_dir, global_stamp)
            if stamp is None or self._right.get(memory_dir) == stamp:
                continue
            if is_excluded(project.root, config.projects.exclude):
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


def _stamp(memory_dir: str, global_stamp: _Stamp | None = None) -> _Stamp | None:
    """When the directory and its index were last changed, and the size of that; None where there is no directory.

    The lines of global memories are right only as long as that directory stays as it is.
    """
    try:
        changed_at = os.stat(memory_dir).st_mtime_ns
    except OSError:
        return None
    try:
        status = os.lstat(os.path.join(memory_dir, INDEX_NAME))
    except OSError:
        return changed_at, 0, -1, global_stamp and global_stamp[0]
    return changed_at, status.st_mtime_ns, status.st_size, global_stamp and global_stamp[0]


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
