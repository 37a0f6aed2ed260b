"""Show what a memory rests on: the words of yours, when and in which session they were said, and its changes.

A memory that a dream merged rests on what its sources rested on; they are named. Of one that is gone it tells what took it
away. A part of its name is enough.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memoryd.cli.memory_names import memory_name_ever
from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, project_of

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.cli.screen import Block
    from memoryd.jobs.explain import Explanation
    from memoryd.memory.document import Document
    from memoryd.recall.outcomes import MemoryOutcome

NAME = "why"
HELP = "what a memory rests on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name, or a part of it")
    add_project_option(parser, with_global=True)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.screen import Paragraph, Screen
    from memoryd.jobs.explain import explain
    from memoryd.recall.outcomes import MemoryOutcome, outcomes
    from memoryd.state.database import open_database

    project = project_of(context)
    if os.path.basename(context.arguments.file) in ("MEMORY", "MEMORY.md"):
        Screen(context.environment).show([Paragraph(_ABOUT_INDEX)])
        return 0
    database = open_database(context.paths)
    try:
        name = memory_name_ever(context, database, project.memory_dir, context.arguments.file)
        explained = explain(database, context.paths, project.memory_dir, name)
    finally:
        database.close()
    outcome = outcomes(context.paths).get((project.memory_dir, name), MemoryOutcome())
    if context.arguments.json:
        print_json(_as_json(explained) | {"outcome": _outcome_json(outcome)})
        return 0
    blocks = _about_file(explained) + _about_merge(explained) + _about_words(explained)
    blocks += _about_outcome(explained.document, outcome) + _about_changes(explained)
    Screen(context.environment).show(blocks)
    return 0


_ABOUT_INDEX = (
    "MEMORY.md is the index: a line for each memory, which memoryd makes anew with every change. It rests on the memories."
    " To see why one is there: memoryd why FILE; what was changed: memoryd history."
)


def _about_file(explained: Explanation) -> list[Block]:
    """What became of a memory that is gone, and the command that brings it back."""
    from memoryd.cli.history import moment
    from memoryd.cli.screen import Command, Paragraph

    gone = explained.gone(moment)
    return [Paragraph(gone), Command(f"memoryd restore {explained.name}", before="to put it back: ")] if gone else []


def _about_merge(explained: Explanation) -> list[Block]:
    from memoryd.cli.screen import Paragraph

    sources = ", ".join(explained.merged_from)
    return [Paragraph(f"{sources} became part of {explained.name}, with what it rested on.")] if sources else []


def _about_words(explained: Explanation) -> list[Block]:
    from memoryd.cli.screen import Paragraph
    from memoryd.clock import iso
    from memoryd.language.evidence import is_of_repository

    name, found = explained.name, explained.found
    blocks: list[Block] = []
    if found.former_name:
        blocks.append(Paragraph(f"It was called {found.former_name} when memoryd wrote it."))
    for piece in explained.evidence:
        if is_of_repository(piece):
            place, _, commit = piece.message_id.partition("@")
            at = f" at commit {commit[:12]}" if commit else ""
            blocks += [Paragraph(f"The repository showed, in {place}{at}:"), Paragraph(f'"{piece.quote}"', indent=4)]
            continue
        when = iso(piece.said_at) if piece.said_at else "some time"
        client = explained.clients.get(piece.session_id, "")
        where = (
            f"in session {piece.session_id}{f' of {client}' if client else ''}" if piece.session_id else "to memoryd"
        )
        blocks += [Paragraph(f"You said, {where}, at {when}:"), Paragraph(f'"{piece.quote}"', indent=4)]
    if explained.evidence or explained.document is None:
        return blocks
    if found.session_id:
        told = (
            f"{name} says that it rests on session {found.session_id}; memoryd has no record of the words, and they are not"
            " in a transcript that is still there."
        )
    else:
        told = f"memoryd knows of nothing you said that {name} rests on: somebody else wrote it."
    return [*blocks, Paragraph(told)]


def _about_outcome(document: Document | None, outcome: MemoryOutcome) -> list[Block]:
    """What sessions were handed, and what they did then."""
    from memoryd.cli.screen import Paragraph
    from memoryd.formatting import count
    from memoryd.rules.forbidden import forbidden_in

    blocks: list[Block] = []
    if outcome.shown:
        told = f"Handed over {count(outcome.shown, 'time')} to {count(outcome.sessions, 'session')}"
        told += f", {outcome.with_calls:,} of them with a tool call" if outcome.with_calls else ""
        told += f": about {outcome.tokens:,} tokens. Read or quoted in {count(outcome.used, 'session')}."
        if document is not None and (document.enforce or forbidden_in(document.description, document.body)):
            told += f" Afterwards {count(outcome.followed, 'call')} did what it forbids."
        told += f" You said it again {count(outcome.corrected, 'time')}."
        blocks.append(Paragraph(told))
    if document is not None and document.enforce:
        refused = (
            f"It binds ({document.enforce}): {count(outcome.refused, 'call')} refused, {outcome.allowed:,} allowed."
        )
        blocks.append(Paragraph(refused))
    return blocks


def _outcome_json(outcome: MemoryOutcome) -> dict[str, int]:
    names = ("shown", "with_calls", "sessions", "tokens", "used", "refused", "allowed", "followed", "corrected")
    return {name: getattr(outcome, name) for name in names}


def _about_changes(explained: Explanation) -> list[Block]:
    from memoryd.cli.history import describe, table_of

    return [table_of([describe(change) for change in explained.changes])] if explained.changes else []


def _as_json(explained: Explanation) -> dict[str, Any]:
    from memoryd.clock import iso

    removal = explained.removal
    return {
        "file": explained.name,
        "evidence": [
            {
                "session": piece.session_id or None,
                "client": explained.clients.get(piece.session_id),
                "message": piece.message_id,
                "said_at": iso(piece.said_at) if piece.said_at else None,
                "quote": piece.quote,
            }
            for piece in explained.evidence
        ],
        "changes": [change.id for change in explained.changes],
        "merged_from": explained.merged_from,
        "merged_into": explained.heir,
        "removed_by": None
        if removal is None
        else {
            "change": removal.change.id,
            "kind": removal.change.kind,
            "at": iso(removal.change.at),
            "why": removal.why,
        },
    }
