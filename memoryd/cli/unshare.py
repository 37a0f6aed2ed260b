"""Take a memory out of what the team shares in this project:

    memoryd unshare project_cutover.md

It is deleted for everybody with the next exchange; your own memory stays, and `memoryd history` has the shared one.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name
from memoryd.cli.project import add_project_option, own_project_of
from memoryd.formatting import short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "unshare"
HELP = "take a memory out of what the team shares"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name, or a part of it")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.team import team_dir_of, unshare
    from memoryd.memory.directory import open_directory
    from memoryd.state.database import open_database

    memory_dir = own_project_of(context).memory_dir
    with open_directory(team_dir_of(memory_dir), create=True) as directory:
        name = memory_name(context, directory, context.arguments.file)
    with closing(open_database(context.paths)) as database:
        unshare(database, memory_dir, name, context.clock.now())
    print(f"no longer shared {short(team_dir_of(memory_dir), context.paths.home)}/{name}")
    return 0
