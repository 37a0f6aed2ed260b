"""Remember a sentence, in the project of this directory:

    memoryd remember "the release is frozen until Friday because QA is out"

What stands behind "because" becomes the reason. `memoryd undo` takes it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.project import add_project_option, project_of
from memoryd.formatting import short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "remember"
HELP = "write a memory by hand"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", help="one fact, in a sentence")
    parser.add_argument("--type", choices=("user", "feedback", "project", "reference"), help="otherwise guessed")
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.remember import remember
    from memoryd.state.database import open_database

    text = " ".join(context.arguments.text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    project = project_of(context)
    database = open_database(context.paths)
    try:
        saved = remember(database, project.memory_dir, text, context.clock.now(), context.arguments.type)
    finally:
        database.close()
    for name in saved:
        print(f"saved {short(project.memory_dir, context.paths.home)}/{name}")
    return 0
