"""End a pause: what was said meanwhile is read, and dreams come again when it is time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import print_message

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "resume"
HELP = "end a pause"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(any_config=True)


def execute(context: Context) -> int:
    from memoryd.daemon.single_instance import running_instance
    from memoryd.daemon.wake_file import wake
    from memoryd.state import pauses
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        was_paused = pauses.current_pause(database, context.clock.now()) is not None
        pauses.end(database)
    finally:
        database.close()
    wake(context.paths)
    print("The pause is over." if was_paused else "memoryd was not paused.")
    if was_paused and running_instance(context.paths) is None:
        print_message("No daemon runs that would go on: memoryd run")
    return 0
