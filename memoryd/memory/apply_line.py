"""Writing of memory files and of lines in daily logs. A line is appended, or taken away; the rest of its log stays as it is.

Appending costs what the line is long, whatever the log's size. Taking a line away rewrites the log as `apply` rewrites any
file, so an edit by somebody else is never overwritten.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from memoryd.memory import apply as whole_files
from memoryd.memory.daily_logs import end_of_log, log_folder
from memoryd.memory.directory import MemoryDirectory
from memoryd.model import AT_THE_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.memory.apply import Rescue
    from memoryd.state.changes import PlannedFile

_IN_THE_WAY = (NotADirectoryError, IsADirectoryError)
"""Somebody has put something else in the place of a log or its folder: it stays, and the line is not written."""
_TRIES = 3
"""Attempts to append to a log that an editor replaces at the same moment."""


def at_their_places(directory: MemoryDirectory, files: list[PlannedFile]) -> list[PlannedFile]:
    """The files, with the offsets of lines that are appended; a last line that has no newline gets one."""
    ends: dict[str, int] = {}
    placed = []
    for file in files:
        if file.offset == AT_THE_END and file.after is not None:
            line, before_mtime_ns = file.after, None
            if file.name not in ends:
                ends[file.name], is_whole, before_mtime_ns = end_of_log(directory, file.name)
                line = line if is_whole else b"\n" + line
            placed.append(file._replace(after=line, before_mtime_ns=before_mtime_ns, offset=ends[file.name]))
            ends[file.name] += len(line)
        else:
            placed.append(file)
    return placed


def apply(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> bool:
    """Change a file or a line as planned. False where somebody has changed it since: that edit stays."""
    if file.offset is None:
        return whole_files.apply(directory, file, rescue)
    with _folder_of(directory, file) as folder:
        if file.before is None:
            return file.after is None or _append(folder, _in_folder(file), file.after)
        without = _without_line(folder, _in_folder(file), file.before)
        return without is not None and whole_files.apply(folder, without, rescue)


def resume(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> bool:
    """Finish what a killed process began with this file or line. False where somebody else's edit is in its place."""
    if file.offset is None:
        return whole_files.resume(directory, file, rescue)
    with suppress(*_IN_THE_WAY), _folder_of(directory, file) as folder:
        here = _in_folder(file)
        if file.after is None:
            return file.before is None or _finish_removal(folder, here, rescue)
        if _read(folder, f"{here.temporary}-back") is not None:  # it was being taken back
            _finish_removal(folder, whole_files.reverse_of(here), rescue)
        return _finish_append(folder, here, file.after)
    return False


def revert(directory: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> None:
    """Undo `apply`, however far it or an earlier `revert` had come."""
    if file.offset is None:
        whole_files.revert(directory, file, rescue)
        return
    with suppress(*_IN_THE_WAY), _folder_of(directory, file) as folder:
        here = _in_folder(file)
        if file.after is not None:
            _finish_removal(folder, whole_files.reverse_of(here), rescue)
        elif file.before is not None:
            _finish_append(folder, here, file.before)


# --- appending --------------------------------------------------------------------------------------------------------


def _append(folder: MemoryDirectory, file: PlannedFile, line: bytes) -> bool:
    for _ in range(_TRIES):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(file.name, flags, 0o600, dir_fd=folder.descriptor)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                return False
            _write(descriptor, line, found.st_size, file.after_mtime_ns)
            if not found.st_size:
                os.fsync(folder.descriptor)
            if _is_at_its_name(folder, file.name, found):
                return True
        finally:
            os.close(descriptor)
    return False


def _finish_append(folder: MemoryDirectory, file: PlannedFile, line: bytes) -> bool:
    """Append the line unless it is there; a part of it at the end, which a power cut leaves, is completed."""
    log, offset = _read(folder, file.name) or b"", file.offset or 0
    if line in log[offset:] or (offset > len(log) and _place_of(log, line, None) is not None):
        return True
    torn = log[offset:]
    return _append(folder, file, line.removeprefix(torn))


def _write(descriptor: int, line: bytes, size: int, mtime_ns: int | None) -> None:
    """Write a line to disk behind what is there; where the disk is full, nothing of it stays."""
    written = 0
    try:
        while written < len(line):
            written += os.write(descriptor, line[written:])
        if mtime_ns is not None:
            os.utime(descriptor, ns=(mtime_ns, mtime_ns))
        os.fsync(descriptor)
    except OSError:
        if os.fstat(descriptor).st_size == size + written:  # nobody else has appended meanwhile
            os.ftruncate(descriptor, size)
        raise


def _is_at_its_name(folder: MemoryDirectory, name: str, found: os.stat_result) -> bool:
    """Whether an editor has put no other file in the place of the one that was opened."""
    try:
        now = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (now.st_dev, now.st_ino) == (found.st_dev, found.st_ino)


# --- taking away ------------------------------------------------------------------------------------------------------


def _without_line(folder: MemoryDirectory, file: PlannedFile, line: bytes) -> PlannedFile | None:
    """The rewriting of the whole log; None where it does not have the line. A log that had nothing else is removed."""
    log = _read(folder, file.name)
    place = _place_of(log, line, file.offset) if log is not None else None
    if log is None or place is None:
        return None
    rest = log[:place] + log[place + len(line) :]
    return file._replace(before=log, after=rest or None, mode=_mode_of(folder, file.name), offset=None)


def _finish_removal(folder: MemoryDirectory, file: PlannedFile, rescue: Rescue) -> bool:
    """Take the line away unless it is gone. False where somebody edits the log at the same moment."""
    line = file.before or b""
    todo = _without_line(folder, file, line)
    displaced = _read(folder, file.temporary)
    if displaced is not None:
        if todo is None:  # the logs have been exchanged; an edit that was made in that moment goes back to its name
            log = _read(folder, file.name)
            place = _place_of(displaced, line, file.offset)
            is_ours = place is not None and displaced[:place] + displaced[place + len(line) :] == (log or b"")
            todo = file._replace(before=displaced if is_ours else b"", after=log, offset=None)
        if whole_files.finish_interrupted(folder, todo, rescue):
            return True
        todo = _without_line(folder, file, line)
    return todo is None or whole_files.apply(folder, todo, rescue)


def _place_of(log: bytes, line: bytes, offset: int | None) -> int | None:
    """Where a line stands: at its offset, or elsewhere if the log was edited, then its last occurrence."""
    if offset is not None and log[offset : offset + len(line)] == line:
        return offset
    place = log.rfind(line)
    while place > 0 and log[place - 1 : place] != b"\n" and not line.startswith(b"\n"):
        place = log.rfind(line, 0, place + len(line) - 1)
    return place if place >= 0 else None


# --- the folder of a log ----------------------------------------------------------------------------------------------


@contextmanager
def _folder_of(directory: MemoryDirectory, file: PlannedFile) -> Iterator[MemoryDirectory]:
    with log_folder(directory, file.name, create=True) as (descriptor, _):
        yield MemoryDirectory(os.path.join(directory.path, os.path.dirname(file.name)), descriptor)


def _in_folder(file: PlannedFile) -> PlannedFile:
    return file._replace(name=file.name.rpartition("/")[2])


def _read(folder: MemoryDirectory, name: str) -> bytes | None:
    content = whole_files.content_of(folder, name)
    return content if isinstance(content, bytes) else None


def _mode_of(folder: MemoryDirectory, name: str) -> int:
    return stat.S_IMODE(os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False).st_mode)
