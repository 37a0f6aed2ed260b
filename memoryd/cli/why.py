"""Show what a memory rests on: the words of yours, when and in which session they were said, and its changes.

A memory that a dream merged rests on what its sources rested on; they are named. Of one that is gone it tells what took it
away. A part of its name is enough.

    memoryd why 2026-10-18.md:3     line 3 of a daily log
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memoryd.cli.memory_names import memory_name_ever
from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, project_of
from memoryd.formatting import shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.cli.screen import Block
    from memoryd.jobs.explain import Explanation
    from memoryd.recall.outcomes import MemoryOutcome
    from memoryd.state.database import Database

NAME = "why"
HELP = "what a memory rests on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its file name, or a part of it; LOG:NUMBER for a line of a daily log")
    add_project_option(parser, with_global=True)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.screen import Paragraph, Screen
    from memoryd.jobs.explain import explain
    from memoryd.jobs.team import author_of
    from memoryd.memory.tier_names import TEAM_FOLDER
    from memoryd.recall.outcomes import MemoryOutcome, outcomes
    from memoryd.rules.confirmed import confirmed
    from memoryd.state.database import open_database

    project = project_of(context)
    if os.path.basename(context.arguments.file) in ("MEMORY", "MEMORY.md"):
        Screen(context.environment).show([Paragraph(_ABOUT_INDEX)])
        return 0
    database = open_database(context.paths)
    given, _, number = context.arguments.file.rpartition(":")
    line_number = int(number) if given.endswith(".md") and number.isdecimal() else None
    try:
        asked = given if line_number is not None else context.arguments.file
        memory_dir = _place_of(database, project.memory_dir, asked)
        is_of_team = memory_dir != project.memory_dir
        name = memory_name_ever(context, database, memory_dir, asked)
        explained = explain(database, context.paths, memory_dir, name, line_number)
    finally:
        database.close()
    shown_as = f"{TEAM_FOLDER}/{name}" if is_of_team else name
    outcome = outcomes(context.paths).get((project.memory_dir, shown_as), MemoryOutcome())
    if context.arguments.json:
        author = author_of(explained.document) if is_of_team and explained.document else None
        print_json(_as_json(explained) | {"file": shown_as, "author": author, "outcome": _outcome_json(outcome)})
        return 0
    if is_of_team and explained.document is not None:
        blocks: list[Block] = [Paragraph(_OF_TEAM.format(name=shown_as, author=shown(author_of(explained.document))))]
    else:
        blocks = _about_file(explained) + _about_merge(explained) + _about_words(explained)
    blocks += _about_outcome(explained, outcome, confirmed(context.paths, memory_dir, name))
    blocks += _about_changes(explained)
    Screen(context.environment).show(blocks)
    return 0


def _place_of(database: Database, memory_dir: str, given: str) -> str:
    """The team's folder where one of its memories is meant and none of the user's own; else the user's own."""
    from memoryd.jobs.team import team_dir_of
    from memoryd.memory.names import fitting_ever
    from memoryd.memory.tier_names import TEAM_FOLDER

    is_named = os.path.basename(os.path.dirname(given)) == TEAM_FOLDER
    if is_named or not fitting_ever(database, memory_dir, given):
        team_dir = team_dir_of(memory_dir)
        return team_dir if fitting_ever(database, team_dir, given) else memory_dir
    return memory_dir


_OF_TEAM = "{name} was shared by {author}, who works on this project too. It rests on what they found; their words stay on their machine."
_ABOUT_INDEX = (
    "MEMORY.md is the index: a line for each memory, which memoryd makes anew with every change. It rests on the memories."
    " To see why one is there: memoryd why FILE; what was changed: memoryd history."
)


def _about_file(explained: Explanation) -> list[Block]:
    """What became of a memory that is gone, and the command that brings it back."""
    from memoryd.cli.history import moment
    from memoryd.cli.screen import Command, Paragraph

    gone = explained.gone(moment)
    if explained.heir and explained.heir.is_renamed:  # to put it back would double it
        return [Paragraph(gone), Command(f"memoryd why {explained.heir.name}", before="what it rests on: ")]
    return [Paragraph(gone), Command(f"memoryd restore {explained.name}", before="to put it back: ")] if gone else []


