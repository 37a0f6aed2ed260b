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
    from collections.abc import Callable

    from memoryd.cli import Context
    from memoryd.errors import MemorydError
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
            changes = [change_meant(database, context.arguments.change)]
        else:
            places = [None] if context.arguments.all else places_of(context)
            found = [last for place in places if (last := history.last_undoable(database, place)) is not None]
            found += [] if context.arguments.all else _last_shared(context, database)
            if not found:
                raise _nothing_to_undo(context, database)
            # A turn may have changed the project and what is about you: that is taken back as it was made.
            last = max(found, key=lambda change: change.id)
            _refuse_what_was_made_elsewhere(context, database, last)
            changes = [last, *history.of_same_commit(database, last.id)]
        return max(_undo(context, database, change) for change in changes)
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
    from memoryd.memory.history import undoing

    return commit_and_tell(
        context,
        database,
        change.memory_dir,
        lambda _: undoing(database, change_meant(database, str(change.id))),  # perhaps undone meanwhile
    )


def _refuse_what_was_made_elsewhere(context: Context, database: Database, last: Change) -> None:
    """Raise where a global change would go though another project was changed later: it may be known to nobody here."""
    from memoryd.cli.project import project_root
    from memoryd.errors import MemorydError
    from memoryd.state import history

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
    context: Context, database: Database, memory_dir: str, changeset_in: Callable[[MemoryDirectory], Changeset]
) -> int:
    """Commit an undo or restore and print the result of each file; 1 where a file was edited since.

    The changeset is made under the lock of the commit, so that what another command did just before counts.
    """
    from memoryd.jobs.team import reindex_project
    from memoryd.memory.commit import commit
    from memoryd.memory.directory import open_directory
    from memoryd.memory.team_lines import TEAM_FOLDER

    with open_directory(memory_dir, create=True) as directory, directory.locked():
        changeset = changeset_in(directory)
        done = commit(database, directory, changeset, context.clock.now())
    above, folder = os.path.split(memory_dir)
    if folder == TEAM_FOLDER:
        reindex_project(database, above, context.clock.now())
    for number, group in enumerate(changeset.groups):
        for change in group.changes:
            name = shown(f"{TEAM_FOLDER}/{change.name}" if folder == TEAM_FOLDER else change.name)
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
