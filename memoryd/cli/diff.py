"""Show what a change did, or the last change of a memory, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.project import add_project_option, file_meant, project_of
from memoryd.words import shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.history import Change

NAME = "diff"
HELP = "what a change did, line by line"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", help="a change's number or a memory's file name (default: the last change)")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.undo import change_meant
    from memoryd.errors import MemorydError
    from memoryd.memory.history import diff
    from memoryd.state import history
    from memoryd.state.database import open_database

    what = context.arguments.what
    memory_dir = project_of(context).memory_dir
    database = open_database(context.paths)
    try:
        if what is not None and not what.isdecimal():
            name = file_meant(what)
            changes = _applied(history.recent(database, memory_dir, name))
        elif what is not None:
            changes, name = [change_meant(database, what)], None
        else:
            changes, name = _applied(history.recent(database, memory_dir)), None
        if not changes:
            raise MemorydError("No change is known of that.", "memoryd history")
        for file in history.files_of(database, changes[0].id):
            if name in (None, file.name):
                print("\n".join(map(shown, diff(file).splitlines())))
    finally:
        database.close()
    return 0


def _applied(changes: list[Change]) -> list[Change]:
    """What was indeed changed: an undo that met an edit was not."""
    return [change for change in changes if change.state == "applied"]
