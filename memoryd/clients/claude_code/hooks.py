"""Hooks that older versions of memoryd put into Claude Code's settings: found in its text, and taken out. Pure.

    {"hooks": {"Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "..."}]}]}}
               event     group                     entry

Everything else in the text stays byte for byte; what is taken out is exactly what was put in. Today's hooks are in the plugin.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients import json_spans as spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clients.json_spans import Bracket, Container

_HOOKS = "hooks"
_BRACKETS: tuple[Bracket, Bracket] = ("{", "[")
"""Of `hooks`, and of an event in it."""
# As we have ever written it, and nothing around it: what somebody made of it is theirs.
_OURS = re.compile(
    r"""(?:[^\s;&|<>()$`'"\\]+|'[^']*'(?:"'"'[^']*')*)(?:\ -P)?\ -m\ memoryd\ hook\ [a-z-]+(?:\ \|\|\ true)?\Z""",
    re.VERBOSE,
)


class Before(NamedTuple):
    """What stood in the file when memoryd's hooks were not in it; None: there was no file."""

    text: str | None


class UnusableError(ValueError):
    """The settings have a shape in which nothing can be put; its text is the end of a sentence about the file."""


class _Place(NamedTuple):
    container: Container
    at: int

    @property
    def key(self) -> str:
        return self.container.items[self.at].key


class _Entry(NamedTuple):
    """One entry of ours, and the way to it."""

    root: _Place
    events: _Place
    groups: _Place
    entries: _Place


def events_with_hooks(text: str) -> tuple[str, ...]:
    """The events for which a hook of ours is in the settings, also where it does not count. Raises UnusableError."""
    return tuple(dict.fromkeys(entry.events.key for entry in _entries(text)))


def without_hooks(text: str, before: Before | None = None) -> str | None:
    """Without any hook of ours, and without what was made for them; None: the file is to go. Raises UnusableError.

    `before` tells what was made for them. Where nobody knows, what they leave empty was.
    """
    is_cut = False
    while (entry := next(_entries(text), None)) is not None:
        text, is_cut = _cut(text, entry, before), True
    if is_cut and before is not None and (before.text is None or spans.is_blank(before.text)) and not _root(text).items:
        return before.text
    return text


def _root(text: str) -> Container:
    if spans.is_blank(text):
        text = "{}"
    try:
        root = spans.root_of(text)
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise UnusableError("is not valid JSON" + (f" (line {line})" if line else "")) from error
    if root is None:
        raise UnusableError("is not a JSON object")
    return root


def _entries(text: str) -> Iterator[_Entry]:
    """Every entry of ours, also where a doubled key keeps it from counting. What has another shape is not ours."""
    root = _root(text)
    for root_index, member in enumerate(root.items):
        events = spans.inside(text, member.value, "{") if member.key == _HOOKS else None
        for event_index, event in enumerate(events.items if events else ()):
            groups = spans.inside(text, event.value, "[")
            for group_index, group in enumerate(groups.items if groups else ()):
                entries = _entries_of(text, group.value)
                for entry_index, entry in enumerate(entries.items if entries else ()):
                    command = _command(text, entry.value)
                    if events and groups and entries and _OURS.match(command):
                        yield _Entry(
                            _Place(root, root_index),
                            _Place(events, event_index),
                            _Place(groups, group_index),
                            _Place(entries, entry_index),
                        )


def _entries_of(text: str, start: int) -> Container | None:
    group = spans.inside(text, start, "{")
    index = group.find(_HOOKS) if group else None
    return spans.inside(text, group.items[index].value, "[") if group and index is not None else None


def _command(text: str, start: int) -> str:
    entry = spans.inside(text, start, "{")
    index = entry.find("command") if entry else None
    return spans.string_at(text, entry.items[index].value) if entry and index is not None else ""


def _cut(text: str, entry: _Entry, before: Before | None) -> str:
    """Take the entry out, and with it what it leaves empty, unless that was there before it.

    What stands twice is emptied, not taken away: then the other one would begin to count.
    """
    if len(entry.entries.container.items) > 1:
        return spans.without_item(text, *entry.entries)
    levels = (
        (entry.groups, entry.events, (_HOOKS, entry.events.key)),
        (entry.events, entry.root, (_HOOKS,)),
    )
    for place, holder, way in levels:
        if len(place.container.items) > 1:
            return spans.without_item(text, *place)
        left = _left(before, way)
        if left is not None or holder.container.has_twice(holder.key):
            return spans.with_interior(text, place.container, left or "")
    if len(entry.root.container.items) > 1:
        return spans.without_item(text, *entry.root)
    return spans.with_interior(text, entry.root.container, _left(before, ()) or "")


def _left(before: Before | None, way: tuple[str, ...]) -> str | None:
    """What an object or list held when nothing of ours was in it: blanks. None: it was not there, or nobody knows."""
    if before is None or before.text is None or spans.is_blank(before.text):
        return None
    found = _root(before.text)
    for key, bracket in zip(way, _BRACKETS, strict=False):
        index = found.find(key)
        inner = None if index is None else spans.inside(before.text, found.items[index].value, bracket)
        if inner is None:
            return None
        found = inner
    return "" if found.items else spans.interior(before.text, found)
