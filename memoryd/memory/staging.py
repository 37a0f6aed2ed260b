"""A private copy of a memory directory for an engine to edit; the difference is what it wants to change."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memoryd.memory.directory import Listing, open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.limits import INDEX_NAME, MEMORY_BYTES
from memoryd.model import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.memory.directory import FileState, MemoryDirectory


class Staged(NamedTuple):
    path: str
    before: Mapping[str, FileState]
    """The memories as they were copied."""
    left_alone: Mapping[str, str]
    """Names in the directory that are not in the copy, and must not be made there, and why."""


@contextmanager
def staged(directory: MemoryDirectory | None, place: str) -> Iterator[Staged]:
    """Copy the memories and the index to `place`, which must not exist, and remove it in the end.

    Nothing done in the copy reaches the directory: `changes_in` turns it into changes, which go through the commit.
    The copies are as old as the originals; without a directory there are none.
    """
    os.makedirs(place, mode=0o700)
    try:
        listing = directory.listing() if directory is not None else Listing({}, {})
        left_alone = dict(listing.odd)
        before = {}
        for name in (*sorted(listing.topics), INDEX_NAME):
            try:
                state = None if name in left_alone or directory is None else directory.read(name)
            except PermissionError:
                left_alone[name] = "not ours to read"
                continue
            if state is None:
                continue
            path = os.path.join(place, name)
            with open(path, "xb") as file:
                file.write(state.data)
            os.utime(path, ns=(state.mtime_ns, state.mtime_ns))
            if name != INDEX_NAME:
                before[name] = state
        yield Staged(place, before, left_alone)
    finally:
        shutil.rmtree(place)


def changes_in(copy: Staged) -> tuple[FileChange, ...]:
    """What was created, changed and deleted in the copy, by name. The index is not among it: code rebuilds that.

    Raises RefusedError for what no memory can be: a link, a folder, a file of megabytes.
    """
    with open_directory(copy.path) as directory:
        listing = directory.listing()
        if listing.odd:
            name, why = min(listing.odd.items())
            raise RefusedError("inside the directory", f"{name} is {why}.")
        changes = []
        for name in sorted({*listing.topics, *copy.before}):
            before = copy.before.get(name)
            after = directory.read(name, MEMORY_BYTES)
            change = FileChange(
                name,
                before.data if before else None,
                after.data if after else None,
                before.mtime_ns if before else None,
                mode=before.mode if before else 0o600,
            )
            if change.before != change.after:
                changes.append(change)
    return tuple(changes)
