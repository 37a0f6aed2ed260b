"""Put a memory back as it was before its last change, or as a certain change left it.

    memoryd restore feedback_review_size                as it was before its last change
    memoryd restore feedback_review_size --change 12    as change 12 left it

A part of the name is enough, also of a memory that is no longer there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.memory_names import memory_name_ever
from memoryd.cli.project import add_project_option, project_of

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "restore"
HELP = "put a memory back as it was"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name, or a part of it")
    parser.add_argument("--change", help="as this change left it, from `memoryd history`")
    add_project_option(parser, with_global=True)


def execute(context: Context) -> int:
    from memoryd.cli.undo import change_meant, commit_and_tell
    from memoryd.errors import MemorydError
    from memoryd.memory.history import restoring
    from memoryd.state.database import open_database

    memory_dir = project_of(context).memory_dir
    database = open_database(context.paths)
    try:
        change = change_meant(database, context.arguments.change) if context.arguments.change else None
        if change is not None and change.memory_dir != memory_dir:
            raise MemorydError(f"Change {change.id} is of another project.", "memoryd history")
        name = memory_name_ever(context, database, memory_dir, context.arguments.file)
        return commit_and_tell(
            context, database, {memory_dir: lambda directory: restoring(database, directory, name, change)}
        )
    finally:
        database.close()
