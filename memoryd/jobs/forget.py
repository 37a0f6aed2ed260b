"""Forgetting: a memory is taken out of its directory and the index, and what it rested on does not bring it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.errors import BusyError, MemorydError
from memoryd.memory.commit import commit
from memoryd.model import Changeset, FileChange, Group

if TYPE_CHECKING:
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database


def forget(database: Database, directory: MemoryDirectory, name: str, now: float) -> None:
    """Take a memory away; its history keeps it.

    Raises MemorydError if somebody else took it away a moment ago, BusyError if they changed it.
    """
    with directory.locked():
        state = directory.read(name)
        if state is None:
            raise MemorydError(f"There is no memory {name} in {directory.path} any more.", f"memoryd restore {name}")
        gone = FileChange(name, state.data, None, state.mtime_ns, mode=state.mode)
        changeset = Changeset("forget", f"forgot {name}", (Group((gone,), f"forgot {name}"),))
        if commit(database, directory, changeset, now).conflicted:
            raise BusyError(f"{name} was changed meanwhile and stays.", f"memoryd forget {name}")
