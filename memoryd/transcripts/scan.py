"""Scan of all transcripts below a root, by listing and stat; no file is opened. It decides, the watcher only hints."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memoryd.formatting import escaped, is_utf8
from memoryd.model import Found, Inventory

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from memoryd.model import Oddity

_BEYOND = 1 << 63


def inventory(root: str, is_session: Callable[[str], bool], only: Container[str] | None = None) -> Inventory:
    """List the sessions in the folders of `root`, one level deep; `is_session` judges a file's name.

    With `only`, in those folders alone.

    Symlinks are not followed, neither of folders nor of files: what a link points to may be anything. A folder that
    vanishes between listing and looking is simply not there.
    """
    found: list[Found] = []
    odd: dict[str, Oddity] = {}
    try:
        folders = list(os.scandir(root))
    except FileNotFoundError:
        return Inventory(root, (), missing=True)
    except OSError:
        return Inventory(root, (), odd={root: "unreadable"})
    for folder in folders:
        if only is not None and folder.path not in only:
            continue
        try:
            if not folder.is_dir(follow_symlinks=False):
                if folder.is_symlink() and folder.is_dir():
                    odd[escaped(folder.path)] = "symlink"
                continue
            with os.scandir(folder.path) as entries:
                _collect(entries, is_session, found, odd)
        except FileNotFoundError:
            continue
        except OSError:
            odd[escaped(folder.path)] = "unreadable"
    return Inventory(root, tuple(found), odd)


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
