"""Take a memory out of its directory and of the index. What it rested on does not bring it back.

It stays in the history: `memoryd undo` or `memoryd restore FILE` bring it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.project import add_project_option, memory_name, memory_of, project_of
from memoryd.formatting import short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "forget"
HELP = "take a memory away"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.forget import forget
    from memoryd.state.database import open_database

    project = project_of(context)
    database = open_database(context.paths)
    try:
        with memory_of(project) as directory:
            name = memory_name(directory, context.arguments.file)
            forget(database, directory, name, context.clock.now())
    finally:
        database.close()
    print(f"forgot {short(project.memory_dir, context.paths.home)}/{name}; memoryd undo brings it back")
    return 0
