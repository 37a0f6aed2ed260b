"""Work on history: what the transcripts of all projects held when memoryd first saw them.

Asks first. The built-in engine needs no network and costs nothing. What was worked on before is not read again, so it
can be stopped and started over.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option
from memoryd.errors import UsageError
from memoryd.words import count

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "backfill"
HELP = "work on what was said before memoryd came"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.extract_now import look, tell
    from memoryd.jobs.work import due, work
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        look(context, database)
        now = context.clock.now()
        sessions = due(database, context.paths, context.config, now, at_once=True, with_history=True)
        turns = sum(len(session.turn_ids) for waiting in sessions.values() for session in waiting)
        number = sum(map(len, sessions.values()))
        if not turns:
            print("There is no history to work on.", file=sys.stderr)
            return tell(context, [])
        estimate = (
            f"{count(turns, 'turn')} in {count(number, 'session')} of {count(len(sessions), 'project')}, free of charge"
        )
        if not context.arguments.yes and not _agreed(estimate):
            print("Nothing was done.", file=sys.stderr)
            return 0
        done = list(work(database, context.paths, sessions, now, with_history=True, clock=context.clock))
    finally:
        database.close()
    return tell(context, done)


def _agreed(estimate: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"Backfill would work on {estimate}, and there is nobody to ask.", "memoryd backfill --yes")
    print(f"Work on {estimate}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
