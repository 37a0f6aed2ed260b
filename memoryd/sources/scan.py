"""Scan of all session files at a place, by listing and stat; no file is opened. It decides, the watcher only hints."""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from memoryd.formatting import escaped, is_utf8
from memoryd.model import Found, Inventory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from memoryd.model import Oddity

_BEYOND = 1 << 63


class SessionPlace(NamedTuple):
    """A directory below which a client keeps sessions."""

    root: str
    folders: tuple[str, ...] = ("*",)
    """The folders down to its sessions, a pattern for each level; none: they lie in the root itself."""

    def holds(self, folder: str) -> bool:
        """Whether sessions may lie right in this folder."""
        return folder == self.root if not self.folders else self._levels_beyond(folder) == 0

    def is_below_sessions(self, folder: str) -> bool:
        """Whether this folder lies deeper than sessions do."""
        return self._levels_beyond(folder) > 0

    def _levels_beyond(self, folder: str) -> int:
        """How much deeper than its sessions a folder lies; -1 where it lies elsewhere."""
        below = folder[len(self.root) + 1 :].split("/") if folder.startswith(self.root + "/") else []
        is_on_the_way = len(below) >= len(self.folders) and all(map(fnmatchcase, below, self.folders))
        return len(below) - len(self.folders) if is_on_the_way else -1


def inventory(place: SessionPlace, is_session: Callable[[str], bool], only: Collection[str] | None = None) -> Inventory:
    """List the sessions at a place; `is_session` judges a file's name. With `only`, in those folders alone.

    Symlinks are not followed, neither of folders nor of files: what a link points to may be anything. A folder that
    vanishes between listing and looking is simply not there.
    """
    found: list[Found] = []
    odd: dict[str, Oddity] = {}
    try:
        os.scandir(place.root).close()
    except FileNotFoundError:
        return Inventory(place.root, (), missing=True)
    except OSError:
        return Inventory(place.root, (), odd={place.root: "unreadable"})
    for folder in _folders(place.root, place.folders, only, odd):
        try:
            with os.scandir(folder) as entries:
                _collect(entries, is_session, found, odd)
        except FileNotFoundError:
            continue
        except OSError:
            odd[escaped(folder)] = "unreadable"
    return Inventory(place.root, tuple(found), odd)


def _folders(
    top: str, patterns: tuple[str, ...], only: Collection[str] | None, odd: dict[str, Oddity]
) -> Iterator[str]:
    """The folders that match the patterns, a level for each; with `only`, those of them that are named there."""
    if not patterns:
        if only is None or top in only:
            yield top
        return
    if only is not None:
        only = [folder for folder in only if folder.startswith(top + "/")]
        if not only:
            return
    try:
        entries = list(os.scandir(top))
    except FileNotFoundError:
        return
    except OSError:
        odd[escaped(top)] = "unreadable"
        return
    for entry in entries:
        if not fnmatchcase(entry.name, patterns[0]):
            continue
        try:
            is_folder, is_link = entry.is_dir(follow_symlinks=False), entry.is_symlink() and entry.is_dir()
        except OSError:
            odd[escaped(entry.path)] = "unreadable"
            continue
        if is_folder:
            yield from _folders(entry.path, patterns[1:], only, odd)
        elif is_link and (only is None or entry.path in only):
            odd[escaped(entry.path)] = "symlink"


def _collect(
    entries: Iterator[os.DirEntry[str]],
    is_session: Callable[[str], bool],
    found: list[Found],
    odd: dict[str, Oddity],
) -> None:
    for entry in entries:
        name = entry.name
        if not is_session(name):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            odd[escaped(entry.path)] = _kind(status.st_mode)
        elif not is_utf8(entry.path):
            odd[escaped(entry.path)] = "bad name"
        else:
            found.append(found_of(entry.path, status))


def found_of(path: str, status: os.stat_result) -> Found:
    """A file as the database can keep it: some file systems have inodes and times beyond 63 bits."""
    mtime_ns = max(-_BEYOND, min(status.st_mtime_ns, _BEYOND - 1))
    return Found(path, status.st_dev % _BEYOND, status.st_ino % _BEYOND, status.st_size, mtime_ns)


def _kind(mode: int) -> Oddity:
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISLNK(mode):
        return "symlink"
    if stat.S_ISFIFO(mode):
        return "fifo"
    return "socket" if stat.S_ISSOCK(mode) else "device"
