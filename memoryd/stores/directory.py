"""Store in a directory that machines or people share: a network share, a synchronised folder, a disk.

Files in it are as open as the directory itself. A symlink in it is never followed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from memoryd.stores.base import StoreChangedError, StoreError
from memoryd.stores.manifest import BLOBS, MOST_MANIFEST_BYTES, Kept, ManifestStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LOCK_NAME = "memoryd.lock"
_NO_FILE = (errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.EFBIG, errno.ENXIO)
"""What opening and reading says of a link, a device, a folder, a file that is too large."""


def directory_store(path: str) -> ManifestStore:
    """The store in an existing directory. It is not made here: a disk that is not mounted must not look like an empty store."""
    return ManifestStore(DirectoryPlace(path), path)


class DirectoryPlace:
    """Named bytes as files below a directory."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.requests = 0

    def read(self, name: str, known_tag: str) -> Kept | None:
        self.requests += 1
        with self._opened() as (directory, _):
            try:
                data = read_file(directory, name)
            except OSError as error:
                if error.errno not in _NO_FILE or not name.startswith(f"{BLOBS}/"):
                    raise
                data = b""  # a link or a folder in the place of one blob must not keep the others back
        tag = hashlib.sha256(data).hexdigest()
        return None if tag == known_tag else Kept(data, tag)

    def replace(self, name: str, data: bytes, expected_tag: str) -> str:
        self.requests += 1
        with self._opened() as (directory, mode), _locked(directory, mode):
            try:
                tag = hashlib.sha256(read_file(directory, name)).hexdigest()
            except FileNotFoundError:
                tag = ""
            if tag != expected_tag:
                raise StoreChangedError
            with suppress(FileNotFoundError), _opened_folder(directory, BLOBS) as blobs:
                os.fsync(blobs)  # what the manifest names is there, also after a power cut
            write_file(directory, f".{name}.new", data, mode)  # that of a killed writer is written over, under the lock
            os.replace(f".{name}.new", name, src_dir_fd=directory, dst_dir_fd=directory)
            os.fsync(directory)
        return hashlib.sha256(data).hexdigest()

    def create(self, name: str, data: bytes) -> None:
        self.requests += 1
        with self._opened() as (directory, mode):
            with suppress(FileExistsError):
                os.mkdir(BLOBS, mode=mode | (mode & 0o444) >> 2, dir_fd=directory)
            write_file(directory, name, data, mode)

    def remove(self, names: Iterable[str]) -> None:
        with self._opened() as (directory, _):
            for name in names:
                self.requests += 1
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=directory)

    def older_than(self, folder: str, name: str, seconds: float) -> list[str]:
        self.requests += 1
        with (
            self._opened() as (directory, _),
            _opened_folder(directory, folder) as inside,
            os.scandir(inside) as entries,
        ):
            at = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime - seconds
            return [entry.name for entry in entries if entry.stat(follow_symlinks=False).st_mtime < at]

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, int]]:
        """The directory, held open, and the mode of files in it. FileNotFoundError comes from inside alone."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(
                f"The shared directory {self._path} cannot be opened: {error.strerror}.",
                f"mkdir -p {self._path}   # unless a disk has to be mounted first",
            ) from error
        try:
            yield descriptor, stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o666
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(
                f"The shared directory {self._path} cannot be used: {error.strerror}.", f"ls -la {self._path}"
            ) from error
        finally:
            os.close(descriptor)


@contextmanager
def _locked(directory: int, mode: int) -> Iterator[None]:
    """Be the only writer of the manifest. The kernel gives the lock back when we die."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(_LOCK_NAME, flags, mode, dir_fd=directory)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _opened_folder(directory: int, name: str) -> Iterator[int]:
    descriptor = open_folder(directory, name)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_folder(directory: int, name: str) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)


def read_file(directory: int, name: str) -> bytes:
    """Bytes of a regular file. Raises FileNotFoundError, and OSError where it is something else or too large."""
    folder, _, last = name.rpartition("/")
    inside = open_folder(directory, folder) if folder else os.dup(directory)
    try:
        descriptor = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=inside)
    finally:
        os.close(inside)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, f"{last} is no regular file")
        data = file.read(MOST_MANIFEST_BYTES + 1)
    if len(data) > MOST_MANIFEST_BYTES:
        raise OSError(errno.EFBIG, f"{last} is too large")
    return data


def write_file(directory: int, name: str, data: bytes, mode: int) -> None:
    folder, _, last = name.rpartition("/")
    inside = open_folder(directory, folder) if folder else os.dup(directory)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(last, flags, 0o600, dir_fd=inside), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    finally:
        os.close(inside)
