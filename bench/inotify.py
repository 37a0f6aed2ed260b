"""The least that can notice a growing file on Linux: one thread that blocks in a read of inotify's descriptor."""

from __future__ import annotations

import ctypes
import os
import queue
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MODIFY = 0x2
_IGNORED = 0x8000
_MASK_AT = slice(4, 8)  # of an event: the watch's number, then what happened
_READ_BYTES = 1 << 16
_JOIN_SECONDS = 5.0


@contextmanager
def reports(folders: Iterable[str]) -> Iterator[queue.SimpleQueue[float]]:
    """The moments, by `time.perf_counter`, at which the system said that a file in one of the folders was written to."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = _checked(libc.inotify_init1(os.O_CLOEXEC))
    watches = [_checked(libc.inotify_add_watch(descriptor, os.fsencode(folder), _MODIFY)) for folder in folders]
    moments: queue.SimpleQueue[float] = queue.SimpleQueue()

    def listen() -> None:
        while True:
            data = os.read(descriptor, _READ_BYTES)
            if int.from_bytes(data[_MASK_AT], "little") & _IGNORED:
                return
            moments.put(time.perf_counter())

    thread = threading.Thread(target=listen, name="inotify", daemon=True)
    thread.start()
    try:
        yield moments
    finally:
        libc.inotify_rm_watch(descriptor, watches[0])  # is reported itself, which ends the thread
        thread.join(_JOIN_SECONDS)
        os.close(descriptor)


def _checked(number: int) -> int:
    if number < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return number
