"""Undo a change: files have their former bytes and times again. Undoing an undo makes the change again.

    memoryd undo        the last change in this project, of what is about you, or of what you shared, that is not undone
    memoryd undo 12     change 12
    memoryd undo --all  the last change of any project

A file that was edited since stays as it is. The words that the change came from do not bring it back.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memoryd.cli.project import add_project_option, places_of, project_of
from memoryd.formatting import short, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from memoryd.cli import Context
    from memoryd.errors import MemorydError
    from memoryd.memory.commit import CommitPart, Committed
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.model import Changeset
    from memoryd.state.database import Database
    from memoryd.state.history import Change

NAME = "undo"
_LONGEST_NUMBER = 18
HELP = "take a change back"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("change", nargs="?", help="its number, from `memoryd history`")
    parser.add_argument("--all", action="store_true", help="the last change of any project")
    add_project_option(parser, with_global=True)


def execute(context: Context) -> int:
    from memoryd.state import history
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        if context.arguments.change is not None:
            last = change_meant(database, context.arguments.change)
        else:
            places = [None] if context.arguments.all else places_of(context)
            found = [newest for place in places if (newest := history.last_undoable(database, place)) is not None]
            found += [] if context.arguments.all else _last_shared(context, database)
            if not found:
                raise _nothing_to_undo(context, database)
            last = max(found, key=lambda change: change.id)
            _refuse_what_was_made_elsewhere(context, database, last)
        return _undo(context, database, last)
    finally:
        database.close()


def _last_shared(context: Context, database: Database) -> list[Change]:
    """What the user shared or took back last, if it is not undone. What others have shared is never undone unasked."""
    from memoryd.jobs.team import team_dir_of
    from memoryd.state import history

    team = history.recent(database, team_dir_of(project_of(context).memory_dir))
    own = [change for change in team if change.kind == "share" and change.undone_by is None]
    return own[:1]


def _undo(context: Context, database: Database, change: Change) -> int:
    """Take a change back as it was made: a turn or a move may have changed the project and what is about you at once."""
    from memoryd.memory.history import undoing
    from memoryd.state import history

    changes = [change, *history.of_same_commit(database, change.id)]
    # A project is locked before the global directory, everywhere.
    changes.sort(key=lambda each: each.memory_dir == context.paths.global_dir)
    is_move = len(changes) > 1 and "adopt" in {each.kind for each in _first_made(database, changes)}

    def part(each: Change) -> Callable[[MemoryDirectory], Changeset]:
        def made(directory: MemoryDirectory) -> Changeset:
            changeset = undoing(database, change_meant(database, str(each.id)))  # perhaps undone meanwhile
            if is_move:
                _refuse_where_edited(directory, changeset)
            return changeset

        return made

    return commit_and_tell(context, database, {each.memory_dir: part(each) for each in changes})


def _first_made(database: Database, changes: list[Change]) -> list[Change]:
    """The changes that these made or took back in the first place: an undo may undo an undo."""
    from memoryd.state import history

    found = []
    for change in changes:
        first: Change | None = change
        while first is not None and first.undoes is not None:
            first = history.find(database, first.undoes)
        found += [first] if first is not None else []
    return found


def _refuse_where_edited(directory: MemoryDirectory, changeset: Changeset) -> None:
    """Raise where a file of a move was edited since: half of it would leave the memory in both places, or in neither."""
    from memoryd.errors import MemorydError

    for group in changeset.groups:
        for change in group.changes:
            state = directory.read(change.name)
            if (state.data if state is not None else None) != change.before:
                raise MemorydError(
                    f"{change.name} was moved and edited since, so it stays where it is; nothing was changed.",
                    f"memoryd move {change.name}",
                )


def _refuse_what_was_made_elsewhere(context: Context, database: Database, last: Change) -> None:
    """Raise where a global change would go though another project was changed later: it may be known to nobody here."""
    from memoryd.cli.project import project_root
    from memoryd.errors import MemorydError
    from memoryd.state import history

    beside = [each.memory_dir for each in history.of_same_commit(database, last.id)]
    if not context.arguments.all and not set(beside) <= {*places_of(context), context.paths.global_dir}:
        where = short(project_root(database, beside[0]) or beside[0], context.paths.home)
        raise MemorydError(
            f"The last change here is {last.id}, of a memory about you; it changed {where} too.",
            f"memoryd undo {last.id}",
        )
    newest = history.last_undoable(database, None)
    is_asked = context.arguments.is_global or last.memory_dir != context.paths.global_dir
    if is_asked or newest is None or newest.id == last.id:
        return
    where = short(project_root(database, newest.memory_dir) or newest.memory_dir, context.paths.home)
    raise MemorydError(
        f"The last change here is {last.id}, of a memory about you in all projects; change {newest.id} in {where} is newer.",
        f"memoryd undo {last.id}",
    )


def _nothing_to_undo(context: Context, database: Database) -> MemorydError:
    """The error that says where there is something to undo."""
    from memoryd.cli.project import project_root
    from memoryd.errors import MemorydError
    from memoryd.state import history

    elsewhere = history.last_undoable(database, None)
    if elsewhere is None:
        return MemorydError("There is no change here that could be undone.", "memoryd history")
    where = short(project_root(database, elsewhere.memory_dir) or elsewhere.memory_dir, context.paths.home)
    return MemorydError(
        f"There is no change here that could be undone; the last one is change {elsewhere.id} in {where}.",
        f"memoryd undo {elsewhere.id}",
    )


def change_meant(database: Database, number: str) -> Change:
    """The change with this number. Raises UsageError or MemorydError."""
    from memoryd.errors import MemorydError, UsageError
    from memoryd.state import history

    if not number.isdecimal() or len(number) > _LONGEST_NUMBER:
        raise UsageError(f"{number!r} is no number of a change.", "memoryd history")
    change = history.find(database, int(number))
    if change is None:
        raise MemorydError(f"There is no change {number}.", "memoryd history")
    return change


def commit_and_tell(
    context: Context, database: Database, parts: Mapping[str, Callable[[MemoryDirectory], Changeset]]
) -> int:
    """Commit an undo or restore, by memory directory, and print the result of each file; 1 where a file was edited since.

    The changesets are made under the locks of the commit, so that what another command did just before counts.
    """
    from contextlib import ExitStack

    from memoryd.memory.commit import CommitPart, commit_together
    from memoryd.memory.directory import open_directory

    with ExitStack() as stack:
        directories = [stack.enter_context(open_directory(place, create=True)) for place in parts]
        for directory in directories:
            stack.enter_context(directory.locked())
        wanted = [CommitPart(directory, parts[directory.path](directory)) for directory in directories]
        done = commit_together(database, wanted, context.clock.now())
    return max(_tell(context, database, part, result) for part, result in zip(wanted, done, strict=True))


def _tell(context: Context, database: Database, part: CommitPart, done: Committed) -> int:
    from memoryd.jobs.team import reindex_project
    from memoryd.memory.tier_names import GLOBAL_FOLDER, TEAM_FOLDER

    changeset = part.changeset
    above, folder = os.path.split(part.directory.path)
    if folder == TEAM_FOLDER:
        reindex_project(database, above, context.clock.now())
    tier = GLOBAL_FOLDER if part.directory.path == context.paths.global_dir else folder if folder == TEAM_FOLDER else ""
    for number, group in enumerate(changeset.groups):
        for change in group.changes:
            name = shown(os.path.join(tier, change.name))
            if number in done.conflicted:
                print(f"memoryd: {name} was edited since and stays as it is.", file=sys.stderr)
            elif change.after is None:
                print(f"{changeset.kind}: {name} taken away")
            else:
                print(f"{changeset.kind}: {name} is as it was")
    if not changeset.groups:
        is_changed = done.change_id is not None
        print(f"{changeset.kind}: the index {'is as it was' if is_changed else 'has to stay as it is'}")
    return 1 if done.conflicted else 0
