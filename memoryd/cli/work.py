"""Work on what is due, once: the child process of `memoryd run`. It can be killed at any moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "work"
HELP = ""  # not for people: `extract-now` is


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`work` takes no arguments."""


def execute(context: Context) -> int:
    from memoryd.jobs.work import due, work
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        now = context.clock.now()
        sessions = due(database, context.paths, context.config, now)
        for _ in work(database, context.paths, sessions, now, gives_way=True, clock=context.clock):
            pass
    finally:
        database.close()
    return 0
