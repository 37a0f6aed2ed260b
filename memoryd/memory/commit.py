"""Commit of a changeset: validate, record, apply, close; and recovery after a kill. The only way to write memory."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, StateError
from memoryd.memory.apply import sync
from memoryd.memory.apply_line import apply, resume, revert
from memoryd.memory.directory import open_directory, problem_of
from memoryd.memory.plan import index_rules, plan, plan_index
from memoryd.model import Changeset
from memoryd.state import changes
from memoryd.state.changes import INDEX_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.changes import PlannedFile
    from memoryd.state.database import Database

_INDEX_TRIES = 5
_TO_BE_FINISHED = "The change will be finished as soon as that is possible."


class Committed(NamedTuple):
    """Result of a commit."""

    change_id: int | None
    """None where there was nothing to change."""
    conflicted: tuple[int, ...] = ()
    """Groups that were not applied because a file was edited; their files are as the editor left them."""
    left_out: tuple[str, ...] = ()
    """Topic files that the index has no room for."""


class CommitPart(NamedTuple):
    """What a commit is to change in one directory."""

    directory: MemoryDirectory
    changeset: Changeset


def commit(
    database: Database,
    directory: MemoryDirectory,
    changeset: Changeset,
    now: float,
    is_still_allowed: Callable[[], bool] = lambda: True,
) -> Committed:
    """Change the directory as the changeset says, all of each group or nothing of it. See `commit_together`."""
    return commit_together(database, (CommitPart(directory, changeset),), now, is_still_allowed)[0]


def commit_together(
    database: Database,
    parts: Sequence[CommitPart],
    now: float,
    is_still_allowed: Callable[[], bool] = lambda: True,
) -> tuple[Committed, ...]:
    """Change several directories in one commit: of each group all or nothing, and after a kill all of it or nothing.

    1. validate: the guards, on the result
    2. record: everything that is needed to finish or drop it goes into the database, in one transaction
    3. apply, directory by directory: create and replace, then the index, then remove; a group that meets an edit is reverted
    4. close: changes, turns, evidence and what goes into the inbox, in one transaction

    The locks of the directories are held throughout; so a prepared commit that is met under one belongs to a dead process.
    They are taken in the order of the parts, which is a project before the global directory, everywhere. What such a commit has
    recorded is done first.
    Raises RefusedError, StateError where a directory cannot be written, and BusyError where it is, under these locks, no
    longer allowed; then nothing has changed.
    """
    with ExitStack() as held:
        for part in parts:
            held.enter_context(part.directory.locked())
        directories = [part.directory for part in parts]
        for directory in directories:
            with _in_words(directory, "Nothing was changed."):
                recover(database, directory, now, directories)
                if not directory.is_at_its_path():
                    raise FileNotFoundError(errno.ENOENT, "it was moved or deleted")
        if not is_still_allowed():
            raise BusyError(
                f"Somebody else consolidates {parts[0].directory.path} by now. Nothing was changed.", "memoryd status"
            )
        plans = [_planned(database, part, parts, now) for part in parts]
        wanted = [
            number for number, (files, _) in enumerate(plans) if files or _has_more_to_close(parts[number].changeset)
        ]
        changing = _recorded(database, [(parts[number], plans[number][0]) for number in wanted], now)
        _apply_all(database, changing, now)
        changes.close(database, {each.change_id: each.conflicted for each in changing}, now)
        done = dict(zip(wanted, changing, strict=True))
        return tuple(_committed(part.changeset, plans[number], done.get(number)) for number, part in enumerate(parts))


def _planned(
    database: Database, part: CommitPart, parts: Sequence[CommitPart], now: float
) -> tuple[list[PlannedFile], tuple[str, ...]]:
    elsewhere = {
        os.path.join(other.directory.path, change.name): change.after
        for other in parts
        if other is not part
        for group in other.changeset.groups
        for change in group.changes
    }
    with _in_words(part.directory, "Nothing was changed."):
        return plan(part.directory, part.changeset, now, index_rules(database, part.directory.path), elsewhere)


def _recorded(
    database: Database, wanted: Sequence[tuple[CommitPart, list[PlannedFile]]], now: float
) -> list[_Changing]:
    """Step 2."""
    if not wanted:
        return []
    recorded = [changes.Part(part.directory.path, part.changeset, files) for part, files in wanted]
    numbers = changes.prepare(database, recorded, now)
    return [_Changing(database, part.directory, number, now) for (part, _), number in zip(wanted, numbers, strict=True)]


def _committed(
    changeset: Changeset, plan: tuple[list[PlannedFile], tuple[str, ...]], changing: _Changing | None
) -> Committed:
    files, left_out = plan
    if changing is None:
        return Committed(None, left_out=left_out)
    is_unseen = not files and (_touches_inbox(changeset) or bool(changeset.log_cursors))
    return Committed(None if is_unseen else changing.change_id, tuple(sorted(changing.conflicted)), left_out)


def _has_more_to_close(changeset: Changeset) -> bool:
    """Whether a changeset that changes no file has turns, inbox rows or daily logs to close."""
    has_turns = bool(changeset.turn_ids) and changeset.kind != "dream"  # whose job closes them
    return has_turns or _touches_inbox(changeset) or bool(changeset.log_cursors)


def _touches_inbox(changeset: Changeset) -> bool:
    return bool(changeset.held) or bool(changeset.accepts)


def recover(database: Database, directory: MemoryDirectory, now: float, locked: Sequence[MemoryDirectory] = ()) -> int:
    """Finish the commits that killed processes left in this directory; return how many. The lock is held.

    What such a commit was to change in other directories is finished with it. A project is locked before the global directory,
    so nobody waits there for the lock of a project: whoever has it finds the same commit first of all, and finishes it.
    """
    unfinished = changes.prepared(database, directory.path)
    person = database.paths.global_dir if database.paths is not None else ""
    for change_id in unfinished:
        at_hand = {each.path: each for each in (*locked, directory)}
        with ExitStack() as held, _in_words(directory, _TO_BE_FINISHED):
            parts = [(directory, change_id)]
            for place, other_id in changes.prepared_elsewhere(database, change_id):
                if place not in at_hand and os.path.isdir(place) and problem_of(place) is None:
                    other = held.enter_context(open_directory(place))
                    with suppress(BlockingIOError):
                        held.enter_context(other.locked(waits=place == person))
                        at_hand[place] = other
                # Asked again: whoever had the lock before may have finished it, and changed the same files since.
                if place in at_hand and other_id in changes.prepared(database, place):
                    parts.append((at_hand[place], other_id))
            _finish_together(database, parts, now)
    return len(unfinished)


def reindex(database: Database, directory: MemoryDirectory, now: float) -> Committed:
    """Rebuild the index without changing a memory."""
    return commit(database, directory, Changeset("reindex", "the index", ()), now)


# --- applying ---------------------------------------------------------------------------------------------------------


def _apply_all(database: Database, changing: Sequence[_Changing], now: float) -> None:
    """Step 3. An error of the file system reverts all files in all directories and is raised."""
    for number, each in enumerate(changing):
        try:
            each.apply()
        except OSError as error:
            outcome = _TO_BE_FINISHED
            if any(other.memories for other in changing):
                with suppress(OSError):
                    for other in reversed(changing[: number + 1]):
                        other.drop(None)
                        sync(other.directory)
                    failed = {other.change_id: {file.group for file in other.memories} for other in changing}
                    changes.close(database, failed, now, is_failed=True)
                    outcome = "Nothing was changed."
            raise _unusable(each.directory, error, outcome) from error


class _Changing:
    """One directory while a commit changes it."""

    def __init__(self, database: Database, directory: MemoryDirectory, change_id: int, now: float) -> None:
        self._database = database
        self._now = now
        self._files = changes.planned_files(database, change_id)
        self._begun: list[PlannedFile] = []
        self._conflicted: set[int] = set()
        self._rescue = partial(changes.rescue, database, change_id)
        self.directory = directory
        self.change_id = change_id
        self.memories = [file for file in self._files if file.group != INDEX_GROUP]

    @property
    def conflicted(self) -> set[int]:
        """Groups that met an edit."""
        return self._conflicted - {INDEX_GROUP}

    def apply(self) -> None:
        index = next((file for file in self._files if file.group == INDEX_GROUP), None)
        for file in self.memories:
            if file.after is not None:
                self._attempt(file)
        if index is not None and not self._conflicted:
            self._attempt(index)
        for file in self.memories:
            if file.after is None:
                self._attempt(file)
        if self._conflicted:
            self.drop(INDEX_GROUP)  # the old index has a person's words for a file that stays after all
            applied = [file for file in self._begun if file.group != INDEX_GROUP]
            _rebuild_index(
                self._database, self.directory, self.change_id, len(self._files), self._now, self._begun, applied
            )
        sync(self.directory)
        if not self.directory.is_at_its_path():
            raise FileNotFoundError(errno.ENOENT, "it was moved or deleted")

    def drop(self, group: int | None) -> None:
        """Put the files of a group, or all, back as they were."""
        for file in reversed(self._begun):
            if group in (None, file.group):
                revert(self.directory, file, self._rescue)
        self._begun[:] = [file for file in self._begun if group not in (None, file.group)]

    def _attempt(self, file: PlannedFile) -> None:
        if file.group in self._conflicted:
            return
        self._begun.append(file)
        if not apply(self.directory, file, self._rescue):
            self._begun.pop()
            self.drop(file.group)
            self._conflicted.add(file.group)


def _finish_together(database: Database, parts: list[tuple[MemoryDirectory, int]], now: float) -> None:
    """Finish what a commit was to change in these directories.

    Of a move, and of its undo, the new file comes first: where it cannot be made, since there is another one by now, the old one
    stays.
    """
    is_move = changes.kind_of(database, parts[0][1]) in ("adopt", "undo", "redo")
    is_dropped = is_move and changes.is_unmade(database, parts[0][1])
    for directory, change_id in sorted(parts, key=lambda part: not changes.makes_files(database, part[1])):
        conflicted = _finish(database, directory, change_id, now, is_dropped=is_dropped)
        is_dropped |= is_move and bool(conflicted)


def _finish(
    database: Database, directory: MemoryDirectory, change_id: int, now: float, *, is_dropped: bool
) -> set[int]:
    """Finish one directory; returns the groups that met an edit. `is_dropped`: put everything back instead."""
    files = changes.planned_files(database, change_id)
    rescue = partial(changes.rescue, database, change_id)
    done = {file.position: resume(directory, file, rescue) for file in files}
    conflicted = {file.group for file in files if file.group != INDEX_GROUP and (is_dropped or not done[file.position])}
    for file in reversed(files if conflicted else []):
        if file.group in (*conflicted, INDEX_GROUP) and done[file.position]:
            revert(directory, file, rescue)
    applied = [f for f in files if f.group not in (*conflicted, INDEX_GROUP)]
    if not files or any(file.offset is None for file in files):
        _rebuild_index(database, directory, change_id, len(files), now, [], applied)
    sync(directory)
    changes.close(database, {change_id: conflicted}, now)
    return conflicted


def _rebuild_index(
    database: Database,
    directory: MemoryDirectory,
    change_id: int,
    position: int,
    now: float,
    begun: list[PlannedFile],
    applied: list[PlannedFile],
) -> None:
    """Rebuild the index for the files that are there now, on top of any edit made meanwhile."""
    for number in range(_INDEX_TRIES):
        index, _ = plan_index(
            directory,
            directory.listing().topics,
            applied,
            position + number,
            now,
            index_rules(database, directory.path),
            elsewhere=changes.prepared_beside(database, change_id),
        )
        if index is None:
            return
        index = index._replace(change_id=change_id)
        changes.add_file(database, index)
        begun.append(index)
        if apply(directory, index, partial(changes.rescue, database, change_id)):
            return
        begun.pop()


@contextmanager
def _in_words(directory: MemoryDirectory, outcome: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unusable(directory, error, outcome) from error


def _unusable(directory: MemoryDirectory, error: OSError, outcome: str) -> StateError:
    return StateError(
        f"The memory directory {directory.path} cannot be written: {error.strerror}. {outcome}",
        f"ls -ld {directory.path} && df -h {directory.path}",
    )
