"""Being the only process of ours that does something in a memory directory: the kernel decides, and death gives it back."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths


@contextmanager
def only_one(paths: Paths, memory_dir: str, purpose: str, busy: str) -> Iterator[None]:
    """Raises BusyError with that sentence where another process is inside."""
    place = paths.place_for(memory_dir, purpose)
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(busy, "memoryd status") from error
        yield
    finally:
        os.close(descriptor)
