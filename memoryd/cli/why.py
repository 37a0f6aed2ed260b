"""Show what a memory rests on: your words, when and in which session you said them, and its changes.

A memory that a dream merged rests on what its sources rested on; they are named.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, file_meant, memory_name, memory_of, project_of
from memoryd.errors import MemorydError
from memoryd.formatting import shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.model import Evidence
    from memoryd.state.database import Database
    from memoryd.state.history import Change

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
        merged_from: list[str] = []
        with memory_of(project) as directory:
            try:
                name = memory_name(directory, context.arguments.file)
                is_there = True
                merged_from = _merged_from(directory, name)
            except MemorydError:
                name = file_meant(context.arguments.file)
                is_there = False
                if not history.recent(database, project.memory_dir, name):
                    raise
        evidence = history.evidence_of(database, project.memory_dir, name)
        changes = history.recent(database, project.memory_dir, name)
        heir = None if is_there else _heir(database, changes[0], name)
    finally:
        database.close()
    if context.arguments.json:
        print_json(_as_json(name, evidence, changes, merged_from, heir))
        return 0
    if not is_there:
        became = f"became part of {shown(heir)}" if heir else "is no longer there"
        print(f"{shown(name)} {became}: memoryd restore {shown(name)} puts it back.", file=sys.stderr)
    if merged_from:
        print(f"{shown(', '.join(merged_from))} became part of {shown(name)}, with what it rested on.")
    for piece in evidence:
        when = iso(piece.said_at) if piece.said_at else "some time"
        where = f"in session {piece.session_id}" if piece.session_id else "to memoryd"
        print(f'You said, {where}, at {when}:\n    "{shown(piece.quote)}"')
    if not evidence and is_there:
        print(f"memoryd knows of nothing you said that {shown(name)} rests on: somebody else wrote it.")
    for change in changes:
        print(describe(change))
    return 0


def _merged_from(directory: MemoryDirectory, name: str) -> list[str]:
    """Files that a dream merged into a memory, as its frontmatter says."""
    from memoryd.memory.document import parse

    state = directory.read(name)
    return str(parse(state.data).metadata.get("mergedFrom", "")).split() if state else []


def _heir(database: Database, change: Change, name: str) -> str | None:
    """Memory that a dream merged this one into, in its last change."""
    from memoryd.state import history

    return history.heir_of(database, change.id, name) if change.kind == "dream" else None


def _as_json(
    name: str, evidence: list[Evidence], changes: list[Change], merged_from: list[str], heir: str | None
) -> dict[str, Any]:
    from memoryd.clock import iso

    return {
        "file": name,
        "evidence": [
            {
                "session": piece.session_id or None,
                "message": piece.message_id,
                "said_at": iso(piece.said_at) if piece.said_at else None,
                "quote": piece.quote,
            }
            for piece in evidence
        ],
        "changes": [change.id for change in changes],
        "merged_from": merged_from,
        "merged_into": heir,
    }
