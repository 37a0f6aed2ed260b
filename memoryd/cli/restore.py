"""Put a memory back as it was before its last change, or as a certain change left it.

memoryd restore feedback_review_size
memoryd restore feedback_review_size --change 12
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.project import add_project_option, file_meant, project_of

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "restore"
HELP = "put a memory back as it was"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name")
    parser.add_argument("--change", help="as this change left it, from `memoryd history`")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.undo import change_meant, commit_and_tell
    from memoryd.memory.history import restoring
    from memoryd.state.database import open_database

    memory_dir = project_of(context).memory_dir
    name = file_meant(context.arguments.file)
    database = open_database(context.paths)
    try:
        change = change_meant(database, context.arguments.change) if context.arguments.change else None
        return commit_and_tell(
            context, database, memory_dir, lambda directory: restoring(database, directory, name, change)
        )
    finally:
        database.close()
