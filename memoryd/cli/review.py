"""Say yes or no to changes that memoryd does not make unasked: what it was not sure of waits here.

    memoryd review                  one after the other: y yes, n no, e edit, w why, f file, l later, q quit
    memoryd review --list           a line each, with its number
    memoryd review accept 12 13     yes
    memoryd review reject 12        no: the same words are not proposed again

A yes is a change like any other: `memoryd undo` takes it back. What nobody answers leaves after 30 days, and `memoryd history`
tells what became of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, places_of
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.database import Database
    from memoryd.state.inbox import InboxRow

NAME = "review"
HELP = "say yes or no to what memoryd was not sure of"
"""Other projects that are named at most."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("accept", "reject"), help="answer without being asked")
    parser.add_argument("ids", nargs="*", metavar="ID", help="which, from `memoryd review --list`")
    parser.add_argument("--list", action="store_true", help="a line each, and no question")
    parser.add_argument("--all", action="store_true", help="of all projects")
    parser.add_argument(
        "--yes", action="store_true", help="accept also what was changed since, as the difference shows it"
    )
    add_project_option(parser, with_global=True)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.team_proposals import withdraw_outdated
    from memoryd.state import inbox, team
    from memoryd.state.database import open_database

    arguments = context.arguments
    if arguments.yes and arguments.action != "accept":
        raise UsageError("--yes belongs to `memoryd review accept ID`.", "memoryd review --help")
    if arguments.action and not arguments.ids:
        raise UsageError(f"Which one is to be {arguments.action}ed?", "memoryd review --list")
    database = open_database(context.paths)
    try:
        for place in team.answers(database):
            withdraw_outdated(database, place, context.clock.now())
        if arguments.action:
            from memoryd.cli.review_answers import answer

            return answer(context, database)
        places = [None] if arguments.all else places_of(context)
        rows = sorted((row for place in places for row in inbox.waiting(database, place)), key=lambda row: row.id)
        if arguments.json:
            print_json([as_json(row) for row in rows])
        elif not rows:
            _print_nothing_waits(context, database)
        elif arguments.list:
            from memoryd.cli.review_screen import list_blocks
            from memoryd.cli.screen import Screen

            Screen(context.environment).show(list_blocks(rows, context.paths.home, with_project=arguments.all))
        else:
            from memoryd.cli.review_dialogue import Dialogue

            Dialogue(context, database).run(rows, with_project=arguments.all)
    finally:
        database.close()
    return 0


def as_json(row: InboxRow) -> dict[str, Any]:
    """Row of the inbox; of a group of files the first is shown, and `also` has the others.

    Where a memory gets another name, `before` is the text of the file that goes.
    """
    from memoryd.cli.review_screen import op_of
    from memoryd.clock import iso
    from memoryd.memory.quick_parse import quick_parse

    first, *others = row.group.changes
    words = row.newest_words
    fields = {
        "id": row.id,
        "project": row.project,
        "state": row.held.state,
        "op": op_of(first),
        "file": first.name,
        "type": quick_parse(first.after if first.after is not None else first.before or b"").type,
        "before": _text((row.replaced or first).before),
        "after": _text(first.after),
        "quote": words.quote if words else None,
        "reason": row.held.reason,
        "session": (words.session_id if words else "") or row.session_id or None,
        "at": iso(row.at),
    }
    also = [
        {"op": op_of(other), "file": other.name, "before": _text(other.before), "after": _text(other.after)}
        for other in others
    ]
    return {**fields, "also": also} if also else fields


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _print_nothing_waits(context: Context, database: Database) -> None:
    from memoryd.cli.elsewhere import Elsewhere, print_elsewhere
    from memoryd.state import inbox

    elsewhere = inbox.waiting_counts(database)
    print(f"Nothing waits {'here' if elsewhere else 'anywhere'} for your yes or no.", file=sys.stderr)
    places = [Elsewhere(place.project, place.memory_dir, place.number) for place in elsewhere]
    print_elsewhere(context, "change", places)
