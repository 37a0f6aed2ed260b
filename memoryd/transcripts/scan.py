"""The scan is the truth: every transcript below a root, by listing and stat alone. No file is opened."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memoryd.model import Found, Inventory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.model import Oddity

SUFFIX = ".jsonl"


def inventory(root: str, is_session: Callable[[str], bool]) -> Inventory:
    """List the sessions in the folders of `root`, one level deep; `is_session` judges a file's name.

    Symlinks are not followed, neither of folders nor of files: what a link points to may be anything. A folder that
    vanishes between listing and looking is simply not there.
    """
    found: list[Found] = []
    odd: dict[str, Oddity] = {}
    try:
        folders = list(os.scandir(root))
    except FileNotFoundError:
        return Inventory(root, (), missing=True)
    except (NotADirectoryError, PermissionError):
        return Inventory(root, (), odd={root: "unreadable"})
    for folder in folders:
        try:
            if not folder.is_dir(follow_symlinks=False):
                if folder.is_symlink() and folder.is_dir():
                    odd[folder.path] = "symlink"
                continue
            with os.scandir(folder.path) as entries:
                _collect(entries, is_session, found, odd)
        except FileNotFoundError:
            continue
        except OSError:
            odd[folder.path] = "unreadable"
    return Inventory(root, tuple(found), odd)


def _collect(
    entries: Iterator[os.DirEntry[str]],
    is_session: Callable[[str], bool],
    found: list[Found],
    odd: dict[str, Oddity],
) -> None:
    for entry in entries:
        name = entry.name
        if not name.endswith(SUFFIX) or not is_session(name):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            odd[entry.path] = _kind(status.st_mode)
        elif not _is_utf8(entry.path):
            odd[os.fsencode(entry.path).decode("utf-8", "backslashreplace")] = "bad name"
        else:
            found.append(Found(entry.path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


def _kind(mode: int) -> Oddity:
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISLNK(mode):
        return "symlink"
    if stat.S_ISFIFO(mode):
        return "fifo"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def _is_utf8(path: str) -> bool:
    """Bytes that are not UTF-8 come from the system as lone surrogates, which the database cannot keep."""
    return path.isascii() or path.isprintable() or not any("\ud800" <= letter <= "\udfff" for letter in path)
