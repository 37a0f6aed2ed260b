"""Show what a memory rests on: the words of yours, when and in which session they were said, and its changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, file_meant, memory_name, memory_of, project_of
from memoryd.errors import MemorydError
from memoryd.words import shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "why"
HELP = "what a memory rests on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.history import describe
    from memoryd.clock import iso
    from memoryd.state import history
    from memoryd.state.database import open_database

    project = project_of(context)
    database = open_database(context.paths)
    try:
        with memory_of(project) as directory:
            try:
                name = memory_name(directory, context.arguments.file)
                is_there = True
            except MemorydError:
                name = file_meant(context.arguments.file)
                is_there = False
                if not history.recent(database, project.memory_dir, name):
                    raise
        evidence = history.evidence_of(database, project.memory_dir, name)
        changes = history.recent(database, project.memory_dir, name)
    finally:
        database.close()
    if context.arguments.json:
        print_json(
            {
                "file": name,
                "evidence": [
                    {
                        "session": one.session_id or None,
                        "message": one.message_id,
                        "said_at": iso(one.said_at) if one.said_at else None,
                        "quote": one.quote,
                    }
                    for one in evidence
                ],
                "changes": [change.id for change in changes],
            }
        )
        return 0
    if not is_there:
        print(f"{shown(name)} is no longer there: memoryd restore {shown(name)} puts it back.", file=sys.stderr)
    for one in evidence:
        when = iso(one.said_at) if one.said_at else "some time"
        where = f"in session {one.session_id}" if one.session_id else "to memoryd"
        print(f'You said, {where}, at {when}:\n    "{shown(one.quote)}"')
    if not evidence and is_there:
        print(f"memoryd knows of nothing you said that {shown(name)} rests on: somebody else wrote it.")
    for change in changes:
        print(describe(change))
    return 0
