"""Purging: the memories that memoryd wrote, and nobody has changed since, are deleted from every directory."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.memory.commit import commit, reindex
from memoryd.memory.directory import open_directory
from memoryd.memory.limits import INDEX_NAME
from memoryd.model import Changeset, FileChange, Group
from memoryd.state import history
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database

_LOCK = ".consolidate-lock"


def purge(database: Database, now: float) -> list[str]:
    """Delete them, and the index and directory that they leave empty; returns the files. Killed anywhere, run it again."""
    gone: list[str] = []
    global_dir = database.paths.global_dir if database.paths is not None else ""
    # The global ones first: each project's index has their lines.
    for memory_dir in sorted(history.changed_directories(database), key=lambda path: path != global_dir):
        try:
            with open_directory(memory_dir) as directory, directory.locked():
                names = _purge(database, directory, now)
                if not names and directory.read(INDEX_NAME) is not None:
                    reindex(database, directory, now)
                _drop_empty_index(directory)
        except FileNotFoundError:
            continue
        gone += [os.path.join(memory_dir, name) for name in names]
        with suppress(OSError):
            if os.listdir(memory_dir) == [_LOCK]:
                os.remove(os.path.join(memory_dir, _LOCK))
            os.rmdir(memory_dir)
    return gone


def _purge(database: Database, directory: MemoryDirectory, now: float) -> list[str]:
    made = history.made(database, directory.path)
    changes = []
    for name in directory.listing().topics:
        state = directory.read(name)
        if state is not None and (name, digest(state.data)) in made:
            changes.append(FileChange(name, state.data, None, state.mtime_ns, mode=state.mode))
    if changes:
        groups = tuple(Group((change,), "uninstalled") for change in changes)
        commit(database, directory, Changeset("forget", "uninstalled", groups), now)
    return [change.name for change in changes if directory.read(change.name) is None]


def _drop_empty_index(directory: MemoryDirectory) -> None:
    index = directory.read(INDEX_NAME)
    if index is not None and not index.data.strip():
        os.remove(INDEX_NAME, dir_fd=directory.descriptor)
