"""Remove a memory from its directory and the index. The words it came from do not bring it back.

It stays in the history: `memoryd undo` or `memoryd restore FILE` brings it back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name, not_one
from memoryd.cli.project import add_project_option, memory_of, project_of
from memoryd.formatting import short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "forget"
HELP = "remove a memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name, or a part of it")
    add_project_option(parser, with_global=True)


def execute(context: Context) -> int:
    from memoryd.jobs.forget import forget
    from memoryd.state.database import open_database

    project = project_of(context)
    if not os.path.isdir(project.memory_dir):
        raise not_one(context, project.memory_dir, context.arguments.file)
    database = open_database(context.paths)
    try:
        with memory_of(project) as directory:
            name = memory_name(context, directory, context.arguments.file)
            forget(database, directory, name, context.clock.now())
    finally:
        database.close()
    print(f"forgot {short(project.memory_dir, context.paths.home)}/{name}; memoryd undo brings it back")
    return 0
