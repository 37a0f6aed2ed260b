"""Proposals to share: what was just learnt and may be of use to everybody on the project waits in the inbox for a yes.

Nothing is shared by itself. By type: the situation of the project and places to look are rather the team's; rules are the
user's own unless the user shares them, and memories about the person are always private.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.errors import StateError
from memoryd.jobs.team import author_of, team_dir_of
from memoryd.memory.directory import open_directory
from memoryd.memory.document import DocumentError, parse
from memoryd.model import FileChange, Group, HeldGroup
from memoryd.state import inbox, team
from memoryd.stores.keys import refusal_of_content, refusal_of_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Evidence
    from memoryd.state.database import Database

MOST_WAITING = 20
"""Proposals that wait in one project; no more are made until some are answered."""
_TYPES = ("project", "reference")
_REASON = "It may be of use to everybody who works on this project: share it with the team?"


def sharing_proposals(
    database: Database, memory_dir: str, groups: Sequence[Group]
) -> tuple[tuple[str, HeldGroup], ...]:
    """The question, for each of these groups that will be committed, whether the team shall have it, where the project has one."""
    answer = team.answers(database).get(memory_dir)
    if answer is None or not answer.is_on:
        return ()
    team_dir = team_dir_of(memory_dir)
    room = MOST_WAITING - len(inbox.waiting(database, team_dir))
    asked = [
        HeldGroup(Group((proposed,), f"share {change.name}", _evidence(group, change.name)), "held", _REASON)
        for group in groups
        for change in group.changes
        if (proposed := _proposed(team_dir, change, answer.author)) is not None
    ]
    return tuple((team_dir, row) for row in asked[: max(0, room)])


def withdraw_outdated(database: Database, memory_dir: str, now: float) -> None:
    """Take back proposals of memories that have been changed or deleted since, or that the team is not to have any more."""
    is_on = team.is_on(database, memory_dir)
    gone = [
        row.id
        for row in inbox.waiting(database, team_dir_of(memory_dir))
        if not is_on or _said(_content(memory_dir, row.first.name)) != _said(row.first.after)
    ]
    if gone:
        inbox.withdraw(database, gone, now)


def _proposed(team_dir: str, change: FileChange, author: str) -> FileChange | None:
    """The change of the team's folder that would share a memory; None where it is nothing for the team."""
    if change.after is None or refusal_of_name(change.name) or refusal_of_content(change.after):
        return None
    there = _content(team_dir, change.name)
    if there is not None and author_of(parse(there)) != author:
        return None  # somebody else's, by the same name
    document = parse(change.after)
    if document.type not in _TYPES or _said(there) == _said(change.after):
        return None
    with suppress(DocumentError):
        shared = document.with_value(("metadata", "author"), author).render()
        return FileChange(change.name, there, shared, None, change.after_mtime_ns)
    return None


def _evidence(group: Group, name: str) -> tuple[tuple[str, Evidence], ...]:
    return tuple((file, piece) for file, piece in group.evidence if file == name)


def _said(data: bytes | None) -> tuple[str, str] | None:
    """What a memory says, whoever shared it."""
    document = parse(data) if data is not None else None
    return (document.description, document.body) if document else None


def _content(directory: str, name: str) -> bytes | None:
    try:
        with open_directory(directory) as opened:
            state = opened.read(name)
    except (OSError, StateError):
        return None
    return state.data if state else None
