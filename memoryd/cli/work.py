"""Work on what is due, once: the child process of `memoryd run`. It can be killed at any moment."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.errors import EngineRestsError, EngineStoppedError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "work"
HELP = ""  # not for people: `extract-now` is


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`work` takes no arguments."""


def execute(context: Context) -> int:
    from memoryd.cli.extract_now import engine
    from memoryd.jobs.work import due, work
    from memoryd.state.database import open_database

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())  # the daemon stops: finish this session, leave the others
    database = open_database(context.paths)
    try:
        now = context.clock.now()
        sessions = due(database, context.paths, context.config, now)
        with engine(context, database) as model, suppress(EngineStoppedError, EngineRestsError):  # `status` tells
            for _ in work(database, context.paths, sessions, now, gives_way=True, clock=context.clock, model=model):
                if stop.is_set():
                    break
    finally:
        database.close()
    return 0
