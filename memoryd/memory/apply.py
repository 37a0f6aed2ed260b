"""The three ways a file of the memory directory changes: created, replaced, taken away. Never over another's edit.

The only module that writes memory files. Each way goes through a temporary file whose name is in the database before
it exists, so whatever a killed process leaves is known, and `resume` finishes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import stat
from typing import TYPE_CHECKING, Literal

from memoryd.memory.exchange import exchange, finish_exchange, put_back, rename_if_free

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.changes import PlannedFile

    Rescue = Callable[[str, bytes], None]
    """Keeps the bytes of an edit that cannot stay in place, by the file's name."""

Content = bytes | Literal["no file"] | None
"""None: the name is free. "no file": a link, a directory, or a file that cannot be read. Nothing that we wrote."""

_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.EACCES, errno.EPERM)
_WRITER_SECONDS = 2.0
_POLL_SECONDS = 0.002
_COMPARED_BYTES = 64 << 20


def apply(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> bool:
    """Make the file what is planned. False where somebody changed it since it was read: then theirs stays."""
    if file.before is None:
        return file.after is None or _create(directory, file, file.after)
    if file.after is None:
        return _take_away(directory, file, file.before, rescue)
    return _replace(directory, file, file.before, file.after, rescue)


def take_back(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> None:
    """Make the file what it was, however far the plan or an earlier attempt to take it back had come."""
    back = _reversed(file)
    settle(directory, back, rescue)
    if settle(directory, file, rescue):
        apply(directory, back, rescue)


def resume(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> bool:
    """Finish what a killed process began with this file. False where somebody else's edit is in its place."""
    settle(directory, _reversed(file), rescue)
    if settle(directory, file, rescue):
        return True
    return _content(directory, file.name) == file.before and apply(directory, file, rescue)


def settle(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> bool:
    """Bring a step that a kill or an error cut off to one of its ends. Whether that is the planned one.

    The temporary file tells how far it came. For a new file it is ours, whole or not. For one taken away it is what was
    there. For a replaced one it is ours before the exchange, and what was there after it.
    """
    finish_exchange(directory.descriptor, file.temporary, file.name)
    left = _content(directory, file.temporary)
    live = _content(directory, file.name)
    if left is None:
        return live == file.after
    if file.after is None:
        if left == file.before:
            _unlink(directory, file.temporary)
            return True  # also if somebody has made a new file of that name since
        _return_to_name(directory, file, rescue)
        return False
    is_ours = isinstance(left, bytes) and file.after.startswith(left)
    if file.before is not None:
        if live == file.after != left and left != file.before:  # exchanged, and not looked at yet
            return _give_back(directory, file, file.after, rescue)
        if left == file.before and (live == file.after or not is_ours):  # exchanged; perhaps edited by somebody since
            _unlink(directory, file.temporary)
            return True
        if not is_ours:  # somebody's edit, displaced, and another one in its place since
            _keep(directory, file, rescue)
            return False
    _unlink(directory, file.temporary)
    return live == file.after


def sync(directory: MemoryDirectory) -> None:
    os.fsync(directory.descriptor)


def _reversed(file: PlannedFile) -> PlannedFile:
    """The plan that takes this one back, by a temporary file of its own: what one of them left says nothing of the other."""
    return file._replace(
        temporary=f"{file.temporary}-back",
        before=file.after,
        before_mtime_ns=file.after_mtime_ns,
        after=file.before,
        after_mtime_ns=file.before_mtime_ns,
    )


def _create(directory: MemoryDirectory, file: PlannedFile, after: bytes) -> bool:
    _write_temporary(directory, file, after)
    try:
        rename_if_free(directory.descriptor, file.temporary, file.name)
    except FileExistsError:
        _unlink(directory, file.temporary)
        return False
    return True


def _replace(directory: MemoryDirectory, file: PlannedFile, before: bytes, after: bytes, rescue: Rescue) -> bool:
    """Exchange the new file for the old one, then look at what came out.

    Comparing first and renaming then would lose an edit made in between.
    """
    _write_temporary(directory, file, after)
    try:
        exchange(directory.descriptor, file.temporary, file.name)
    except FileNotFoundError:  # deleted since it was read
        _unlink(directory, file.temporary)
        return False
    except FileExistsError:  # made anew while the name was free for an instant
        return settle(directory, file, rescue)
    if _is_untouched(directory, file.temporary, before):
        _unlink(directory, file.temporary)
        return True
    return _give_back(directory, file, after, rescue)


def _give_back(directory: MemoryDirectory, file: PlannedFile, after: bytes, rescue: Rescue) -> bool:
    """Put back what the exchange displaced. Always False.

    For an instant our version stood under the name, and somebody may have begun to edit that: theirs is the later word.
    """
    displaced = _content(directory, file.temporary)
    try:
        exchange(directory.descriptor, file.temporary, file.name)
        _wait_for_writer(directory, file.temporary)
        if _content(directory, file.temporary) == after:
            _unlink(directory, file.temporary)
        else:
            exchange(directory.descriptor, file.temporary, file.name)
            _keep(directory, file, rescue)
    except FileNotFoundError:  # what stood under the name was deleted in that instant
        _return_to_name(directory, file, rescue)
    except FileExistsError:  # made anew while the name was free for an instant; ours is in the temporary file
        if isinstance(displaced, bytes):
            rescue(file.name, displaced)
        _unlink(directory, file.temporary)
    return False


def _take_away(directory: MemoryDirectory, file: PlannedFile, before: bytes, rescue: Rescue) -> bool:
    try:
        # The temporary name is free. Linking and unlinking, where the kernel knows no better way, could unlink what an
        # editor has put in the file's place in between.
        os.rename(file.name, file.temporary, src_dir_fd=directory.descriptor, dst_dir_fd=directory.descriptor)
    except FileNotFoundError:  # deleted since it was read
        return False
    if _is_untouched(directory, file.temporary, before):
        _unlink(directory, file.temporary)
        return True
    _return_to_name(directory, file, rescue)
    return False


def _return_to_name(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> None:
    try:
        put_back(directory.descriptor, file.temporary, file.name)
    except FileExistsError:  # made anew meanwhile
        _keep(directory, file, rescue)


def _keep(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> None:
    """Move somebody's edit from the temporary file to the database. What is no file stays: it is theirs."""
    _wait_for_writer(directory, file.temporary)
    data = _content(directory, file.temporary)
    if isinstance(data, bytes):
        rescue(file.name, data)
        _unlink(directory, file.temporary)


def _write_temporary(directory: MemoryDirectory, file: PlannedFile, data: bytes) -> None:
    """Whole, on the disk, with its final mode and mtime, before it gets its name."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(file.temporary, flags, 0o600, dir_fd=directory.descriptor)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, file.mode)
        if file.after_mtime_ns is not None:
            os.utime(descriptor, ns=(file.after_mtime_ns, file.after_mtime_ns))
        os.fsync(descriptor)
    except BaseException:
        _unlink(directory, file.temporary)
        raise
    finally:
        os.close(descriptor)


def _is_untouched(directory: MemoryDirectory, name: str, expected: bytes) -> bool:
    """Whether a file holds these bytes and nobody has it open for writing.

    In this order: a writer that is gone by the second look has written by then. None can come; nobody knows the name.
    """
    return not _is_being_written(directory, name) and _content(directory, name) == expected


def _wait_for_writer(directory: MemoryDirectory, name: str) -> None:
    waited = 0.0
    while waited < _WRITER_SECONDS and _is_being_written(directory, name):
        select.select([], [], [], _POLL_SECONDS)
        waited += _POLL_SECONDS


def _is_being_written(directory: MemoryDirectory, name: str) -> bool:
    """Whether some process has the file open for writing: it may still change after we looked.

    The kernel grants a read lease only where there is no writer. Systems without leases cannot tell.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        descriptor = _open_for_reading(directory, name)
    except OSError:
        return False
    try:
        # A writer that comes now breaks the lease with a signal: one that does no harm, instead of SIGIO, which kills.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)  # and the lease with it
    return False


def _content(directory: MemoryDirectory, name: str) -> Content:
    """The bytes of a regular file. Bounded: no memory and no edit of one is that long."""
    try:
        descriptor = _open_for_reading(directory, name)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _NO_FILE:
            return "no file"
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return "no file"
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(_COMPARED_BYTES)
    finally:
        os.close(descriptor)


def _open_for_reading(directory: MemoryDirectory, name: str) -> int:
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory.descriptor)


def _unlink(directory: MemoryDirectory, name: str) -> None:
    try:
        os.unlink(name, dir_fd=directory.descriptor)
    except FileNotFoundError:
        return
