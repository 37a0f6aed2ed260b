"""Lock that lets one job at a time use `claude`: the kernel decides, and death gives it back."""

from __future__ import annotations

import fcntl
import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.paths import Paths

_NAME = "lock"
_LOOKS, _LOOK_SECONDS = 5, 0.02
"""Somebody may have looked at this very moment whether it is taken."""


def folder_of(paths: Paths) -> str:
    """Where everything lies that conversations need for a while."""
    return os.path.join(paths.state_dir, "claude")


def take(paths: Paths) -> int | None:
    """The lock, to be closed when the job is done; None where another job has it."""
    os.makedirs(folder_of(paths), mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(os.path.join(folder_of(paths), _NAME), flags, 0o600)
    for _ in range(_LOOKS):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        select.select([], [], [], _LOOK_SECONDS)
    os.close(descriptor)
    return None


def is_taken(paths: Paths) -> bool:
    """Whether a job uses `claude` now. A shared lock is tried: whoever looks at the same time is in nobody's way."""
    with suppress(OSError):  # there is none yet
        descriptor = os.open(os.path.join(folder_of(paths), _NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False
