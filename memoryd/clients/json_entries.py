"""Entries of memoryd in the JSON settings of a client: hooks and MCP servers, put in and taken out. Pure.

    {"hooks": {"Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "..."}]}]}, "mcpServers": {"memoryd": {}}}
               event     group                     entry                                                    server

Some clients have the entries of an event without a group around them. Everything else in the text stays byte for byte; what is
taken out is exactly what was put in. With `json_spans` this needs the standard library alone: it is copied beside the script
that takes memoryd back where memoryd itself is gone.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.clients import json_spans as spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.json_spans import Bracket, Container

HOOKS = "hooks"
SERVERS = ("mcpServers", "mcp")
"""What clients call the object with their MCP servers."""
SERVER = "memoryd"
_BRACKETS: tuple[Bracket, Bracket] = ("{", "[")
"""Of `hooks`, and of an event in it."""
# As we have ever written it, and nothing around it: what somebody made of it is theirs.
_OURS = re.compile(
    r"""(?:[^\s;&|<>()$`'"\\]+|'[^']*'(?:"'"'[^']*')*)(?:\ -P)?\ -m\ memoryd\ """
    r"""(?:hook\ [a-z-]+(?:\ --client\ [a-z-]+)?(?:\ \|\|\ true)?|mcp(?:\ --stdio)?)\Z""",
    re.VERBOSE,
)


class Before(NamedTuple):
    """What stood in the file when nothing of memoryd was in it, or its outline; None: there was no file."""

    text: str | None


class UnusableError(ValueError):
    """The settings have a shape in which nothing can be put; its text is the end of a sentence about the file."""


class SettingsEntry(NamedTuple):
    """Something of memoryd in the settings."""

    way: tuple[str, str]
    """`hooks` and an event, to whose list the value is added; or the object of servers and the server's name."""
    value: Any


class _Place(NamedTuple):
    container: Container
    at: int

    @property
    def key(self) -> str:
        return self.container.items[self.at].key


class _Found(NamedTuple):
    """An entry of ours, and the way to it: every object and list that is no group, from the root on."""

    entry: SettingsEntry
    places: tuple[_Place, ...]


def is_own(value: Any) -> bool:
    """Whether it runs memoryd as we write it: a command for the shell, or a program and its arguments."""
    if not isinstance(value, dict):
        return False
    command, arguments = value.get("command", value.get("bash")), value.get("args")
    words = [command] if isinstance(command, str) and arguments is not None else command
    if isinstance(words, str):
        return _OURS.match(words) is not None
    words = [*(words if isinstance(words, list) else ()), *(arguments if isinstance(arguments, list) else ())]
    return _OURS.match(shlex.join(map(str, words))) is not None


def entries_in(text: str) -> list[SettingsEntry]:
    """The entries of ours, also where a doubled key keeps one from counting. Raises UnusableError."""
    return [found.entry for found in _entries(text)]


def hook_places(text: str) -> list[tuple[str, int, int]]:
    """The event of each hook of ours, and where it stands: its group, and its place in that. Raises UnusableError."""
    return [
        (found.entry.way[1], found.places[2].at, found.places[3].at if len(found.places) > 3 else 0)  # noqa: PLR2004
        for found in _entries(text)
        if found.entry.way[0] == HOOKS
    ]


def has_foreign_server(text: str) -> bool:
    """Whether somebody else made a server of our name. Raises UnusableError."""
    return any(
        server.key == SERVER and not is_own(spans.value_at(text, server.value))
        for member in _root(text).items
        if member.key in SERVERS and (servers := spans.inside(text, member.value, "{"))
        for server in servers.items
    )


def with_entries(text: str | None, wanted: Sequence[SettingsEntry], before: Before | None = None) -> str:
    """With these entries and no others of ours; the same text where they are there already. Raises UnusableError."""
    text = text or ""
    there = {entry.way: entry.value for entry in entries_in(text)}
    if there == {entry.way: entry.value for entry in wanted}:
        return text
    text = without_entries(text, before) or ""
    if spans.is_blank(text):
        text = object_for(text)
    for entry in wanted:
        text = _added(text, entry)
    return text


def without_entries(text: str, before: Before | None = None) -> str | None:
    """Without any entry of ours, and without what was made for them; None: the file is to go. Raises UnusableError.

    `before` tells what was made for them. Where nobody knows, what they leave empty was.
    """
    is_cut = False
    while (found := next(_entries(text), None)) is not None:
        text, is_cut = _cut(text, found.places, before), True
    if is_cut and before is not None and (before.text is None or spans.is_blank(before.text)) and not _root(text).items:
        return before.text
    return text


def outline_of(text: str | None) -> str | None:
    """As much of a text as `Before` has to know: which objects and lists were there for entries, and whether empty.

    Settings may hold secrets, of which no copy is made.
    """
    if text is None or spans.is_blank(text):
        return text
    root = _root(text)
    if not root.items:
        return "{" + spans.interior(text, root) + "}"
    members = ['"": 0']
    for key in (HOOKS, *SERVERS):
        index = root.find(key)
        inner = None if index is None else spans.inside(text, root.items[index].value, "{")
        if inner is None:
            continue
        lists = [(item.key, spans.inside(text, item.value, "[")) for item in inner.items] if key == HOOKS else []
        held = [
            f"{json.dumps(name)}: [{spans.interior(text, events) if not events.items else 0}]"
            for name, events in lists
            if events is not None
        ]
        filled = ", ".join(held or ['"": 0'])
        members.append(f"{json.dumps(key)}: {{{filled if inner.items else spans.interior(text, inner)}}}")
    return "{" + ", ".join(members) + "}"


# --- finding ----------------------------------------------------------------------------------------------------------


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


def _entries(text: str) -> Iterator[_Found]:
    """Every entry of ours. What has another shape is not ours."""
    root = _root(text)
    for root_index, member in enumerate(root.items):
        inner = spans.inside(text, member.value, "{") if member.key in (HOOKS, *SERVERS) else None
        for index, item in enumerate(inner.items if inner else ()):
            if inner is None:
                continue
            way = (_Place(root, root_index), _Place(inner, index))
            if member.key == HOOKS:
                yield from _hooks(text, item.key, way)
            elif item.key == SERVER and is_own(value := spans.value_at(text, item.value)):
                yield _Found(SettingsEntry((member.key, SERVER), value), way)


def _hooks(text: str, event: str, way: tuple[_Place, _Place]) -> Iterator[_Found]:
    start = way[1].container.items[way[1].at].value
    groups = spans.inside(text, start, "[")
    for group_index, group in enumerate(groups.items if groups else ()):
        if groups is None:
            continue
        value = spans.value_at(text, group.value)
        place = _Place(groups, group_index)
        if is_own(value):  # without a group around it
            yield _Found(SettingsEntry((HOOKS, event), value), (*way, place))
            continue
        entries = _entries_of_group(text, group.value)
        for entry_index, entry in enumerate(entries.items if entries else ()):
            if entries and is_own(spans.value_at(text, entry.value)):
                yield _Found(SettingsEntry((HOOKS, event), value), (*way, place, _Place(entries, entry_index)))


def _entries_of_group(text: str, start: int) -> Container | None:
    group = spans.inside(text, start, "{")
    index = group.find(HOOKS) if group else None
    return spans.inside(text, group.items[index].value, "[") if group and index is not None else None


# --- taking out -------------------------------------------------------------------------------------------------------


def _cut(text: str, places: Sequence[_Place], before: Before | None) -> str:
    """Take the entry out, and with it what it leaves empty, unless that was there before it.

    What stands twice is emptied, not taken away: then the other one would begin to count.
    """
    keys = [place.key for place in places[:2]]
    for level in range(len(places) - 1, 0, -1):
        place = places[level]
        if len(place.container.items) > 1:
            return spans.without_item(text, *place)
        if level > len(_BRACKETS):
            continue  # a group, which was made for its entries
        holder = places[level - 1]
        left = _left(before, keys[:level])
        if left is not None or holder.container.has_twice(holder.key):
            return spans.with_interior(text, place.container, left or "")
    if len(places[0].container.items) > 1:
        return spans.without_item(text, *places[0])
    return spans.with_interior(text, places[0].container, _left(before, ()) or "")


def _left(before: Before | None, way: Sequence[str]) -> str | None:
    """What an object or list held when nothing of ours was in it: blanks. None: it was not there, or nobody knows."""
    if before is None or before.text is None or spans.is_blank(before.text):
        return None
    found = _root(before.text)
    for level, key in enumerate(way):
        bracket = _BRACKETS[level]
        index = found.find(key)
        inner = None if index is None else spans.inside(before.text, found.items[index].value, bracket)
        if inner is None:
            return None
        found = inner
    return "" if found.items else spans.interior(before.text, found)


# --- putting in -------------------------------------------------------------------------------------------------------


_NEWLINE = re.compile(r"\r\n|\n|\r")
_COLON = re.compile(r" *: *")


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
    return (spans.BOM if text.startswith(spans.BOM) else "") + "{}" + (newline[0] if newline else Layout().newline)


def _added(text: str, entry: SettingsEntry) -> str:
    """Put in at the lowest level that is there: an event, `hooks` itself or the servers, or the root."""
    (first, second), value = entry.way, entry.value
    layout, root = _layout_of(text), _root(text)
    is_hook = first == HOOKS
    at_root = root.find(first)
    if at_root is None:
        return _with_item(text, root, (first, {second: [value] if is_hook else value}), layout, "")
    inner = spans.inside(text, root.items[at_root].value, "{")
    if inner is None:
        raise UnusableError(f"has `{first}` that is no object")
    at_inner = inner.find(second)
    if at_inner is None:
        item = (second, [value] if is_hook else value)
        return _with_item(text, inner, item, layout, _indentation(text, root, at_root))
    if not is_hook:
        raise UnusableError(f"has a server `{second}` of somebody else")
    groups = spans.inside(text, inner.items[at_inner].value, "[")
    if groups is None:
        raise UnusableError(f"has `{first}.{second}` that is no list")
    return _with_item(text, groups, ("", value), layout, _indentation(text, inner, at_inner))


def _layout_of(text: str) -> Layout:
    """How the text is laid out, by its first member."""
    layout = Layout()
    if newline := _NEWLINE.search(text):  # outside of strings: within, JSON writes \n
        layout = layout._replace(newline=newline[0])
    root = _root(text)
    if not root.items:
        return layout
    first = root.items[0]
    colon = text[spans.end_of(text, first.start) : first.value]
    unit = _indentation(text, root, 0)
    return layout._replace(
        unit=layout.unit if unit is None else unit, colon=colon if _COLON.fullmatch(colon) else layout.colon
    )


def _indentation(text: str, container: Container, index: int) -> str | None:
    """What stands before an item in its line; None where something else does."""
    return _indented(_gap_before(text, container, index))


def _with_item(text: str, container: Container, item: tuple[str, Any], layout: Layout, holder: str | None) -> str:
    """With a key (empty in a list) and its value behind the last item, laid out like that one.

    `holder` is for an empty container: the indentation of what holds it, None where all is in one line.
    """
    if container.items:
        gap = _gap_before(text, container, len(container.items) - 1)
        if len(container.items) == 1 and _indented(gap) is None:
            gap = layout.gap
        if (indent := _indented(gap)) is not None:
            gap = layout.newline + indent  # without the blank lines before it, which may stand for a comment
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
