"""Wake file: a command touches it to tell the running daemon that there is something to do."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.paths import Paths


def wake(paths: Paths) -> None:
    """Touch the wake file. Never raises: without it the daemon sees the change at its next pass.

    Opened without blocking: a pipe of this name, which nobody reads, must not hold up the command.
    """
    with suppress(OSError):
        prepare(paths)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(paths.wake_file, flags, 0o600)
        try:
            os.utime(descriptor)
        finally:
            os.close(descriptor)


def prepare(paths: Paths) -> None:
    """Make the folder that the daemon watches. Raises OSError."""
    os.makedirs(os.path.dirname(paths.wake_file), mode=0o700, exist_ok=True)
