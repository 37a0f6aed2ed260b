"""End the dream that goes on in a project: nothing of it counts, and the memories are as they were before."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from memoryd.cli.project import add_project_option, project_of
from memoryd.errors import BusyError, MemorydError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "dream-stop"
HELP = "end the dream that goes on in a project"
_LOOKS = 100
_LOOK_SECONDS = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(any_config=True)  # to stop is always possible
    add_project_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.recovery import recover_dead_dream
    from memoryd.state import dreams, queries
    from memoryd.state.database import open_database

    memory_dir = project_of(context).memory_dir
    database = open_database(context.paths)
    try:
        running = dreams.unfinished(database, memory_dir)
        if not running:
            raise MemorydError("No dream is going on in this project.", "memoryd status")
        for job in running:
            dreams.request_stop(database, job.id)
        had_died = recover_dead_dream(database, context.paths, memory_dir, context.clock.now())
        for _ in range(_LOOKS):
            if not dreams.unfinished(database, memory_dir):
                has_changed = bool(queries.changes_of_dreams(database, [job.id for job in running]))
                print(_ending(has_changed=has_changed, had_died=had_died), file=sys.stderr)
                return 0
            context.clock.wait(threading.Event(), _LOOK_SECONDS)
        raise BusyError("The dream was asked to stop and has not ended yet.", "memoryd status")
    finally:
        database.close()


def _ending(*, has_changed: bool, had_died: bool) -> str:
    if has_changed:
        return "The dream was done before it could be stopped: memoryd history shows what it changed."
    if had_died:
        return "Its process had died already. What it left has been cleaned up."
    return "The dream has ended; nothing was changed."
