"""Settings file of a client, edited in one step: killed anywhere, it is the old one or the new one, whole.

1. read the file, without following a link
2. make its new text
3. keep what the caller wants to be kept of it
4. write the new text beside it, look whether the file is still as it was read, rename; if not, from 1
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.json_entries import UnusableError
from memoryd.clients.settings import SettingsChange
from memoryd.errors import BusyError, ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_BYTES = 16 << 20
_TRIES = 3
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class FileFound(NamedTuple):
    data: bytes | None
    """None: there is no file."""
    status: os.stat_result | None


def edit(
    path: str,
    change: Callable[[str | None], str | None],
    *,
    again: str,
    keep: Callable[[bytes | None], str] = lambda _: "",
) -> SettingsChange:
    """Give a file the text that `change` makes of it; None stands for no file.

    `keep` is called with what is about to be replaced, and returns where it is kept; `again` is the command that tries this
    again. Raises ClientError, BusyError.
    """
    for _ in range(_TRIES):
        with sentences(path):
            found = read(path)
            after = change(text_of(found.data))
        data = after.encode() if after is not None else None
        backup = ""
        if data != found.data:
            _refuse_what_is_read_only(path, found)
            backup = keep(found.data)
            with sentences(path):
                if not _replace(path, found, data):
                    continue
        return SettingsChange(path, found.data, data, backup)
    raise BusyError(f"{path} is being changed by somebody else again and again.", again)


def target_of(path: str, *, follow: bool, fix: str) -> str:
    """The file to change. A link is a decision of the user's, who says whether it is to be followed. Raises ClientError."""
    if not os.path.islink(path):
        return path
    leads_to = os.path.realpath(path)
    if not follow:
        raise ClientError(f"{path} is a link to {leads_to}, which may be shared with other machines.", fix)
    return leads_to


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


def _refuse_what_is_read_only(path: str, found: FileFound) -> None:
    """A rename would pass over what a user has protected."""
    folder = os.path.dirname(path)
    if found.status is not None and not os.access(path, os.W_OK):
        raise ClientError(f"{path} is read-only, so it stays as it is.", f"chmod u+w {shlex.quote(path)}")
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        raise ClientError(f"{folder} is read-only, so nothing can be put into it.", f"chmod u+wx {shlex.quote(folder)}")


def _replace(path: str, found: FileFound, after: bytes | None) -> bool:
    """Put the new text in place, or take the file away; False: it is no longer what was read, and nothing was done."""
    if after is None:
        if read(path).data != found.data:
            return False
        os.remove(path)
        return True
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _clear(folder, name)
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


def _clear(folder: str, name: str) -> None:
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


@contextmanager
def sentences(path: str) -> Iterator[None]:
    """What goes wrong with a file, told with the command that helps."""
    quoted = shlex.quote(path)
    try:
        yield
    except UnusableError as error:
        raise ClientError(f"{path} {error}, so it stays as it is.", f"${{EDITOR:-vi}} {quoted}") from error
    except PermissionError as error:
        fix = f"chmod u+rw {quoted}" if os.path.lexists(path) else f"ls -ld {shlex.quote(os.path.dirname(path))}"
        raise ClientError(f"You may not read or write {path}.", fix) from error
    except OSError as error:
        fix = f"df -h {shlex.quote(os.path.dirname(path))}" if error.errno in _NO_ROOM else f"ls -ld {quoted}"
        raise ClientError(f"{path} cannot be used: {error.strerror}.", fix) from error
