"""Notice: one line for the user about what was kept since they were last told, and how to take it back."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd import atomic_file
from memoryd.errors import BusyError, StateError
from memoryd.record import NamedTuple
from memoryd.state.kept_changes import kept_since, quotes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.kept_changes import KeptChange

_MOST_NAMED = 3
_MOST_CHARACTERS = 100
_MOST_BYTES = 65_536


class Told(NamedTuple):
    """What the user was told of one memory directory."""

    up_to: int = 0
    """The newest change, and all before it."""
    also: tuple[int, ...] = ()
    """Changes behind it that were told early."""


class KeptNotice(NamedTuple):
    text: str
    """Empty: there is nothing to tell."""
    told: Told = Told()


def notice_at_start(database: Database, paths: Paths, memory_dir: str, mode: str) -> KeptNotice:
    """For a session that begins: everything that was not told yet."""
    return _notice(database, paths, memory_dir, only_asked_for=False) if mode != "off" else KeptNotice("")


def notice_with_prompt(database: Database, paths: Paths, memory_dir: str, mode: str) -> KeptNotice:
    """For a prompt: what the user had asked to be remembered; with "each", everything."""
    return _notice(database, paths, memory_dir, only_asked_for=mode == "session") if mode != "off" else KeptNotice("")


def record_told(paths: Paths, memory_dir: str, told: Told) -> None:
    """Behind the telling: a kill between tells it twice, not never."""
    with suppress(OSError):  # it is told again
        atomic_file.write(paths.place_for(memory_dir, "told"), json.dumps(told._asdict()).encode())


def _notice(database: Database, paths: Paths, memory_dir: str, *, only_asked_for: bool) -> KeptNotice:
    with suppress(StateError, BusyError):  # nobody waits for a notice
        told = _told(paths, memory_dir)
        changes = [
            change
            for change in kept_since(database, memory_dir, told.up_to)
            if change.id not in told.also and (not only_asked_for or _is_asked_for(database, change))
        ]
        if changes:
            ids = tuple(change.id for change in changes)
            then = Told(told.up_to, (*told.also, *ids)) if only_asked_for else Told(max(*ids, *told.also, told.up_to))
            return KeptNotice(_in_words(memory_dir, changes), then)
    return KeptNotice("")


def _is_asked_for(database: Database, change: KeptChange) -> bool:
    """Whether the user asked for it in so many words ("remember …", "from now on …"), or an agent was asked to."""
    if change.kind == "remember":
        return True
    from memoryd.language.requests import is_request  # noqa: PLC0415 - most prompts have nothing to look at

    return any(is_request(quote) for quote in quotes_of(database, change.id))


def _told(paths: Paths, memory_dir: str) -> Told:
    data = atomic_file.read_regular(paths.place_for(memory_dir, "told"), _MOST_BYTES)
    try:
        found = json.loads(data or b"null")
        return Told(int(found["up_to"]), tuple(map(int, found["also"])))
    except (ValueError, TypeError, LookupError, RecursionError):
        return Told()


def _in_words(memory_dir: str, changes: Sequence[KeptChange]) -> str:
    from memoryd.formatting import count  # noqa: PLC0415 - as above
    from memoryd.memory.quick_parse import quick_parse  # noqa: PLC0415
    from memoryd.security.redact import redact  # noqa: PLC0415

    said: list[str] = []
    for name in dict.fromkeys(name for change in reversed(changes) for name in change.names):
        data = atomic_file.read_regular(os.path.join(memory_dir, name), _MOST_BYTES)
        if data is not None:  # what a change took away is told by `history`
            description = redact(quick_parse(data).description) or name
            said.append(description if len(description) <= _MOST_CHARACTERS else f"{description[:_MOST_CHARACTERS]}…")
    more = f" and {len(said) - _MOST_NAMED} more" if len(said) > _MOST_NAMED else ""
    what = f"memoryd keeps: {'; '.join(said[:_MOST_NAMED])}{more}." if said else "memoryd put your memories in order."
    if len(changes) == 1:
        return f"{what} To take it back: memoryd undo {changes[0].id}"
    return f"{what} {count(len(changes), 'change')}: memoryd history lists them, memoryd undo N takes one back"
