"""A private copy of a memory directory for an agent to edit; the difference is what it wants to change."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.memory.directory import open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.limits import FILE_BYTES, INDEX_NAME
from memoryd.model import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.memory.directory import FileState
    from memoryd.memory.snapshot import Snapshot


@contextmanager
def staged(snapshot: Snapshot, place: str) -> Iterator[None]:
    """Write the memories and the index of a snapshot to `place`, and remove it in the end. What is odd is not copied.

    Nothing done in the copy reaches the directory: `changes_in` turns it into changes, which go through the commit.
    The copies are as old as the originals.
    """
    shutil.rmtree(place, ignore_errors=True)  # left by a process that died: the caller is the only worker here
    os.makedirs(place, mode=0o700)
    try:
        for folder in snapshot.folders:
            os.mkdir(os.path.join(place, folder), mode=0o700)
        copied = {name: state for name, state in snapshot.files.items() if name not in snapshot.odd}
        if (index := snapshot.contents.index_file) is not None:
            copied[INDEX_NAME] = index
        for name, state in copied.items():
            path = os.path.join(place, name)
            with open(path, "xb") as file:
                file.write(state.data)
            os.utime(path, ns=(state.mtime_ns, state.mtime_ns))
        yield
    finally:
        shutil.rmtree(place)


def changes_in(place: str, snapshot: Snapshot) -> tuple[FileChange, ...]:
    """Files that were created, changed and deleted in the copy, by name, without the index, which code rebuilds.

    Raises RefusedError for anything that cannot be a memory: a link, a folder, a file of megabytes.
    """
    copied = {name: state for name, state in snapshot.files.items() if name not in snapshot.odd}
    found: dict[str, FileState | None] = {}
    for folder in ("", *snapshot.folders):
        with open_directory(os.path.join(place, folder)) as directory:
            listing = directory.listing()
            if listing.odd:
                name, why = min(listing.odd.items())
                raise RefusedError("inside the directory", f"{name} is {why}.")
            found |= {os.path.join(folder, name): directory.read(name, FILE_BYTES) for name in listing.topics}
    changes = []
    for name in sorted({*found, *copied}):
        before, after = copied.get(name), found.get(name)
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
