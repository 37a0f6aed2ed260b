"""Look at the transcripts and work on every turn that waits, at once and in the foreground.

What the transcripts held when memoryd first saw them is history and not touched: that is what `backfill` is for.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.words import count, short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.jobs.work import Worked
    from memoryd.state.database import Database

NAME = "extract-now"
HELP = "work on every waiting turn at once"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.work import due, work
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        look(context, database)
        now = context.clock.now()
        sessions = due(database, context.paths, context.config, now, at_once=True)
        done = list(work(database, context.paths, sessions, now, clock=context.clock))
    finally:
        database.close()
    return tell(context, done)


def look(context: Context, database: Database) -> None:
    """Read everything there is to read."""
    from memoryd.jobs.sweep import Sweeper

    sweeper = Sweeper(database, context.paths, context.config)
    while sweeper.sweep(context.clock.now()).backlog:
        pass


def tell(context: Context, done: list[Worked]) -> int:
    """Print what came of the work; 1 where something failed."""
    saved = [(worked, name) for worked in done for name in worked.outcome.saved]
    failed = [worked for worked in done if worked.outcome.outcome == "failed"]
    if context.arguments.json:
        print_json(
            [
                {
                    "session": worked.outcome.session_id,
                    "project": worked.project_root,
                    "memory_dir": worked.memory_dir,
                    "outcome": worked.outcome.outcome,
                    "saved": list(worked.outcome.saved),
                    "removed": list(worked.outcome.removed),
                    "detail": worked.outcome.detail or None,
                }
                for worked in done
            ]
        )
    else:
        for worked, name in saved:
            print(f"saved {short(worked.memory_dir, context.paths.home)}/{name}")
        for worked in done:
            for name in worked.outcome.removed:
                print(f"took back {short(worked.memory_dir, context.paths.home)}/{name}")
        for worked in failed:
            print(f"memoryd: session {worked.outcome.session_id[:8]}: {worked.outcome.detail}", file=sys.stderr)
        print(
            f"{count(len(done), 'session')} read, {count(len(saved), 'memory')} saved.".replace("memorys", "memories"),
            file=sys.stderr,
        )
    return 1 if failed else 0
