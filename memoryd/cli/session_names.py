"""Sessions as people name them: the beginning of an id, a transcript, words of the title, or the latest one here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.notes import KeptNotes, NotedSession

_LOOKED_AT = 50
_LISTED = 5
_SHORT_ID = 8


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", help="the beginning of its id, its transcript, or words of its title"
    )
    parser.add_argument("--latest", action="store_true", help="the session that was active last in this project")


def session_meant(context: Context, kept: list[KeptNotes]) -> NotedSession:
    """The session that the arguments name. Transcripts are looked for as they are now, whether memoryd runs or not.

    Raises UsageError where none fits, or several do.
    """
    given = context.arguments.session or ""
    sessions = _sessions(context, kept)
    if context.arguments.latest and not given:
        return _latest_here(sessions)
    path = os.path.abspath(os.path.expanduser(given))
    fitting = [place for place in sessions if path == place.path]
    fitting = fitting or [place for place in sessions if given and place.session_id.startswith(given)]
    if not fitting:
        titled = _by_title(given, kept)
        fitting = [place for place in sessions if place.session_id in titled]
    ids = list(dict.fromkeys(place.session_id for place in fitting))
    if len(ids) == 1:
        return fitting[0]
    command = f"memoryd {context.arguments.called}"
    if ids:
        listed = ", ".join(name[: max(_SHORT_ID, len(given) + 4)] for name in ids[:_LISTED])
        more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
        raise UsageError(f"{len(ids)} sessions fit {given}: {listed}{more}.", f"{command} {ids[0]}")
    raise UsageError(f"There is no session {given}.", f"{command} --latest   # or: memoryd notes")


def _sessions(context: Context, kept: list[KeptNotes]) -> list[NotedSession]:
    """All transcripts, the last active first, and those that are gone and left notes."""
    from memoryd.clients.registry import all_sessions
    from memoryd.state.notes import NotedSession

    there = [
        NotedSession(client.session_id(found.path), client.name, found.path, active_at=found.mtime_ns / 1e9)
        for client, found in all_sessions(context.paths)
    ]
    ids = {place.session_id for place in there}
    there += [
        NotedSession(notes.session_id, notes.client, notes.path, active_at=notes.active_at)
        for notes in kept
        if notes.session_id not in ids
    ]
    return sorted(there, key=lambda place: -place.active_at)


def _latest_here(sessions: list[NotedSession]) -> NotedSession:
    from memoryd.clients.registry import client_named
    from memoryd.projects import root_of
    from memoryd.transcripts.read import first_cwd

    here = root_of(os.getcwd())
    for place in sessions[:_LOOKED_AT]:
        cwd = first_cwd(client_named(place.client), place.path)
        if cwd and root_of(cwd) == here:
            return place
    raise UsageError(f"No session of {here} is among the last {_LOOKED_AT}.", "memoryd notes")


def _by_title(words: str, kept: list[KeptNotes]) -> set[str]:
    from memoryd.notes.facts import SessionFacts
    from memoryd.notes.sections import title_of

    def title(notes: KeptNotes) -> str:
        return f"{notes.written.get('Session Title', '')} {title_of(SessionFacts(notes.facts))}".lower()

    return {notes.session_id for notes in kept if words and all(word in title(notes) for word in words.lower().split())}
