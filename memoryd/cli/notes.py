"""Show the notes of a session: what was asked and done in it so far, as it gets them back after a compaction.

    memoryd notes                the sessions that have notes, the last active first
    memoryd notes --latest       the notes of the last session in this project
    memoryd notes 6897cab2       of the session whose id begins so; words of its title will do as well

Notes are kept from 10,000 tokens on and for 7 days after the session. For a session without, they are made now from its
transcript, and only shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.cli.session_names import add_session_arguments, session_meant
from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.notes.facts import SessionFacts
    from memoryd.state.notes import KeptNotes, NotedSession

NAME = "notes"
HELP = "what a session has done so far"
_SHORT_ID = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_session_arguments(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    kept = kept_notes(context)
    if not context.arguments.session and not context.arguments.latest:
        return _list(context, kept)
    notes, facts = notes_now(context, session_meant(context, kept), kept)
    if context.arguments.json:
        print_json(_as_json(notes, facts))
        return 0
    from memoryd.notes.sections import rendered

    print(rendered(notes.session_id, facts, notes.written), end="")
    return 0


def kept_notes(context: Context) -> list[KeptNotes]:
    """All notes that are kept, the last active first; none where memoryd has not run yet."""
    from memoryd.state.database import open_for_reading
    from memoryd.state.notes import all_notes

    database = open_for_reading(context.paths)
    if database is None:
        return []
    try:
        return all_notes(database)
    finally:
        database.close()


def notes_now(context: Context, place: NotedSession, kept: list[KeptNotes]) -> tuple[KeptNotes, SessionFacts]:
    """The notes of a session with what is new in its transcript, as far as that is still there; nothing is stored.

    Raises UsageError.
    """
    from memoryd.notes.facts import SessionFacts

    known = next((notes for notes in kept if notes.session_id == place.session_id), None)
    notes = _read_on(context, place, known) or known
    if notes is None:
        raise UsageError(f"{place.path} cannot be read.", "memoryd doctor")
    facts = SessionFacts(notes.facts)
    if facts.opted_out:
        raise UsageError("A prompt in this session opted it out, so there are no notes of it.")
    if facts.is_empty:
        raise UsageError("Nothing has been said in this session yet.", "memoryd notes")
    return notes._replace(file=known.file if known else ""), facts


def _read_on(context: Context, place: NotedSession, notes: KeptNotes | None) -> KeptNotes | None:
    from memoryd.jobs.notes import read_on
    from memoryd.sources.session import NotATranscriptError

    is_complete = False
    while not is_complete:
        try:
            notes, _, is_complete = read_on(place, notes, context.clock.now())
        except (OSError, NotATranscriptError):
            return None
    return notes


def _list(context: Context, kept: list[KeptNotes]) -> int:
    from memoryd.notes.facts import SessionFacts

    there = [(notes, SessionFacts(notes.facts)) for notes in kept if notes.file]
    if context.arguments.json:
        print_json([_listed(notes, facts) for notes, facts in there])
        return 0
    if not there:
        print_message(
            "No session has notes: they are kept from 10,000 tokens on. memoryd notes --latest makes some now."
        )
        return 0
    from memoryd.cli.screen import Column, Screen, Table
    from memoryd.formatting import ago, short

    now = context.clock.now()
    columns = [Column("session"), Column("active"), Column("project"), Column("about")]
    rows = [
        [
            notes.session_id[:_SHORT_ID],
            ago(max(0.0, now - notes.active_at)),
            short(facts.cwd, context.paths.home),
            _title(notes, facts),
        ]
        for notes, facts in there
    ]
    Screen(context.environment).show([Table(columns, rows)])
    return 0


def _title(notes: KeptNotes, facts: SessionFacts) -> str:
    from memoryd.notes.sections import title_of

    return notes.written.get("Session Title", "").strip() or title_of(facts)


def _listed(notes: KeptNotes, facts: SessionFacts) -> dict[str, Any]:
    from memoryd.clock import iso

    return {
        "session": notes.session_id,
        "client": notes.client,
        "cwd": facts.cwd or None,
        "active_at": iso(notes.active_at),
        "title": _title(notes, facts),
        "tokens": facts.tokens,
        "turns": facts.turns,
        "file": notes.file or None,
    }


def _as_json(notes: KeptNotes, facts: SessionFacts) -> dict[str, Any]:
    from memoryd.notes.sections import sections_of
    from memoryd.security.redact import redact

    sections = {title: redact(text) or None for title, text in sections_of(facts, notes.written).items()}
    return {**_listed(notes, facts), "transcript": notes.path, "sections": sections}
