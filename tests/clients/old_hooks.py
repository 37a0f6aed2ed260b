"""Hooks in the settings of Claude Code, as versions of memoryd before the plugin put them there: what there is to take out."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd import atomic_file
from memoryd.clients import json_spans as spans
from memoryd.clients.claude_code.hooks import _HOOKS, UnusableError, _root

if TYPE_CHECKING:
    from memoryd.clients.json_spans import Container, Item
    from memoryd.paths import Paths

_BOM = spans._BOM
_DECODER = spans._DECODER
_NEWLINE = re.compile(r"\r\n|\n|\r")
_COLON = re.compile(r" *: *")


class Hook(NamedTuple):
    event: str
    name: str
    timeout_seconds: int
    """The client's own limit. A prompt waits for its hook, and the end of a session for all of them."""

    def command(self, python: str) -> str:
        return f"{shlex.quote(python)} -P -m memoryd hook {self.name} || true"

    def group(self, python: str) -> dict[str, Any]:
        entry = {"type": "command", "command": self.command(python), "timeout": self.timeout_seconds}
        return {"hooks": [entry]}


HOOKS = (
    Hook("UserPromptSubmit", "user-prompt-submit", 5),
    Hook("SessionStart", "session-start", 5),
    Hook("Stop", "stop", 5),
    Hook("PreCompact", "pre-compact", 2),
    Hook("SessionEnd", "session-end", 2),
)


def with_hooks(text: str, python: str) -> str:
    """With every hook, in a text that has none."""
    if spans.is_blank(text):
        text = object_for(text)
    for hook in HOOKS:
        text = _added(text, hook, python)
    return text


def install(paths: Paths, python: str) -> None:
    """Put the hooks into the settings, and note what was there before, as older versions did."""
    path = os.path.realpath(paths.claude_settings)
    before = None
    if os.path.exists(path):
        with open(path, "rb") as file:
            before = file.read().decode()
    os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
    note = os.path.join(paths.state_dir, "hooks", "claude-code.json")
    notes = {}
    if os.path.exists(note):
        with open(note, "rb") as file:
            notes = json.loads(file.read())
    atomic_file.write(note, json.dumps({**notes, path: before}).encode())
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(with_hooks(before or "", python).encode())


def _added(text: str, hook: Hook, python: str) -> str:
    """Put in at the lowest level that is there: a group, an event, or `hooks` itself."""
    layout, group, root = layout_of(text), hook.group(python), _root(text)
    at_root = root.find(_HOOKS)
    if at_root is None:
        return with_item(text, root, (_HOOKS, {hook.event: [group]}), layout, "")
    events = spans.inside(text, root.items[at_root].value, "{")
    if events is None:
        raise UnusableError("has `hooks` that are no object")
    at_event = events.find(hook.event)
    if at_event is None:
        return with_item(text, events, (hook.event, [group]), layout, indentation(text, root, at_root))
    groups = spans.inside(text, events.items[at_event].value, "[")
    if groups is None:
        raise UnusableError(f"has `hooks.{hook.event}` that is no list")
    return with_item(text, groups, ("", group), layout, indentation(text, events, at_event))


class Layout(NamedTuple):
    """How a file is written; as a client writes its own, where it does not show."""

    newline: str = "\n"
    unit: str = "  "
    """One step of indentation."""
    colon: str = ": "

    @property
    def gap(self) -> str:
        """What follows a comma within a line."""
        return " " if self.colon.endswith(" ") else ""


def object_for(text: str) -> str:
    """An empty object in the place of a blank text, whose BOM and kind of line end it keeps."""
    newline = _NEWLINE.search(text)
    return (_BOM if text.startswith(_BOM) else "") + "{}" + (newline[0] if newline else Layout().newline)


def layout_of(text: str) -> Layout:
    """How the text is laid out, by its first member. Raises ValueError for what is no JSON."""
    layout = Layout()
    if newline := _NEWLINE.search(text):  # outside of strings: within, JSON writes \n
        layout = layout._replace(newline=newline[0])
    root = spans.root_of(text)
    if root is None or not root.items:
        return layout
    first = root.items[0]
    colon = text[_DECODER.raw_decode(text, first.start)[1] : first.value]
    unit = indentation(text, root, 0)
    return layout._replace(
        unit=layout.unit if unit is None else unit, colon=colon if _COLON.fullmatch(colon) else layout.colon
    )


def indentation(text: str, container: Container, index: int) -> str | None:
    """What stands before an item in its line; None where something else does."""
    return _indented(_gap_before(text, container, index))


def replaced(text: str, item: Item, value: Any) -> str:
    """With another value in the place of the item's."""
    return text[: item.value] + json.dumps(value, ensure_ascii=False) + text[item.end :]


def with_item(text: str, container: Container, item: tuple[str, Any], layout: Layout, holder: str | None) -> str:
    """With a key (empty in a list) and its value behind the last item, laid out like that one.

    `holder` is for an empty container: the indentation of what holds it, None where all is in one line.
    """
    if container.items:
        gap = _gap_before(text, container, len(container.items) - 1)
        if len(container.items) == 1 and _indented(gap) is None:
            gap = layout.gap
        at = container.items[-1].end
        return text[:at] + "," + gap + _rendered(item, layout, _indented(gap)) + text[at:]
    if holder is None:
        return spans.with_interior(text, container, _rendered(item, layout, None))
    deeper = holder + layout.unit
    body = layout.newline + deeper + _rendered(item, layout, deeper) + layout.newline + holder
    return spans.with_interior(text, container, body)


def _rendered(item: tuple[str, Any], layout: Layout, indent: str | None) -> str:
    key, value = item
    before = json.dumps(key) + layout.colon if key else ""
    if indent is None:
        return before + json.dumps(value, separators=("," + layout.gap, layout.colon), ensure_ascii=False)
    lines = json.dumps(value, indent=layout.unit, separators=(",", layout.colon), ensure_ascii=False)
    return before + lines.replace("\n", layout.newline + indent)


def _gap_before(text: str, container: Container, index: int) -> str:
    """The blanks between an item and the comma or bracket before it."""
    if index == 0:
        return text[container.start + 1 : container.items[0].start]
    return text[container.items[index - 1].end : container.items[index].start].partition(",")[2]


def _indented(gap: str) -> str | None:
    lines = _NEWLINE.split(gap)
    return lines[-1] if len(lines) > 1 else None
