"""Store in a folder of a checkout: plain files that its users commit and review like code. memoryd commits nothing.

What is in the folder is what the checkout has: on a branch without it, the team has shared nothing. No link in the checkout is
followed, since whoever wrote the repository may have put one there.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from memoryd.stores.base import RemoteFile, StoreChangedError, StoreError, StoreListing
from memoryd.stores.directory import open_folder, read_file, write_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

FOLDER = (".memoryd", "team")
_MODE = 0o644
"""As git keeps files; the checkout itself may be closed to others."""


class FolderStore:
    """The store in the folder of one checkout, by the checkout's root."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.requests = 0

    @property
    def address(self) -> str:
        return os.path.join(self._root, *FOLDER)

    def list_files(self, known: str, *, is_needed: bool = False) -> StoreListing | None:
        self.requests += 1
        files: dict[str, RemoteFile] = {}
        odd: dict[str, str] = {}
        with self._opened() as folder:
            if folder is not None:
                self._list(folder, files, odd)
        told = repr(sorted(files.items())).encode("utf-8", "surrogateescape")
        version = hashlib.sha256(told).hexdigest()
        return None if version == known and not is_needed else StoreListing(version, files, odd=odd)

    def _list(self, folder: int, files: dict[str, RemoteFile], odd: dict[str, str]) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and entry.name.endswith(".md"):
                    data = read_file(folder, entry.name)
                    files[entry.name] = RemoteFile(hashlib.sha256(data).hexdigest(), len(data))
                elif not stat.S_ISREG(status.st_mode):
                    odd[entry.name] = "a symlink" if stat.S_ISLNK(status.st_mode) else "no file"

    def read_files(self, listing: StoreListing, keys: Collection[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        with self._opened() as folder:
            for key in keys:
                data = read_file(folder, key) if folder is not None else b""
                if hashlib.sha256(data).hexdigest() != listing.files[key].hash:
                    raise StoreChangedError
                found[key] = data
        return found

    def write_files(
        self, listing: StoreListing, puts: Mapping[str, bytes], deletes: Collection[str], author: str, _now: float
    ) -> StoreListing:
        """Write the files, one after the other; each of them is whole. Author and time are for git to say."""
        if self.list_files(listing.version) is not None:
            raise StoreChangedError
        with self._opened(create=True) as folder:
            if folder is None:
                raise StoreChangedError
            for key, data in puts.items():
                write_file(folder, ".memoryd-new", data, _MODE)
                os.replace(".memoryd-new", key, src_dir_fd=folder, dst_dir_fd=folder)
            for key in deletes:
                with suppress(FileNotFoundError):
                    os.unlink(key, dir_fd=folder)
        written = self.list_files("", is_needed=True)
        if written is None or any(key not in written.files for key in puts):
            raise StoreChangedError
        return written._replace(author=author)

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[int | None]:
        """The folder, held open; None where the checkout has none. Raises StoreError where it cannot be used."""
        held: list[int] = []
        try:
            held.append(os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            for name in FOLDER:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o755, dir_fd=held[-1])
                try:
                    held.append(open_folder(held[-1], name))
                except FileNotFoundError:
                    break
            yield held[-1] if len(held) > len(FOLDER) else None
        except OSError as error:
            raise StoreError(
                f"The folder {self.address} cannot be used: {error.strerror}.", f"ls -la {self._root}"
            ) from error
        finally:
            for descriptor in held:
                os.close(descriptor)
