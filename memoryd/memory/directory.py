"""Memory directory, held open: every read and every write goes through its descriptor.

So a directory that is moved or replaced during a commit is noticed, and no symlink on the way is followed twice.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryd.errors import StateError
from memoryd.formatting import escaped, is_utf8
from memoryd.memory.limits import FILE_BYTES, INDEX_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD_BYTES = 32_768

TEMPORARY_PREFIX = ".memoryd-"


@dataclass(frozen=True, slots=True)
class FileState:
    """A file of the directory as it is now."""

    data: bytes
    mtime_ns: int
    mode: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Files of the directory at one moment."""

    topics: dict[str, int]
    """Topic files and their mtimes in nanoseconds. All names are text, which database, index and models can hold."""
    odd: dict[str, str]
    """Names that look like topic files and are none, or that must not be changed, and why. Bytes that are not UTF-8 are
    escaped in them."""


class MemoryDirectory:
    """Open it with `open_directory`. All names are plain file names inside it."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self._is_locked = False

    def close(self) -> None:
        os.close(self.descriptor)

    def listing(self) -> Listing:
        topics: dict[str, int] = {}
        odd: dict[str, str] = {}
        with os.scandir(self.descriptor) as entries:
            for entry in entries:
                name = entry.name
                if not name.endswith(".md") or name.startswith(".") or name == INDEX_NAME:
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if not stat.S_ISREG(status.st_mode):
                    odd[escaped(name)] = "a symlink" if stat.S_ISLNK(status.st_mode) else "no regular file"
                    continue
                if not is_utf8(name):
                    odd[escaped(name)] = "not named in UTF-8"
                    continue
                topics[name] = status.st_mtime_ns
                if status.st_nlink > 1:
                    odd[name] = "a hard link: it has another name elsewhere"
                elif status.st_size > FILE_BYTES:
                    odd[name] = f"larger than {FILE_BYTES >> 20} MB"
        return Listing(topics, odd)

    def read(self, name: str, limit: int = FILE_BYTES) -> FileState | None:
        """A file's content up to `limit`; None where there is no regular file of this name."""
        try:
            descriptor = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.descriptor
            )
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
                return None
            raise
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            pieces = []
            left = limit
            while left > 0 and (piece := os.read(descriptor, left)):
                pieces.append(piece)
                left -= len(piece)
            return FileState(b"".join(pieces), status.st_mtime_ns, stat.S_IMODE(status.st_mode))
        finally:
            os.close(descriptor)

    def is_at_its_path(self) -> bool:
        """Whether the path still leads to this directory."""
        try:
            here, there = os.fstat(self.descriptor), os.stat(self.path)
        except OSError:
            return False
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino) and here.st_nlink > 0

    @contextmanager
    def locked(self, *, waits: bool = True) -> Iterator[None]:
        """Be the only one of our processes that writes here. The kernel gives the lock back when we die.

        A command that decides by what is there holds it around its commit, which then does not take it a second time.
        Without `waits`, raises BlockingIOError where another one has it.
        """
        if self._is_locked:
            yield
            return
        fcntl.flock(self.descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._is_locked = True
        try:
            yield
        finally:
            self._is_locked = False
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)


def problem_of(path: str, needed: int = os.R_OK | os.W_OK | os.X_OK) -> StateError | None:
    """Why a memory directory cannot be used, and the command that helps; None where it can be, or is not there yet."""
    aside = f"mv {shlex.quote(path)} {shlex.quote(f'{path}.aside')}"
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if not os.path.islink(path):
            return None
        return StateError(f"The memory directory {path} is a link to {os.readlink(path)}, which is not there.", aside)
    except OSError as error:
        return _not_opened(path, error)
    if not stat.S_ISDIR(status.st_mode):
        return StateError(f"The memory directory {path} is no directory.", aside)
    if os.access(path, needed, effective_ids=True):
        return None
    can = "written" if os.access(path, os.R_OK | os.X_OK, effective_ids=True) else "read"
    return StateError(f"The memory directory {path} cannot be {can}.", f"chmod u+rwx {shlex.quote(path)}")


def _not_opened(path: str, error: OSError) -> StateError:
    return StateError(f"The memory directory {path} cannot be opened: {error.strerror}.", f"ls -ld {shlex.quote(path)}")


@contextmanager
def open_directory(path: str, *, create: bool = False) -> Iterator[MemoryDirectory]:
    """Hold a memory directory open. Raises FileNotFoundError without `create`, StateError where it cannot be used."""
    if create:
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise problem_of(path) or StateError(
                f"The memory directory {path} cannot be made: {error.strerror}.",
                f"ls -ld {shlex.quote(os.path.dirname(path))}",
            ) from error
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise problem_of(path) or _not_opened(path, error) from error
    directory = MemoryDirectory(path, descriptor)
    try:
        yield directory
    finally:
        directory.close()
