"""Lock per memory directory and purpose, among the processes of memoryd; released when the process dies."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths


@contextmanager
def only_process(paths: Paths, memory_dir: str, purpose: str, busy: str, fix: str = "memoryd status") -> Iterator[None]:
    """Hold the lock. Raises BusyError with the sentence `busy` where another process has it."""
    place = paths.place_for(memory_dir, purpose)
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    try:
        with _held(place) as descriptor:
            os.utime(descriptor)  # so that a lock in use is not removed
            yield
    except _TakenError as error:
        raise BusyError(busy, fix) from error


class Cleared(NamedTuple):
    copies: int
    locks: int


def clear(paths: Paths, purpose: str, copies: str, since: float) -> Cleared:
    """Remove leftovers of dead processes: private copies that nobody works on, and locks that were not used since then.

    A copy has the name of the lock of its process.
    """
    locks, desks = os.path.join(paths.state_dir, purpose), os.path.join(paths.state_dir, copies)
    copied, unused = 0, 0
    for name in sorted({*_names(locks), *_names(desks)}):
        place, copy = os.path.join(locks, name), os.path.join(desks, name)
        is_copied, is_used = os.path.lexists(copy), _used_at(place) >= since
        if is_used and not is_copied:
            continue  # not opened: a process that comes now must not find it taken
        with suppress(_TakenError, OSError):
            os.makedirs(locks, mode=0o700, exist_ok=True)
            with _held(place):
                if is_copied:
                    shutil.rmtree(copy)
                    copied += 1
                # Removed while held: a process that opened it before notices, once it has it, that the name is another file.
                if not is_used:
                    os.unlink(place)
                    unused += 1
    return Cleared(copied, unused)


class _TakenError(Exception):
    """Another process has the lock."""


@contextmanager
def _held(place: str) -> Iterator[int]:
    """Hold the lock file of this name; one that was removed between open and lock is opened again."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise _TakenError from error
            if _is_at(place, descriptor):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is_at(place: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(place, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _used_at(place: str) -> float:
    """When a lock was last taken; never, where there is none."""
    try:
        return os.stat(place, follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return -1.0


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
