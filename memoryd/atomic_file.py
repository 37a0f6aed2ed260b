"""Small private files, written in one step: a reader finds the old text or the new one, whole."""

from __future__ import annotations

import os
import stat
from contextlib import suppress


def write(path: str, data: bytes) -> None:
    """Write a file that only the user can read. The folder is made; a symlink is replaced, not followed. Raises OSError.

    The temporary file of a killed process is overwritten by the next.
    """
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    fresh = os.path.join(folder, f".{name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            os.remove(fresh)
        raise


def read(path: str, most_bytes: int = -1) -> bytes:
    """Content of a file, up to `most_bytes`. Raises OSError, also for a symlink."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        return file.read(most_bytes)


def read_regular(path: str, most_bytes: int, *, follow: bool = False) -> bytes | None:
    """The first bytes of a regular file; None for anything else: a checkout may hold a fifo or a link to a device."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most_bytes)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def remove_older(folder: str, since: float) -> None:
    """Remove the files of a folder that were not written since then."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.stat(follow_symlinks=False).st_mtime < since:
                with suppress(FileNotFoundError):
                    os.remove(entry.path)
