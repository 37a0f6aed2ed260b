"""Try again at once what failed: sessions that wait for longer after every failure wait no more.

Nor does the model, after a refused key, trouble at its endpoint or a used-up budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import print_message
from memoryd.formatting import count

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "retry"
HELP = "try again at once what failed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`retry` takes no arguments."""


def execute(context: Context) -> int:
    from memoryd.daemon.single_instance import running_instance
    from memoryd.daemon.wake_file import wake
    from memoryd.engines.model.credentials import NAME as MODEL
    from memoryd.state import engine_holds, jobs, pauses
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        number = jobs.retry(database)
        is_lifted = engine_holds.lift(database, MODEL) | engine_holds.lift(database, jobs.RECALL)
        pause = pauses.current_pause(database, context.clock.now())
    finally:
        database.close()
    print(f"{count(number, 'session')} will be tried again{', and so will the model' if is_lifted else ''}.")
    wake(context.paths)
    if pause is not None:
        print_message(f"{pause.sentence} To go on: memoryd resume")
    elif running_instance(context.paths) is None:
        print_message("No daemon runs that would do it: memoryd extract-now does it here.")
    return 0
