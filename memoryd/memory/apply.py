"""Writing of memory files: create, replace, remove; an edit by somebody else is never overwritten.

The only module that writes memory files. Every change goes through a temporary file whose name is in the database before
it exists, so that `resume` can finish what a killed process left.
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
    """Change a file as planned. False where it was changed since it was read: that edit stays."""
    if file.before is None:
        return file.after is None or _create(directory, file, file.after)
    if file.after is None:
        return _remove(directory, file, file.before, rescue)
    return _replace(directory, file, file.before, file.after, rescue)


def revert(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> None:
    """Change a file back to what it was before, however far `apply` or an earlier `revert` had come."""
    back = reverse_of(file)
    finish_interrupted(directory, back, rescue)
    if finish_interrupted(directory, file, rescue):
        apply(directory, back, rescue)


def resume(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> bool:
    """Finish what a killed process began with this file. False where somebody else's edit is in its place."""
    finish_interrupted(directory, reverse_of(file), rescue)
    if finish_interrupted(directory, file, rescue):
        return True
    return content_of(directory, file.name) == file.before and apply(directory, file, rescue)


def finish_interrupted(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> bool:
    """Finish or undo a change that a kill or an error interrupted. True if the planned state is reached.

    The temporary file shows how far it came. Of a new file it is ours, whole or not. Of a removed file it is the old
    content. Of a replaced file it is ours before the exchange, and the old content after it.
    """
    finish_exchange(directory.descriptor, file.temporary, file.name)
    left = content_of(directory, file.temporary)
    live = content_of(directory, file.name)
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
            return _restore_displaced(directory, file, file.after, rescue)
        if left == file.before and (live == file.after or not is_ours):  # exchanged; perhaps edited by somebody since
            _unlink(directory, file.temporary)
            return True
        if not is_ours:  # somebody's edit, displaced, and another one in its place since
            _rescue_temporary(directory, file, rescue)
            return False
    _unlink(directory, file.temporary)
    return live == file.after


def sync(directory: MemoryDirectory) -> None:
    os.fsync(directory.descriptor)


def reverse_of(file: PlannedFile) -> PlannedFile:
    """Reverse plan, with a temporary file of its own: leftovers of the two must not be mixed up."""
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
        return finish_interrupted(directory, file, rescue)
    if _is_untouched(directory, file.temporary, before):
        _unlink(directory, file.temporary)
        return True
    return _restore_displaced(directory, file, after, rescue)


def _restore_displaced(directory: MemoryDirectory, file: PlannedFile, after: bytes, rescue: Rescue) -> bool:
    """Put back the file that the exchange displaced. Always False.

    For an instant our version had the name, and somebody may have begun to edit it: that edit is newer and stays.
    """
    displaced = content_of(directory, file.temporary)
    try:
        exchange(directory.descriptor, file.temporary, file.name)
        _wait_for_writer(directory, file.temporary)
        if content_of(directory, file.temporary) == after:
            _unlink(directory, file.temporary)
        else:
            exchange(directory.descriptor, file.temporary, file.name)
            _rescue_temporary(directory, file, rescue)
    except FileNotFoundError:  # the file was deleted in that instant
        _return_to_name(directory, file, rescue)
    except FileExistsError:  # made anew while the name was free for an instant; ours is in the temporary file
        if isinstance(displaced, bytes):
            rescue(file.name, displaced)
        _unlink(directory, file.temporary)
    return False


def _remove(directory: MemoryDirectory, file: PlannedFile, before: bytes, rescue: Rescue) -> bool:
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
        _rescue_temporary(directory, file, rescue)


def _rescue_temporary(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> None:
    """Move an edit from the temporary file to the database. Anything but a regular file stays where it is."""
    _wait_for_writer(directory, file.temporary)
    data = content_of(directory, file.temporary)
    if isinstance(data, bytes):
        rescue(file.name, data)
        _unlink(directory, file.temporary)


def _write_temporary(directory: MemoryDirectory, file: PlannedFile, data: bytes) -> None:
    """Write the new content to disk, with its final mode and mtime, before it gets its name."""
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

    In this order: a writer that closed before the second check has written by then. No new one can come, as nobody knows
    the temporary name.
    """
    return not _is_being_written(directory, name) and content_of(directory, name) == expected


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
        # A writer that opens it now breaks the lease with a signal: a harmless one in place of SIGIO, which kills.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)  # ends the lease
    return False


def content_of(directory: MemoryDirectory, name: str) -> Content:
    """Bytes of a regular file, up to a limit that no memory reaches."""
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
