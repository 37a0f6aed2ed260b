"""Show what was changed in the memories of a project, newest first: by what, why, and what undid it.

What was proposed and not done is listed as well, with the reason: you said no, it waited too long, or review refused it.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from memoryd.cli.dream_wording import not_done_as_json, summary
from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, file_meant, project_of
from memoryd.formatting import count, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.database import Database
    from memoryd.state.history import Change
    from memoryd.state.inbox import ClosedRow

NAME = "history"
HELP = "what was changed, and why"
_MOST = 50
_NAMED = 3
"""Files of a dream that are named in its line; `diff` shows all of them."""
T = TypeVar("T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="only changes of this memory")
    parser.add_argument("--all", action="store_true", help="of all projects")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.state import history, inbox
    from memoryd.state.database import open_database

    memory_dir = None if context.arguments.all else project_of(context).memory_dir
    name = file_meant(context.arguments.file) if context.arguments.file else None
    database = open_database(context.paths)
    try:
        changes = history.recent(database, memory_dir, name, _MOST)
        not_done = inbox.closed(database, memory_dir, name, _MOST)
        accepted = inbox.rows_accepted_by(database, [change.id for change in changes])
        if context.arguments.json:
            rows = [(change.at, {**_as_json(database, change), "inbox": accepted.get(change.id)}) for change in changes]
            print_json(_merged(rows, [(row.closed_at, _closed_as_json(row)) for row in not_done]))
            return 0
    finally:
        database.close()
    lines = _merged(
        [(change.at, describe(change)) for change in changes],
        [(row.closed_at, describe_closed(row)) for row in not_done],
    )
    if not lines:
        print("Nothing was changed here yet.", file=sys.stderr)
    for line in lines:
        print(line)
    return 0


def _merged(changes: list[tuple[float, T]], not_done: list[tuple[float, T]]) -> list[T]:
    """Both lists merged by time. Each keeps its own order, also where the clock was set back."""
    from heapq import merge

    return [what for _, what in merge(changes, not_done, key=lambda row: row[0], reverse=True)][:_MOST]


def _closed_as_json(row: ClosedRow) -> dict[str, Any]:
    """A change that was not made, in the form of those that were."""
    from memoryd.clock import iso

    return {
        "change": None,
        "at": iso(row.closed_at),
        "kind": "review",
        "state": row.outcome,
        "why": row.reason,
        "session": row.session_id or None,
        "memory_dir": row.memory_dir,
        "files": list(row.names),
        "undoes": None,
        "undone_by": None,
        "kept": False,
        "fates": [],
        "inbox": row.id,
    }


def _as_json(database: Database, change: Change) -> dict[str, Any]:
    from memoryd.clock import iso
    from memoryd.state.dream_verdicts import not_done_by

    is_dream = change.kind == "dream" and change.job_id is not None
    return {
        "change": change.id,
        "at": iso(change.at),
        "kind": change.kind,
        "state": change.state,
        "why": change.why,
        "session": change.session_id or None,
        "memory_dir": change.memory_dir,
        "files": list(change.names),
        "undoes": change.undoes,
        "undone_by": change.undone_by,
        "kept": change.is_kept,
        "fates": [not_done_as_json(group) for group in not_done_by(database, change.job_id or 0)] if is_dream else [],
    }


def describe_closed(row: ClosedRow) -> str:
    """Line about a proposal that was not made."""
    return f"{'-':>5}  {_moment(row.closed_at)}  review    {shown(', '.join(row.names))} ({row.outcome}): {shown(row.reason)}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def describe(change: Change) -> str:
    """Line about a change."""
    when = _moment(change.at)
    notes = "" if change.state == "applied" else f" ({change.state})"
    if change.kind == "extract" and change.why != "what you said":
        notes += f" ({change.why})"
    if change.undone_by is not None:
        notes += f" (undone by {change.undone_by})"
    if not change.is_kept:
        notes += " (no longer kept)"
    what = ", ".join(change.names) or change.why
    if change.kind == "dream":
        names = ", ".join(change.names) if len(change.names) <= _NAMED else count(len(change.names), "file")
        what = ": ".join(filter(None, [summary(change.why), names]))
    return f"{change.id:>5}  {when}  {change.kind:<8}  {shown(what)}{notes}"
