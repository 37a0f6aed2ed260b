"""Spans in a JSON text, so that an edit leaves every other byte as it was. Pure.

A round trip through `json` would lose what a person put into the file: layout, doubled keys, the spelling of numbers and
letters. Here a text is read for positions only. An edit is one cut or one insertion; whoever makes another reads again.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple, NoReturn

_BOM = "\ufeff"
_BLANK = re.compile(r"[ \t\n\r]*")
_NEWLINE = re.compile(r"\r\n|\n|\r")
_COLON = re.compile(r" *: *")


Bracket = Literal["{", "["]


class Item(NamedTuple):
    """A member of an object, or an element of a list."""

    start: int
    value: int
    """Where the value begins; in a list that is the start."""
    end: int
    key: str = ""


class Container(NamedTuple):
    start: int
    """Of the opening bracket."""
    end: int
    """Behind the closing one."""
    items: tuple[Item, ...]

    def find(self, key: str) -> int | None:
        """The item of that key; of several the last, which is the one that counts for every reader."""
        return next((index for index in reversed(range(len(self.items))) if self.items[index].key == key), None)

    def has_twice(self, key: str) -> bool:
        return sum(item.key == key for item in self.items) > 1


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


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


# Numbers are not asked for: as floats, one of ten thousand digits is no error.
_DECODER = json.JSONDecoder(parse_int=float, parse_constant=_refuse)


def is_blank(text: str) -> bool:
    """Whether there is nothing in it, as in a file that was only touched."""
    return not text.removeprefix(_BOM).strip(" \t\n\r")


def object_for(text: str) -> str:
    """An empty object in the place of a blank text, whose BOM and kind of line end it keeps."""
    newline = _NEWLINE.search(text)
    return (_BOM if text.startswith(_BOM) else "") + "{}" + (newline[0] if newline else Layout().newline)


def root_of(text: str) -> Container | None:
    """The object that the text is; None where it is another value. Raises ValueError for what is no JSON."""
    start = _skip(text, len(_BOM) if text.startswith(_BOM) else 0)
    try:
        _, end = _DECODER.raw_decode(text, start)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _skip(text, end) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return inside(text, start, "{")


def inside(text: str, start: int, bracket: Bracket) -> Container | None:
    """The object or list that begins there, in a text that is known to be JSON; None where something else does."""
    if text[start] != bracket:
        return None
    items = []
    at = _skip(text, start + 1)
    while text[at] not in "]}":
        begin, key = at, ""
        if bracket == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value, (_, end) = at, _DECODER.raw_decode(text, at)
        items.append(Item(begin, value, end, key))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Container(start, at + 1, tuple(items))


def string_at(text: str, start: int) -> str:
    """The string that begins there; empty where another value does."""
    value, _ = _DECODER.raw_decode(text, start)
    return value if isinstance(value, str) else ""


def interior(text: str, container: Container) -> str:
    return text[container.start + 1 : container.end - 1]


def layout_of(text: str) -> Layout:
    """How the text is laid out, by its first member. Raises ValueError for what is no JSON."""
    layout = Layout()
    if newline := _NEWLINE.search(text):  # outside of strings: within, JSON writes \n
        layout = layout._replace(newline=newline[0])
    root = root_of(text)
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
        return with_interior(text, container, _rendered(item, layout, None))
    deeper = holder + layout.unit
    body = layout.newline + deeper + _rendered(item, layout, deeper) + layout.newline + holder
    return with_interior(text, container, body)


def without_item(text: str, container: Container, index: int) -> str:
    """The opposite of `with_item`, for any of several items: one comma goes with it."""
    items = container.items
    if index:
        return text[: items[index - 1].end] + text[items[index].end :]
    return text[: items[0].start] + text[items[1].start :]


def with_interior(text: str, container: Container, body: str) -> str:
    return text[: container.start + 1] + body + text[container.end - 1 :]


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


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
