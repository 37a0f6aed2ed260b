"""Move a memory to where it belongs: to all projects, or back into one.

    memoryd move                            asks about the memories of the type user that stand in single projects
    memoryd move user_role                  this one is about you: every project has it from now on
    memoryd move global/feedback_tests      that one is of this project alone

What it rests on goes with it; `memoryd undo` takes it back. Without FILE nothing moves without your yes, or `--yes`, and you
are asked once: a no is remembered.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name, not_one
from memoryd.cli.output import print_message
from memoryd.cli.project import add_project_option, memory_of, own_project_of, project_of
from memoryd.errors import UsageError
from memoryd.formatting import count, short, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.database import Database

NAME = "move"
HELP = "a memory to all projects, or back into one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", help="its file name, or a part of it; global/ before it for one of all projects"
    )
    parser.add_argument("--yes", action="store_true", help="without FILE: move all of them, and do not ask")
    add_project_option(parser)


def execute(context: Context) -> int:
    from contextlib import closing

    from memoryd.state.database import open_database

    if not context.paths.global_dir:
        raise UsageError("The environment names one memory directory for everything.", "unset MEMORYD_MEMORY_DIR")
    with closing(open_database(context.paths)) as database:
        return _move_one(context, database) if context.arguments.file else _offer(context, database)


def _move_one(context: Context, database: Database) -> int:
    from memoryd.jobs.move import move
    from memoryd.memory.tier_names import as_global

    source = project_of(context)
    if not os.path.isdir(source.memory_dir):
        raise not_one(context, source.memory_dir, context.arguments.file)
    with memory_of(source) as directory:
        name = memory_name(context, directory, context.arguments.file)
    global_dir = context.paths.global_dir
    is_global = source.memory_dir == global_dir
    target = _own(context) if is_global else global_dir
    moved = move(database, source.memory_dir, target, name, global_dir, context.clock.now())
    print(
        f"moved {shown(as_global(name) if is_global else name)} to {short(target, context.paths.home)}/{shown(moved)}"
    )
    return 0


def _own(context: Context) -> str:
    """The directory of the project that one is in."""
    context.arguments.file = None
    return own_project_of(context).memory_dir


def _offer(context: Context, database: Database) -> int:
    from memoryd.cli.answers import END, Answers
    from memoryd.cli.screen import Screen
    from memoryd.jobs.memory_dirs import all_memory_dirs
    from memoryd.jobs.move import move, note_offered, personal_memories

    home, global_dir = context.paths.home, context.paths.global_dir
    places = [place.path for place in all_memory_dirs(context.paths, context.config) if place.path != global_dir]
    found = personal_memories(places)
    if not found:
        note_offered(database, context.clock.now())
        print_message("No project has memories about you that other projects lack.")
        return 0
    for memory in found:
        print(f"{short(memory.memory_dir, home)}/{shown(memory.name)}: {shown(memory.description)}")
    if not context.arguments.yes:
        print_message(f"Move {count(len(found), 'memory')} about you to all projects?")
        answer = Answers(Screen(context.environment)).read("[y] yes, [n] no:")
        if answer != "y":
            print_message("Nothing was moved. `memoryd move FILE` moves one.")
            if answer != END:
                note_offered(database, context.clock.now())
            return 0
    for memory in found:
        moved = move(database, memory.memory_dir, global_dir, memory.name, global_dir, context.clock.now())
        print(f"moved to {short(global_dir, home)}/{shown(moved)}")
    note_offered(database, context.clock.now())
    return 0
