"""Try again at once what failed: sessions that wait for longer after every failure wait no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.words import count

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "retry"
HELP = "try again at once what failed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`retry` takes no arguments."""


def execute(context: Context) -> int:
    from memoryd.state import jobs
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        number = jobs.retry(database)
    finally:
        database.close()
    print(f"{count(number, 'session')} will be tried again.")
    return 0
