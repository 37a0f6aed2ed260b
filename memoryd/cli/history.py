"""Show what was changed in the memories of a project, newest first: by what, why, and what undid it."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memoryd.cli.dream_words import fate_as_json, summary
from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, file_meant, project_of
from memoryd.words import count, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.database import Database
    from memoryd.state.history import Change

NAME = "history"
HELP = "what was changed, and why"
_NAMED = 3
"""So many files of a dream are named in its line; `diff` shows them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="only changes of this memory")
    parser.add_argument("--all", action="store_true", help="of all projects")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.state import history
    from memoryd.state.database import open_database

    memory_dir = None if context.arguments.all else project_of(context).memory_dir
    name = context.arguments.file
    database = open_database(context.paths)
    try:
        changes = history.recent(database, memory_dir, file_meant(name) if name else None)
        if context.arguments.json:
            print_json([_as_json(database, change) for change in changes])
            return 0
    finally:
        database.close()
    if not changes:
        print("Nothing was changed here yet.", file=sys.stderr)
    for change in changes:
        print(describe(change))
    return 0


def _as_json(database: Database, change: Change) -> dict[str, Any]:
    from memoryd.clock import iso
    from memoryd.state import dreams

    fates = dreams.fates_of(database, change.job_id) if change.kind == "dream" and change.job_id is not None else []
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
        "fates": [fate_as_json(one) for one in fates],
    }


def describe(change: Change) -> str:
    """One change in one line."""
    when = datetime.fromtimestamp(change.at).astimezone().strftime("%Y-%m-%d %H:%M")
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
