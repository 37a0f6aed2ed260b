"""memoryd's hooks in the text of Claude Code's settings: found, put in, brought up to date, taken out. Pure.

    {"hooks": {"Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "..."}]}]}}
               event     group                     entry

Everything else in the text stays byte for byte; what is taken out is exactly what was put in.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.clients import json_spans as spans
from memoryd.clients.settings import HooksState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clients.json_spans import Bracket, Container

_HOOKS = "hooks"
_BRACKETS: tuple[Bracket, Bracket] = ("{", "[")
"""Of `hooks`, and of an event in it."""
# As we have ever written it, and nothing around it: what somebody made of it is theirs.
_OURS = re.compile(
    r"""(?P<python>[^\s;&|<>()$`'"\\]+|'[^']*'(?:"'"'[^']*')*)(?:\ -P)?\ -m\ memoryd\ hook\ [a-z-]+(?:\ \|\|\ true)?\Z""",
    re.VERBOSE,
)


class Hook(NamedTuple):
    event: str
    name: str
    timeout_seconds: int
    """The client's own limit. A prompt waits for its hook, and the end of a session for all of them."""

    def command(self, python: str) -> str:
        """What the client's shell runs.

        In one string, not with `args`: a client that does not know those would run plain `memoryd`, whose usage error
        ends with 2, and a 2 erases the user's prompt. For the same reason no failure is passed on: memoryd may be gone
        or older than its hooks. -P, because the shell starts in the user's project, which is not to be imported from.
        """
        return f"{shlex.quote(python)} -P -m memoryd hook {self.name} || true"

    def group(self, python: str) -> dict[str, Any]:
        entry = {"type": "command", "command": self.command(python), "timeout": self.timeout_seconds}
        return {"hooks": [entry]}


HOOKS = (
    Hook("UserPromptSubmit", "user-prompt-submit", 5),
    Hook("SessionStart", "session-start", 5),
    Hook("Stop", "stop", 5),
    Hook("SessionEnd", "session-end", 2),
)


def python_of(command: str) -> str:
    """The Python that a command of ours names; empty where there is none."""
    match = _OURS.match(command)
    try:
        return shlex.split(match["python"])[-1] if match else ""
    except (ValueError, IndexError):
        return ""


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

    @property
    def counts(self) -> bool:
        """Of doubled keys only the last does."""
        return self.container.find(self.key) == self.at


class _Entry(NamedTuple):
    """One entry of ours, and the way to it."""

    root: _Place
    events: _Place
    groups: _Place
    entries: _Place
    command: str

    @property
    def event(self) -> str:
        return self.events.key

    @property
    def counts(self) -> bool:
        return self.root.counts and self.events.counts


def state_of_hooks(text: str, python: str) -> tuple[HooksState, ...]:
    """How it is with each hook. Raises UnusableError."""
    found = {entry.event: entry.command for entry in reversed(list(_entries(text))) if entry.counts}
    return tuple(
        HooksState(hook.event, "missing")
        if (command := found.get(hook.event)) is None
        else HooksState(
            hook.event, "installed" if command == hook.command(python) else "outdated", command, python_of(command)
        )
        for hook in HOOKS
    )


def with_hooks(text: str, python: str) -> str:
    """With every hook once and up to date: an old one is changed where it is, and keeps what else is said in it.

    Raises UnusableError.
    """
    if spans.is_blank(text):
        text = spans.object_for(text)
    while (surplus := _surplus(text)) is not None:
        text = _cut(text, surplus, None)
    for hook in HOOKS:
        entry = next((entry for entry in _entries(text) if entry.event == hook.event), None)
        text = _added(text, hook, python) if entry is None else _renewed(text, entry, hook.command(python))
    return text


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
                            command,
                        )


def _entries_of(text: str, start: int) -> Container | None:
    group = spans.inside(text, start, "{")
    index = group.find(_HOOKS) if group else None
    return spans.inside(text, group.items[index].value, "[") if group and index is not None else None


def _command(text: str, start: int) -> str:
    entry = spans.inside(text, start, "{")
    index = entry.find("command") if entry else None
    return spans.string_at(text, entry.items[index].value) if entry and index is not None else ""


def _surplus(text: str) -> _Entry | None:
    """An entry that is not the one for its event: a second one, one that does not count, one of an older memoryd."""
    wanted = {hook.event for hook in HOOKS}
    for entry in _entries(text):
        if not entry.counts or entry.event not in wanted:
            return entry
        wanted.discard(entry.event)
    return None


def _renewed(text: str, entry: _Entry, command: str) -> str:
    if entry.command == command:
        return text
    item = entry.entries.container.items[entry.entries.at]
    members = spans.inside(text, item.value, "{")
    index = members.find("command") if members else None
    return spans.replaced(text, members.items[index], command) if members and index is not None else text


def _added(text: str, hook: Hook, python: str) -> str:
    """Put in at the lowest level that is there: a group, an event, or `hooks` itself."""
    layout, group, root = spans.layout_of(text), hook.group(python), _root(text)
    at_root = root.find(_HOOKS)
    if at_root is None:
        return spans.with_item(text, root, (_HOOKS, {hook.event: [group]}), layout, "")
    events = spans.inside(text, root.items[at_root].value, "{")
    if events is None:
        raise UnusableError("has `hooks` that are no object")
    at_event = events.find(hook.event)
    if at_event is None:
        return spans.with_item(text, events, (hook.event, [group]), layout, spans.indentation(text, root, at_root))
    groups = spans.inside(text, events.items[at_event].value, "[")
    if groups is None:
        raise UnusableError(f"has `hooks.{hook.event}` that is no list")
    return spans.with_item(text, groups, ("", group), layout, spans.indentation(text, events, at_event))


def _cut(text: str, entry: _Entry, before: Before | None) -> str:
    """Take the entry out, and with it what it leaves empty, unless that was there before it.

    What stands twice is emptied, not taken away: then the other one would begin to count.
    """
    if len(entry.entries.container.items) > 1:
        return spans.without_item(text, *entry.entries)
    levels = (
        (entry.groups, entry.events, (_HOOKS, entry.event)),
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
