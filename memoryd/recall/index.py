"""The terms of a memory directory, kept true to its files: what a client or a person edited is read again."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.clock import elapsed
from memoryd.errors import BusyError
from memoryd.formatting import is_utf8
from memoryd.memory.limits import FILE_BYTES, INDEX_NAME
from memoryd.recall.reading import learnt_memories, terms_by_two, triggers_by_name

if TYPE_CHECKING:
    from memoryd.recall.store import Directory, IndexedMemory, Store

_MANY = 2000
"""A look at so many files takes 5 ms, and nobody has more. Who has waits for no look that was made a minute ago."""
_FRESH_SECONDS = 60.0
_SOME, _FEW = 10_000, 20
"""So many are taken in at once; fewer where somebody waits."""
_SOME_TRIGGERS = 500
_DEAD_SHARE = 8
"""When an eighth as many memories have gone as there are, their terms are cleared away: a word that only they had is rare again."""
_TICK_SECONDS = 0.02
"""The clock of a file system may stand still for so long: who writes twice in it leaves the same times behind."""
_UNSETTLED = -1
"""Kept for the size of a file that was read in the very moment it was written: no file has it, so it is read again."""

_Stamp = tuple[int, int, int]


def up_to_date_index(
    store: Store, memory_dir: str, now: float, *, thorough: bool = False, seconds: float | None = None
) -> Directory | None:
    """A directory whose terms are those of its files now; None where there is no directory.

    A look costs a stat for each file. Where there are very many it is not made at every prompt unless `thorough`: then a
    file that was added, removed or replaced is still noticed at once, one that was edited in its place within a minute.

    `seconds`: somebody waits, and no more is read than can be in so long, and not while another process writes. What is
    left is read by whoever looks next without a limit; until then the directory `is_unfinished`. So it is as well where
    thousands were read for the first time: their terms come first, and what they speak of with `read_triggers`.
    """
    try:
        mtime_ns = os.stat(memory_dir).st_mtime_ns
        known = store.directory(memory_dir)
        if known is not None and known.memories > _MANY and not thorough:
            is_fresh = 0 <= now - known.checked_at < _FRESH_SECONDS
            if is_fresh and known.mtime_ns == mtime_ns:
                return known
        files = _files(memory_dir)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    if known is None or known.memories > _MANY or _stamps(store, known) != files:
        is_needed = known is None and seconds is None
        with suppress(*() if is_needed else (BusyError,)):  # who is at it already will have done it for us
            _refresh(store, memory_dir, mtime_ns, now, files, wait=is_needed, seconds=seconds)
        known = store.directory(memory_dir)
    return known


def _stamps(store: Store, known: Directory | None) -> dict[str, _Stamp]:
    """The memories whose terms are kept, as they were then."""
    found = store.known(known.id) if known is not None else []
    return {one.name: (one.mtime_ns, one.ctime_ns, one.size) for one in found}


def _refresh(
    store: Store,
    memory_dir: str,
    mtime_ns: int,
    now: float,
    files: dict[str, _Stamp],
    *,
    wait: bool,
    seconds: float | None,
) -> None:
    """Read what has changed, some at a time: whoever is killed in between has not worked in vain.

    The files are read before the lock is taken, so that nobody waits for a slow disk.
    """
    until = None if seconds is None else elapsed() + seconds
    known = store.directory(memory_dir)
    before = _stamps(store, known)
    changed = [name for name, stamp in files.items() if before.get(name) != stamp]
    gone = before.keys() - files.keys()
    dead = (known.dead if known else 0) + len(gone) + len(before.keys() & set(changed))
    is_stale = dead * _DEAD_SHARE > len(files) and (until is None or len(files) <= _FEW)
    todo, at_once = (list(files), len(files) + 1) if is_stale else (changed, _SOME if until is None else _FEW)
    # The oldest first: where nothing else tells two memories apart, the one that was learnt last counts for more.
    todo.sort(key=lambda name: (files[name][0], name))
    read = terms_by_two if until is None else learnt_memories
    for at in range(0, len(todo) or 1, at_once):
        some = {name: _settled(files[name], now) for name in todo[at : at + at_once]}
        learnt = read(store.paths, memory_dir, some)
        is_last = at + at_once >= len(todo)
        checked = (0 if _is_recent(mtime_ns, now) else mtime_ns, now) if is_last else (0, 0.0)
        with store.transaction(wait=wait):
            directory_id = store.record_check(memory_dir, *checked)
            if is_stale:
                store.forget_all(directory_id)
            already = _stamps(store, store.directory(memory_dir))  # another process may have been faster
            store.forget(directory_id, already.keys() - files.keys())
            store.learn(directory_id, [one for one in learnt if already.get(one.name) != one.stamp])
        if until is not None and elapsed() > until:
            break


def read_triggers(store: Store, memory_dir: str, *, seconds: float | None = None) -> None:
    """Read what memories speak of where only their terms were taken; no longer than so many seconds, if somebody waits."""
    until = None if seconds is None else elapsed() + seconds
    directory = store.directory(memory_dir)
    while directory is not None and directory.without_triggers:
        waiting = store.without_triggers(directory.id, _SOME_TRIGGERS if until is None else _FEW)
        found = triggers_by_name(memory_dir, waiting.values())
        with suppress(*() if until is None else (BusyError,)), store.transaction(wait=until is None):
            store.add_triggers(directory.id, {number: found[name] for number, name in waiting.items()})
        if until is not None and elapsed() > until:
            break
        directory = store.directory(memory_dir)


def _settled(stamp: _Stamp, now: float) -> _Stamp:
    return (*stamp[:2], _UNSETTLED) if _is_recent(stamp[1], now) else stamp


def _is_recent(at_ns: int, now: float) -> bool:
    """Whether it may still be the same tick. A time far ahead is another clock's, and says nothing."""
    return -_TICK_SECONDS < at_ns / 1e9 - now < 1.0


def memory_names(memory_dir: str) -> list[str]:
    """The memories that are searched, the newest first; none where there is no directory."""
    try:
        files = _files(memory_dir)
    except OSError:
        return []
    return sorted(files, key=lambda name: (-files[name][0], name))


def _files(memory_dir: str) -> dict[str, _Stamp]:
    found = {}
    with os.scandir(memory_dir) as entries:
        for entry in entries:
            name = entry.name
            if not name.endswith(".md") or name.startswith(".") or name == INDEX_NAME or not is_utf8(name):
                continue
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and status.st_size <= FILE_BYTES:
                    found[name] = status.st_mtime_ns, status.st_ctime_ns, status.st_size
    return found


def is_unchanged(memory_dir: str, known: IndexedMemory) -> bool:
    """Whether a file is the one whose terms are kept."""
    try:
        status = os.lstat(os.path.join(memory_dir, known.name))
    except OSError:
        return False
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size) == (known.mtime_ns, known.ctime_ns, known.size)


def changed_at_ns(memory_dir: str, name: str) -> int | None:
    """When a memory was last changed; None where it is no file of the directory any more."""
    try:
        status = os.lstat(os.path.join(memory_dir, os.path.basename(name)))
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else None
