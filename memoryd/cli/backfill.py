"""Work on history: what the transcripts of all projects held when memoryd first saw them.

Asks first, and says what it would cost: the built-in engine needs no network and is free, a model has its price and
stops at the day's budget. What was worked on before is not read again, so it can be stopped and started over.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option
from memoryd.errors import UsageError
from memoryd.formatting import count

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.model import WaitingSession
    from memoryd.state.database import Database

NAME = "backfill"
HELP = "work on what was said before memoryd came"
_CENTS = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.extract_now import extract_and_print, extractions, ingest
    from memoryd.jobs.due import due
    from memoryd.jobs.holds import refuse_while_paused
    from memoryd.state import notices
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        refuse_while_paused(database, context.clock.now())
        ingest(context, database)
        now = context.clock.now()
        sessions = due(database, context.paths, context.config, now, at_once=True, with_history=True)
        turns = sum(len(session.turn_ids) for waiting in sessions.values() for session in waiting)
        number = sum(map(len, sessions.values()))
        if not turns:
            print("There is no history to work on.", file=sys.stderr)
            notices.drop(database, notices.DELETED)
            return extract_and_print(context, [], {})
        what = f"{count(turns, 'turn')} in {count(number, 'session')} of {count(len(sessions), 'project')}"
        if not context.arguments.yes and not _agreed(f"{what}, {_price(context, database, sessions)}"):
            print("Nothing was done.", file=sys.stderr)
            return 0
        code = extract_and_print(context, extractions(context, database, sessions, now, with_history=True), sessions)
        notices.drop(database, notices.DELETED)
        return code
    finally:
        database.close()


def _price(context: Context, database: Database, sessions: dict[str, list[WaitingSession]]) -> str:
    from memoryd.engines.model.credentials import CLAUDE, is_chosen, with_models

    if not is_chosen(context.config):
        return "free of charge"
    from memoryd.jobs.estimate import estimate

    found = estimate(
        database, context.paths, context.config, [session for waiting in sessions.values() for session in waiting]
    )
    model = with_models(context.config).anthropic.extraction_model
    if context.config.engine == CLAUDE:
        plan = f"on your plan, {context.config.claude.tokens_per_day:,} tokens a day at most"
        return f"{found.tokens:,} tokens for {model}, {plan}"
    budget = context.config.budget.usd_per_day
    cost = f"about {found.usd:.{2 if found.usd >= _CENTS else 4}f} USD" if found.usd else "free of charge"
    cap = f", at most {budget:g} USD a day" if found.usd > budget else ""
    return f"{found.tokens:,} tokens for {model}, {cost}{cap}"


def _agreed(estimate: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"Backfill would work on {estimate}, and there is nobody to ask.", "memoryd backfill --yes")
    print(f"Work on {estimate}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
