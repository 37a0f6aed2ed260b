"""Plan of a commit: the files that it will change, the index among them, each with its bytes before and after."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.titles import slug_of, title_and_rest
from memoryd.memory import guards
from memoryd.memory import index as indexing
from memoryd.memory.apply_line import at_their_places
from memoryd.memory.directory import HEAD_BYTES, TEMPORARY_PREFIX
from memoryd.memory.document import parse
from memoryd.memory.global_lines import (
    carries_global_lines,
    global_lines_in,
    with_global_lines,
    without_global_lines,
)
from memoryd.memory.limits import INDEX_BYTES, INDEX_NAME
from memoryd.memory.team_lines import with_team_lines, without_team_lines
from memoryd.model import IndexEdit
from memoryd.projects import is_excluded
from memoryd.security.redact import redact
from memoryd.state import team
from memoryd.state.changes import INDEX_GROUP, PlannedFile
from memoryd.state.projects import roots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.model import Changeset
    from memoryd.state.database import Database

NO_EDIT = IndexEdit()


class IndexRules(NamedTuple):
    """What the config says about indexes."""

    is_written: bool = True
    """False: MEMORY.md is left to somebody else."""
    global_dir: str = ""
    """The memories about the person, whose lines stand in the index of every project."""
    is_excluded: bool = False
    """The project is left alone: its index gets no line about the person, and loses those that it had before."""
    has_team: bool = False
    """The index has lines of the team's memories."""


def index_rules(database: Database, memory_dir: str) -> IndexRules:
    has_team = team.is_on(database, memory_dir)
    paths = database.paths
    if paths is None:
        return IndexRules(has_team=has_team)
    roots = roots_of(database, memory_dir) if paths.excluded else ()
    is_left_alone = bool(roots) and all(is_excluded(root, paths.excluded) for root in roots)
    return IndexRules(paths.is_index_written, paths.global_dir, is_left_alone, has_team)


def plan(
    directory: MemoryDirectory,
    changeset: Changeset,
    now: float,
    rules: IndexRules = IndexRules(),  # noqa: B008 - a constant
    elsewhere: Mapping[str, bytes | None] = MappingProxyType({}),
) -> tuple[list[PlannedFile], tuple[str, ...]]:
    """The files that would change, the index last, and those that it has no room for. Raises RefusedError.

    `elsewhere` are files of other directories that the same commit changes, by their paths, as they will be.
    """
    listing = directory.listing()
    guards.check(changeset, listing.odd)
    token = f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}"
    planned = at_their_places(directory, _planned(changeset, token, now))
    if planned and all(file.offset is not None for file in planned):  # lines of daily logs have no line in the index
        return planned, ()
    index, left_out = plan_index(
        directory, listing.topics, planned, len(planned), now, rules, changeset.index_edit, elsewhere
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


def plan_index(
    directory: MemoryDirectory,
    topics: dict[str, int],
    files: list[PlannedFile],
    position: int,
    now: float,
    rules: IndexRules,
    edit: IndexEdit = NO_EDIT,
    elsewhere: Mapping[str, bytes | None] = MappingProxyType({}),
) -> tuple[PlannedFile | None, tuple[str, ...]]:
    """Index after these files have changed; None where it need not change, or is left to somebody else."""
    if not rules.is_written:
        return None, ()
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
        without_global_lines(without_team_lines(indexing.edited(text, edit)), rules.global_dir),
        topics,
        topic,
        refresh=refresh,
        changed=changed,
        exists=_exists_in(directory, without=gone),
    )
    whole = built.text
    if carries_global_lines(directory.path, rules.global_dir) and not rules.is_excluded:
        whole = with_global_lines(whole, text, rules.global_dir, _topic, edit.global_names, elsewhere)
    whole = with_team_lines(whole, directory, topic) if rules.has_team else whole
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
        temporary=f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}-{position}",
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


def right_global_lines(text: str, global_dir: str) -> list[str]:
    """The lines of global memories that an index with this text should have, as far as it has room."""
    own = without_global_lines(without_team_lines(text), global_dir)
    return global_lines_in(with_global_lines(own, text, global_dir, _topic, None, {}), global_dir)
