"""Files read without following a link, and replaced in one step where they are still what was read.

This needs the standard library alone: it is copied beside the script that takes memoryd back where memoryd itself is gone.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import NamedTuple

from memoryd.clients.json_entries import UnusableError

_MOST_BYTES = 16 << 20


class FileFound(NamedTuple):
    data: bytes | None
    """None: there is no file."""
    status: os.stat_result | None


def read(path: str) -> FileFound:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return FileFound(None, None)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise UnusableError("is no regular file")
    with open(descriptor, "rb") as file:
        if status.st_size > _MOST_BYTES:
            raise UnusableError(f"is larger than {_MOST_BYTES >> 20} MB")
        return FileFound(file.read(), status)


def text_of(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        raise UnusableError("is not UTF-8") from error


def read_only_part(path: str, found: FileFound) -> str:
    """The file or its folder, where a user has protected it: a rename would pass over that. Empty: neither is."""
    folder = os.path.dirname(path)
    if found.status is not None and not os.access(path, os.W_OK):
        return path
    return folder if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK) else ""


def replace(path: str, found: FileFound, after: bytes | None) -> bool:
    """Put the new text in place, or take the file away; False: it is no longer what was read, and nothing was done."""
    if after is None:
        if read(path).data != found.data:
            return False
        os.remove(path)
        return True
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    clear_leftovers(folder, name)
    fresh = os.path.join(folder, f".{name}.memoryd-{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            if found.status is not None:
                _dress(descriptor, found.status)
            file.write(after)
            file.flush()
            os.fsync(descriptor)
        if read(path).data != found.data:  # between this line and the next lies all that a change may be lost in
            os.remove(fresh)
            return False
        os.replace(fresh, path)
    except BaseException:
        with suppress(OSError):
            os.remove(fresh)
        raise
    return True


def _dress(descriptor: int, like: os.stat_result) -> None:
    """With the rights of the old file, and its owner where root does this."""
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
        with suppress(PermissionError):  # a group that the user is not in
            os.fchown(descriptor, like.st_uid, like.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))


def clear_leftovers(folder: str, name: str) -> None:
    """Remove what processes left that were killed in the middle of this."""
    for left in os.listdir(folder):
        match = re.fullmatch(rf"\.{re.escape(name)}\.memoryd-(\d+)", left)
        if match and not _is_another_alive(int(match[1])):
            with suppress(OSError):
                os.remove(os.path.join(folder, left))


def _is_another_alive(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
