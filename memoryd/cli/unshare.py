"""Take a memory out of what the team shares in this project:

    memoryd unshare project_cutover.md
    memoryd unshare --leave               take part in the team of this project no longer

It is deleted for everybody with the next exchange; your own memory stays, and `memoryd history` has the shared one. Who leaves
gets nothing of the team any more and is shown nothing of it; what came stays in `team/`, and what you shared stays with the others.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name
from memoryd.cli.project import add_project_option, own_project_of
from memoryd.errors import UsageError
from memoryd.formatting import short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "unshare"
HELP = "take a memory out of what the team shares"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="its file name, or a part of it")
    parser.add_argument("--leave", action="store_true", help="take part in the team of this project no longer")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.team import team_dir_of, unshare
    from memoryd.jobs.team_answers import leave
    from memoryd.memory.directory import open_directory
    from memoryd.state.database import open_database

    project = own_project_of(context)
    memory_dir = project.memory_dir
    if context.arguments.leave:
        with closing(open_database(context.paths)) as database:
            leave(database, project, context.clock.now())
        print(f"{short(project.root, context.paths.home)} takes part in no team")
        return 0
    if context.arguments.file is None:
        raise UsageError("Which memory shall no longer be shared?", f"ls {team_dir_of(memory_dir)}")
    with open_directory(team_dir_of(memory_dir), create=True) as directory:
        name = memory_name(context, directory, context.arguments.file)
    with closing(open_database(context.paths)) as database:
        unshare(database, memory_dir, name, context.clock.now())
    print(f"no longer shared {short(team_dir_of(memory_dir), context.paths.home)}/{name}")
    return 0
