"""Answers to what waits in the inbox: a yes becomes a commit, a no closes the row. Under the directory's lock."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import MemorydError
from memoryd.memory.commit import commit, recover, reindex
from memoryd.memory.directory import open_directory
from memoryd.memory.tier_names import TEAM_FOLDER
from memoryd.model import Changeset, IndexEdit
from memoryd.state import inbox
from memoryd.state.inbox import AnsweredError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.memory.directory import FileState, MemoryDirectory
    from memoryd.model import FileChange, Group
    from memoryd.state.database import Database
    from memoryd.state.inbox import InboxRow

FileContents = dict[str, bytes | None]
"""Files of a memory directory by name; None: there is none of this name."""


class Acceptance(NamedTuple):
    """What a yes came to."""

    change_id: int | None
    """None: the files were so already."""
    names: tuple[str, ...]


class StaleError(MemorydError):
    """The files are no longer as they were when the difference was made that the user has seen."""

    def __init__(self, row: InboxRow, current: FileContents) -> None:
        super().__init__(
            f"{row.first.name} was changed since {row.id} was proposed. Nothing was written.",
            f"memoryd review accept {row.id} --yes",
        )
        self.current = current
        """The files as they are now."""


def contents_before(row: InboxRow) -> FileContents:
    """The files of a row as the engine had read them: what its difference starts from."""
    return {change.name: change.before for change in row.group.changes}


def difference_from(row: InboxRow, current: Mapping[str, bytes | None]) -> tuple[FileChange, ...]:
    """What a yes would do to the files as they are."""
    return tuple(change._replace(before=current[change.name]) for change in row.group.changes)


def accept(
    database: Database,
    row: InboxRow,
    now: float,
    *,
    seen: Mapping[str, bytes | None] | None = None,
    edited: bytes | None = None,
) -> Acceptance:
    """Make the change of a row, and close the row in the transaction that closes the commit.

    `seen` are the files that the difference was shown from; None: as the engine had read them. `edited` is what the user
    made of the text of the first file. Raises StaleError where the files are not as they were seen, AnsweredError where
    somebody else was faster, RefusedError where a guard says no; then nothing has changed.
    """
    group = _with_text(row.group, edited)
    with open_directory(row.memory_dir, create=True) as directory, directory.locked():
        recover(database, directory, now)
        _check_waits(database, row.id)
        states = _states(directory, row)
        expected = contents_before(row) if seen is None else seen
        if any(_is_stale(change, states[change.name], expected[change.name]) for change in group.changes):
            raise StaleError(row, _contents(states))
        changes = tuple(_applied_to(change, states[change.name]) for change in group.changes)
        changeset = Changeset(
            "review",
            "you said yes to it",
            (group._replace(changes=changes),),
            row.session_id,
            index_edit=IndexEdit(without=group.from_index),
            accepts=(row.id,),
        )
        done = commit(database, directory, changeset, now)
        if done.conflicted:  # somebody edited between our look and the exchange
            raise StaleError(row, _contents(_states(directory, row)))
    _reindex_above(database, row.memory_dir, now)
    return Acceptance(done.change_id, tuple(change.name for change in changes))


def _reindex_above(database: Database, memory_dir: str, now: float) -> None:
    """Bring the lines of the team in the project's index up to date, where it is the team's folder that has changed."""
    above, name = os.path.split(memory_dir)
    if name == TEAM_FOLDER:
        with suppress(FileNotFoundError), open_directory(above) as directory:
            reindex(database, directory, now)


def reject(database: Database, row: InboxRow, now: float) -> None:
    """Close a row with a no. Raises AnsweredError where somebody else was faster, also one that was killed meanwhile."""
    try:
        with open_directory(row.memory_dir) as directory, directory.locked():
            recover(database, directory, now)
            inbox.reject(database, row.id, now)
    except FileNotFoundError:  # no memory was ever written there
        inbox.reject(database, row.id, now)


def current_contents(row: InboxRow) -> FileContents:
    """The files of a row as they are now."""
    try:
        with open_directory(row.memory_dir) as directory:
            return _contents(_states(directory, row))
    except FileNotFoundError:
        return {change.name: None for change in row.group.changes}


def _states(directory: MemoryDirectory, row: InboxRow) -> dict[str, FileState | None]:
    return {change.name: directory.read(change.name) for change in row.group.changes}


def _contents(states: Mapping[str, FileState | None]) -> FileContents:
    return {name: state.data if state else None for name, state in states.items()}


def _check_waits(database: Database, row_id: int) -> None:
    row = inbox.find(database, row_id)
    if row is None or row.closed_at is not None:
        raise AnsweredError(row_id, row.outcome if row else None)


def _is_stale(change: FileChange, state: FileState | None, expected: bytes | None) -> bool:
    """Whether a file is neither as it was seen nor as it is to be."""
    return (state.data if state else None) not in (expected, change.after)


def _applied_to(change: FileChange, state: FileState | None) -> FileChange:
    if state is None:
        return change._replace(before=None, before_mtime_ns=None)
    return change._replace(before=state.data, before_mtime_ns=state.mtime_ns, mode=state.mode)


def _with_text(group: Group, edited: bytes | None) -> Group:
    if edited is None:
        return group
    return group._replace(changes=(group.changes[0]._replace(after=edited), *group.changes[1:]))