def _about_merge(explained: Explanation) -> list[Block]:
    from memoryd.cli.screen import Paragraph

    sources = ", ".join(explained.merged_from)
    return [Paragraph(f"{sources} became part of {explained.name}, with what it rested on.")] if sources else []


def _about_words(explained: Explanation) -> list[Block]:
    from memoryd.cli.screen import Paragraph
    from memoryd.clients.registry import client_named
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
        client = explained.clients.get(piece.session_id)
        where = (
            f"in session {piece.session_id}{f' of {client_named(client).title}' if client else ''}"
            if piece.session_id
            else "to memoryd"
        )
        blocks += [Paragraph(f"You said, {where}, at {when}:"), Paragraph(f'"{piece.quote}"', indent=4)]
    if explained.evidence or explained.document is None:
        return blocks
    if found.session_id:
        told = (
            f"{name} says that it rests on session {found.session_id}; memoryd has no record of the words, and they are not"
            " in a transcript that is still there."
        )
    elif explained.document.metadata.get("evidence"):
        told = f"memoryd wrote {name}, at your word; the history that had your words is gone."
    else:
        told = f"memoryd knows of nothing you said that {name} rests on: somebody else wrote it."
    return [*blocks, Paragraph(told)]


def _about_outcome(explained: Explanation, outcome: MemoryOutcome, binds: frozenset[str]) -> list[Block]:
    """What sessions were handed, and what they did then."""
    from memoryd.cli.screen import Paragraph
    from memoryd.formatting import count
    from memoryd.recall.use import odds_factor
    from memoryd.rules.forbidden import forbidden_in

    name, document = explained.name, explained.document
    blocks: list[Block] = []
    if outcome.shown:
        told = f"Handed over {count(outcome.shown, 'time')} to {count(outcome.sessions, 'session')}"
        told += f", {outcome.with_calls:,} of them with a tool call" if outcome.with_calls else ""
        told += f": about {outcome.tokens:,} tokens. Read or quoted in {count(outcome.used, 'session')}."
        if document is not None and (document.enforce or forbidden_in(document.description, document.body)):
            told += f" Afterwards {count(outcome.followed, 'call')} did what it forbids."
        told += f" You said it again {count(outcome.corrected, 'time')}."
        factor = odds_factor(outcome.sessions, outcome.used + outcome.corrected)
        if factor != 1:
            told += f" For that it ranks a little {'higher' if factor > 1 else 'lower'}."
        blocks.append(Paragraph(told))
    if document is not None and document.enforce:
        counts = f"{count(outcome.refused, 'call')} refused, {outcome.allowed:,} allowed"
        asks = (
            f"It asks to be binding ({document.enforce}), and refuses nothing before you say so: memoryd enforce {name}"
        )
        blocks.append(Paragraph(f"It binds ({'; '.join(sorted(binds))}): {counts}." if binds else asks))
    return blocks


def _outcome_json(outcome: MemoryOutcome) -> dict[str, int]:
    names = ("shown", "with_calls", "sessions", "tokens", "used", "refused", "allowed", "followed", "corrected")
    return {name: getattr(outcome, name) for name in names}


def _about_changes(explained: Explanation) -> list[Block]:
    from memoryd.cli.history import describe, table_of

    return [table_of([describe(change) for change in explained.changes])] if explained.changes else []


def _as_json(explained: Explanation) -> dict[str, Any]:
    from memoryd.clock import iso

    removal, heir = explained.removal, explained.heir
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
        "merged_into": heir.name if heir and not heir.is_renamed else None,
        "renamed_to": heir.name if heir and heir.is_renamed else None,
        "removed_by": None
        if removal is None
        else {
            "change": removal.change.id,
            "kind": removal.change.kind,
            "at": iso(removal.change.at),
            "why": removal.why,
        },
    }
