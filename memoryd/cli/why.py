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
    from memoryd.jobs.evidence_lookup import FoundEvidence
    from memoryd.memory.document import Document
    from memoryd.model import Evidence
    from memoryd.recall.outcomes import MemoryOutcome
    from memoryd.state.database import Database
    from memoryd.state.history import Change, Removal

NAME = "why"
HELP = "what a memory rests on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name, or a part of it")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.screen import Paragraph, Screen
    from memoryd.recall.outcomes import MemoryOutcome, outcomes
    from memoryd.state import history
    from memoryd.state.database import open_database

    project = project_of(context)
    database = open_database(context.paths)
    try:
        if os.path.basename(context.arguments.file) in ("MEMORY", "MEMORY.md"):
            Screen(context.environment).show([Paragraph(_ABOUT_INDEX)])
            return 0
        name = memory_name_ever(context, database, project.memory_dir, context.arguments.file)
        document = _document(project.memory_dir, name)
        evidence = history.evidence_of(database, project.memory_dir, name)
        changes = history.recent(database, project.memory_dir, name)
        found = None if evidence or document is None else _by_file(context, database, name, document)
        removal = history.removal_of(database, project.memory_dir, name) if document is None else None
        heir = _heir(database, removal, name) if removal else None
    finally:
        database.close()
    evidence = [*evidence, *(found.evidence if found else ())]
    outcome = outcomes(context.paths).get((project.memory_dir, name), MemoryOutcome())
    merged_from = str(document.metadata.get("mergedFrom", "")).split() if document else []
    if context.arguments.json:
        print_json(_as_json(name, evidence, changes, merged_from, heir, removal) | {"outcome": _outcome_json(outcome)})
        return 0
    blocks = _about_file(name, document, removal, heir) + _about_merge(name, merged_from)
    blocks += _about_words(name, evidence, found, is_there=document is not None)
    blocks += _about_outcome(document, outcome) + _about_changes(changes)
    Screen(context.environment).show(blocks)
    return 0


_ABOUT_INDEX = (
    "MEMORY.md is the index: a line for each memory, which memoryd makes anew with every change. It rests on the memories."
    " To see why one is there: memoryd why FILE; what was changed: memoryd history."
)


def _document(memory_dir: str, name: str) -> Document | None:
    """The memory, or None where it is no longer there."""
    from memoryd.memory.directory import open_directory
    from memoryd.memory.document import parse

    try:
        with open_directory(memory_dir) as directory:
            state = directory.read(name)
    except FileNotFoundError:
        return None
    return parse(state.data) if state else None


def _by_file(context: Context, database: Database, name: str, document: Document) -> FoundEvidence:
    from memoryd.jobs.evidence_lookup import evidence_by_file

    return evidence_by_file(database, context.paths, name, document)


def _heir(database: Database, removal: Removal, name: str) -> str | None:
    """The memory that a dream made this one part of, in its last change."""
    from memoryd.state import history

    return history.heir_of(database, removal.change.id, name) if removal.change.kind == "dream" else None


def _about_file(name: str, document: Document | None, removal: Removal | None, heir: str | None) -> list[Block]:
    """What became of a memory that is gone, and the command that brings it back."""
    from memoryd.cli.screen import Command, Paragraph

    if document is not None:
        return []
    if heir:
        gone = f"{name} became part of {heir}."
    elif removal is None:
        gone = f"{name} is no longer there. It was taken away by hand, or by another program; memoryd did not do it."
    else:
        gone = f"{name} is no longer there: {_what_took(removal)}."
    return [Paragraph(gone), Command(f"memoryd restore {name}", before="to put it back: ")]


def _what_took(removal: Removal) -> str:
    from memoryd.cli.history import moment

    change = removal.change
    when = f"{moment(change.at)}, change {change.id}"
    if change.kind == "forget":
        return f"you had it forgotten ({when})"
    if change.kind in ("undo", "redo"):
        return f"it went with the {change.kind} of change {change.undoes} ({when})"
    if change.kind == "review":
        return f"you said yes to taking it away ({when}): {removal.why}"
    by = "a dream" if change.kind == "dream" else "memoryd"
    return f"{by} took it away ({when}): {removal.why}"


def _about_merge(name: str, merged_from: list[str]) -> list[Block]:
    from memoryd.cli.screen import Paragraph

    if not merged_from:
        return []
    return [Paragraph(f"{', '.join(merged_from)} became part of {name}, with what it rested on.")]


def _about_words(name: str, evidence: list[Evidence], found: FoundEvidence | None, *, is_there: bool) -> list[Block]:
    from memoryd.cli.screen import Paragraph
    from memoryd.clock import iso
    from memoryd.language.evidence import is_of_repository

    blocks: list[Block] = []
    if found and found.former_name:
        blocks.append(Paragraph(f"It was called {found.former_name} when memoryd wrote it."))
    for piece in evidence:
        if is_of_repository(piece):
            place, _, commit = piece.message_id.partition("@")
            at = f" at commit {commit[:12]}" if commit else ""
            blocks += [Paragraph(f"The repository showed, in {place}{at}:"), Paragraph(f'"{piece.quote}"', indent=4)]
            continue
        when = iso(piece.said_at) if piece.said_at else "some time"
        where = f"in session {piece.session_id}" if piece.session_id else "to memoryd"
        blocks += [Paragraph(f"You said, {where}, at {when}:"), Paragraph(f'"{piece.quote}"', indent=4)]
    if evidence or not is_there:
        return blocks
    if found and found.session_id:
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


def _about_changes(changes: list[Change]) -> list[Block]:
    from memoryd.cli.history import describe, table_of

    return [table_of([describe(change) for change in changes])] if changes else []


def _as_json(
    name: str,
    evidence: list[Evidence],
    changes: list[Change],
    merged_from: list[str],
    heir: str | None,
    removal: Removal | None,
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
        "removed_by": None
        if removal is None
        else {
            "change": removal.change.id,
            "kind": removal.change.kind,
            "at": iso(removal.change.at),
            "why": removal.why,
        },
    }
