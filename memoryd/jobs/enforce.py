"""Binding: a memory refuses the calls that it forbids, by patterns that the user has seen.

They stand in its frontmatter, and bind because the user has confirmed them on this machine: both are needed. A kill in between
leaves a memory that asks to be binding, and never one that binds unseen.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.errors import BusyError, MemorydError
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory, problem_of
from memoryd.memory.document import DocumentError, parse
from memoryd.model import Changeset, FileChange, Group
from memoryd.rules import allowance, confirmed
from memoryd.rules.forbidden import written

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.memory.document import Document
    from memoryd.paths import Paths
    from memoryd.rules.match import Forbidden
    from memoryd.state.database import Database

KEY = ("metadata", "enforce")


def read_document(directory: MemoryDirectory, name: str) -> Document:
    """Raises BusyError."""
    state = directory.read(name)
    if state is None:
        raise BusyError(f"{name} is being changed by somebody else.", f"memoryd enforce {name}")
    return parse(state.data)


def bind(
    paths: Paths,
    database: Database,
    directory: MemoryDirectory,
    name: str,
    patterns: tuple[Forbidden, ...],
    now: float,
) -> None:
    """Have a memory refuse these; raises MemorydError, BusyError, OSError."""
    value = written(patterns)
    _edit(database, directory, name, f"binds: {value}", now, lambda document: document.with_value(KEY, value))
    confirmed.confirm(paths, directory.path, name, patterns)


def release(paths: Paths, database: Database, directory: MemoryDirectory, name: str, now: float) -> None:
    """Have a memory refuse nothing any more; raises MemorydError, BusyError, OSError."""
    confirmed.withdraw(paths, directory.path, name)
    allowance.withdraw(paths, directory.path, name)
    _edit(database, directory, name, "binds no more", now, lambda document: document.without_value(KEY))


def withdraw_unasked(paths: Paths) -> None:
    """Take back what is confirmed of memories that no longer ask to be binding, or are gone: undone, forgotten, edited.

    A directory that cannot be read, or in which nothing stands, tells nothing: its disk may not be mounted.

    If such a memory asks again, whoever wrote that, the person is asked again.
    """
    for memory_dir, name in confirmed.all_confirmed(paths):
        if problem_of(memory_dir, os.R_OK | os.X_OK) is not None or _is_empty(memory_dir):
            continue
        with suppress(OSError, MemorydError):
            state = None
            with suppress(FileNotFoundError), open_directory(memory_dir) as directory:
                state = directory.read(name)
            if state is None or not parse(state.data).enforce:
                confirmed.withdraw(paths, memory_dir, name)


def _is_empty(memory_dir: str) -> bool:
    with suppress(OSError), os.scandir(memory_dir) as entries:
        return next(entries, None) is None
    return False


def _edit(
    database: Database,
    directory: MemoryDirectory,
    name: str,
    why: str,
    now: float,
    edit: Callable[[Document], Document],
) -> None:
    """The memory says what it said, so its age stays."""
    with directory.locked():
        state = directory.read(name)
        if state is None:
            raise BusyError(f"{name} is being changed by somebody else.", f"memoryd enforce {name}")
        try:
            after = edit(parse(state.data)).render()
        except DocumentError as error:
            raise MemorydError(
                f"The frontmatter of {name} cannot be changed: {error}.", f"memoryd why {name}"
            ) from error
        if after == state.data:
            return
        change = FileChange(name, state.data, after, state.mtime_ns, state.mtime_ns, mode=state.mode)
        changeset = Changeset("enforce", f"{name} {why}", (Group((change,), why),))
        if commit(database, directory, changeset, now).conflicted:
            raise BusyError(f"{name} was changed meanwhile.", f"memoryd enforce {name}")
