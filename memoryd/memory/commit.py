"""Commit of a changeset: validate, record, apply, close; and recovery after a kill. The only way to write memory."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, StateError
from memoryd.language.titles import slug_of, title_and_rest
from memoryd.memory import guards
from memoryd.memory import index as indexing
from memoryd.memory.apply import sync
from memoryd.memory.apply_line import apply, at_their_places, resume, revert
from memoryd.memory.directory import HEAD_BYTES, TEMPORARY_PREFIX
from memoryd.memory.document import parse
from memoryd.memory.limits import INDEX_BYTES, INDEX_NAME
from memoryd.memory.team_lines import with_team_lines, without_team_lines
from memoryd.model import Changeset, IndexEdit
from memoryd.security.redact import redact
from memoryd.state import changes, team
from memoryd.state.changes import INDEX_GROUP, PlannedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database

_INDEX_TRIES = 5
NO_EDIT = IndexEdit()
_TO_BE_FINISHED = "The change will be finished as soon as that is possible."


class Committed(NamedTuple):
    """Result of a commit."""

    change_id: int | None
    """None where there was nothing to change."""
    conflicted: tuple[int, ...] = ()
    """Groups that were not applied because a file was edited; their files are as the editor left them."""
    left_out: tuple[str, ...] = ()
    """Topic files that the index has no room for."""


def commit(
    database: Database,
    directory: MemoryDirectory,
    changeset: Changeset,
    now: float,
    is_still_allowed: Callable[[], bool] = lambda: True,
) -> Committed:
    """Change the directory as the changeset says, all of each group or nothing of it.

    1. validate: the guards, on the result
    2. record: everything that is needed to finish or drop it goes into the database
    3. apply: create and replace, then the index, then remove; a group that meets an edit is reverted
    4. close: change, turns, evidence and what goes into the inbox, in one transaction

    The directory's lock is held throughout, so a prepared commit that is met under it belongs to a dead process.
    Raises RefusedError, StateError where the directory cannot be written, and BusyError where it is, under that lock, no
    longer allowed; then nothing has changed.
    """
    with directory.locked(), _in_words(directory, "Nothing was changed."):
        recover(database, directory, now)
        if not directory.is_at_its_path():
            raise FileNotFoundError(errno.ENOENT, "it was moved or deleted")
        if not is_still_allowed():
            raise BusyError(
                f"Somebody else consolidates {directory.path} by now. Nothing was changed.", "memoryd status"
            )
        files, left_out = plan(directory, changeset, now, with_team=team.is_on(database, directory.path))
        if not files and not _has_more_to_close(changeset):
            return Committed(None, left_out=left_out)
        change_id = changes.prepare(database, directory.path, changeset, files, now)
        conflicted = _apply(database, directory, change_id, now)
        changes.close(database, change_id, conflicted, now)
        is_unseen = not files and (_touches_inbox(changeset) or bool(changeset.log_cursors))
        return Committed(None if is_unseen else change_id, tuple(sorted(conflicted)), left_out)


def _has_more_to_close(changeset: Changeset) -> bool:
    """Whether a changeset that changes no file has turns, inbox rows or daily logs to close."""
    has_turns = bool(changeset.turn_ids) and changeset.kind != "dream"  # whose job closes them
    return has_turns or _touches_inbox(changeset) or bool(changeset.log_cursors)


def _touches_inbox(changeset: Changeset) -> bool:
    return bool(changeset.held) or bool(changeset.accepts)


def recover(database: Database, directory: MemoryDirectory, now: float) -> int:
    """Finish the commits that killed processes left in this directory; return how many. The lock is held."""
    unfinished = changes.prepared(database, directory.path)
    for change_id in unfinished:
        with _in_words(directory, _TO_BE_FINISHED):
            _finish(database, directory, change_id, now)
    return len(unfinished)


def reindex(database: Database, directory: MemoryDirectory, now: float) -> Committed:
    """Rebuild the index without changing a memory."""
    return commit(database, directory, Changeset("reindex", "the index", ()), now)


# --- planning ---------------------------------------------------------------------------------------------------------


def plan(
    directory: MemoryDirectory, changeset: Changeset, now: float, *, with_team: bool = False
) -> tuple[list[PlannedFile], tuple[str, ...]]:
    """The files that would change, the index last, and those that it has no room for. Raises RefusedError.

    `with_team`: the index has lines of the team's memories.
    """
    listing = directory.listing()
    guards.check(changeset, listing.odd)
    token = f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}"
    planned = at_their_places(directory, _planned(changeset, token, now))
    if planned and all(file.offset is not None for file in planned):  # lines of daily logs have no line in the index
        return planned, ()
    index, left_out = _planned_index(
        directory, listing.topics, planned, len(planned), token, now, changeset.index_edit, with_team=with_team
    )
    return planned + ([index] if index else []), left_out


def _planned(changeset: Changeset, token: str, now: float) -> list[PlannedFile]:
    files: list[PlannedFile] = []
    for number, group in enumerate(changeset.groups):
        for change in group.changes:
            if change.before == change.after:
                continue
            files.append(
                PlannedFile(
                    change_id=0,
                    position=len(files),
                    group=number,
                    why=group.why,
                    name=change.name,
                    temporary=f"{token}-{len(files)}",
                    before=change.before,
                    before_mtime_ns=change.before_mtime_ns,
                    after=change.after,
                    after_mtime_ns=change.after_mtime_ns or int(now * 1e9),
                    mode=change.mode,
                    offset=change.offset,
                )
            )
    return files


def _planned_index(
    directory: MemoryDirectory,
    topics: dict[str, int],
    files: list[PlannedFile],
    position: int,
    token: str,
    now: float,
    edit: IndexEdit = NO_EDIT,
    *,
    with_team: bool,
) -> tuple[PlannedFile | None, tuple[str, ...]]:
    """Index after these files have changed; None where it need not change."""
    topics = dict(topics)
    contents: dict[str, bytes] = {}
    gone: set[str] = set()
    for file in files:
        if file.offset is not None:
            continue
        if file.after is None:
            topics.pop(file.name, None)
            gone.add(file.name)
        else:
            topics[file.name] = file.after_mtime_ns or 0
            contents[file.name] = file.after

    def topic(name: str) -> indexing.Topic:
        return _topic(name, contents[name] if name in contents else _head(directory, name))

    now_there = directory.read(INDEX_NAME, INDEX_BYTES + 1)
    if len(now_there.data) > INDEX_BYTES if now_there else _is_taken(directory, INDEX_NAME):
        return None, ()  # a link, or larger than any index that a person or client writes: left alone
    text = now_there.data.decode("utf-8", "surrogateescape") if now_there else ""
    refresh, changed = ({}, {}) if _goes_back(text, edit) else _rewritten(files)
    built = indexing.rebuild(
        without_team_lines(indexing.edited(text, edit)),
        topics,
        topic,
        refresh=refresh,
        changed=changed,
        exists=_exists_in(directory, without=gone),
    )
    whole = with_team_lines(built.text, directory, topic) if with_team else built.text
    after: bytes | None = whole.encode("utf-8", "surrogateescape")
    if after == (now_there.data if now_there else b""):
        return None, built.left_out
    is_as_before = _goes_back(text, edit) and after == (edit.shall_be or b"")
    if is_as_before and edit.shall_be is None:
        after = None
    plan = PlannedFile(
        change_id=0,
        position=position,
        group=INDEX_GROUP,
        why="the index",
        name=INDEX_NAME,
        temporary=f"{token}-{position}",
        before=now_there.data if now_there else None,
        before_mtime_ns=now_there.mtime_ns if now_there else None,
        after=after,
        after_mtime_ns=(edit.shall_be_mtime_ns if is_as_before else None) or int(now * 1e9),
        mode=now_there.mode if now_there else 0o600,
    )
    return plan, built.left_out


def _rewritten(files: list[PlannedFile]) -> tuple[dict[str, str | None], dict[str, tuple[str, str]]]:
    """Of the memories that are rewritten: the line that stood for each, and what it said and says."""
    refresh: dict[str, str | None] = {}
    changed: dict[str, tuple[str, str]] = {}
    for file in files:
        if file.offset is None and file.before is not None and file.after is not None:
            refresh[file.name] = indexing.entry(file.name, _topic(file.name, file.before))
            changed[file.name] = (_said(file.before), _said(file.after))
    return refresh, changed


def _head(directory: MemoryDirectory, name: str) -> bytes:
    try:
        state = directory.read(name, HEAD_BYTES)
    except PermissionError:  # unreadable: its line has the file name, and the others go on
        state = None
    return state.data if state else b""


def _goes_back(text: str, edit: IndexEdit) -> bool:
    """Whether the index is as the undone change left it, so that its former bytes can be put back."""
    return edit.was is not None and text.encode("utf-8", "surrogateescape") == edit.was


def _topic(name: str, data: bytes) -> indexing.Topic:
    """Title and hook of a topic file; one that cannot be understood is named by its file."""
    document = parse(data)
    words = (document.name or name.removesuffix(".md")).replace("_", " ").replace("-", " ").strip()
    first_line = next((line.strip("# \t\r") for line in document.body.splitlines() if line.strip("# \t\r-")), "")
    # A file may hold a secret that its writer put there; every session reads the index.
    told = redact(document.description or ("" if document.problem else first_line))
    if document.name and document.description:
        title, rest = title_and_rest(told)
        if slug_of(title) == document.name:  # its short form: the rule itself, and beside it what it does not say
            return indexing.Topic(title, rest)
    return indexing.Topic(redact(words[:1].upper() + words[1:]), told)


def _said(data: bytes) -> str:
    document = parse(data)
    return f"{document.description}\n{document.body}"


def _exists_in(directory: MemoryDirectory, *, without: set[str]) -> Callable[[str], bool]:
    def exists(target: str) -> bool:
        path = target.split("#", 1)[0]
        if not path or path in without or os.path.isabs(path) or ".." in path.split("/"):
            return False
        try:
            os.stat(path, dir_fd=directory.descriptor)
        except (OSError, ValueError):  # a person may have written `%00` into a link
            return False
        return True

    return exists


def _is_taken(directory: MemoryDirectory, name: str) -> bool:
    return os.access(name, os.F_OK, dir_fd=directory.descriptor, follow_symlinks=False)


# --- applying ---------------------------------------------------------------------------------------------------------


def _apply(database: Database, directory: MemoryDirectory, change_id: int, now: float) -> set[int]:
    """Step 3; returns the groups that conflicted. An error of the file system reverts all files and is raised."""
    files = changes.planned_files(database, change_id)
    memories = [file for file in files if file.group != INDEX_GROUP]
    index = next((file for file in files if file.group == INDEX_GROUP), None)
    rescue = partial(changes.rescue, database, change_id)
    begun: list[PlannedFile] = []
    conflicted: set[int] = set()

    def drop(group: int | None) -> None:
        for file in reversed(begun):
            if group in (None, file.group):
                revert(directory, file, rescue)
        begun[:] = [file for file in begun if group not in (None, file.group)]

    def attempt(file: PlannedFile) -> None:
        if file.group in conflicted:
            return
        begun.append(file)
        if not apply(directory, file, rescue):
            begun.pop()
            drop(file.group)
            conflicted.add(file.group)

    try:
        for file in memories:
            if file.after is not None:
                attempt(file)
        if index is not None and not conflicted:
            attempt(index)
        for file in memories:
            if file.after is None:
                attempt(file)
        if conflicted:
            drop(INDEX_GROUP)  # the old index has a person's words for a file that stays after all
            _rebuild_index(
                database,
                directory,
                change_id,
                len(files),
                now,
                begun,
                [file for file in begun if file.group != INDEX_GROUP],
            )
        sync(directory)
        if not directory.is_at_its_path():
            raise FileNotFoundError(errno.ENOENT, "it was moved or deleted")
    except OSError as error:
        outcome = _TO_BE_FINISHED
        if memories:
            with suppress(OSError):
                drop(None)
                sync(directory)
                changes.close(database, change_id, {file.group for file in memories}, now, is_failed=True)
                outcome = "Nothing was changed."
        raise _unusable(directory, error, outcome) from error
    return conflicted - {INDEX_GROUP}


def _finish(database: Database, directory: MemoryDirectory, change_id: int, now: float) -> None:
    files = changes.planned_files(database, change_id)
    rescue = partial(changes.rescue, database, change_id)
    done = {file.position: resume(directory, file, rescue) for file in files}
    conflicted = {file.group for file in files if file.group != INDEX_GROUP and not done[file.position]}
    for file in reversed(files if conflicted else []):
        if file.group in (*conflicted, INDEX_GROUP) and done[file.position]:
            revert(directory, file, rescue)
    applied = [f for f in files if f.group not in (*conflicted, INDEX_GROUP)]
    if not files or any(file.offset is None for file in files):
        _rebuild_index(database, directory, change_id, len(files), now, [], applied)
    sync(directory)
    changes.close(database, change_id, conflicted, now)


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
        token = f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}"
        index, _ = _planned_index(
            directory,
            directory.listing().topics,
            applied,
            position + number,
            token,
            now,
            with_team=team.is_on(database, directory.path),
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
