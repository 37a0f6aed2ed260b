"""Spans in a JSON text, so that an edit leaves every other byte as it was. Pure.

A round trip through `json` would lose what a person put into the file: layout, doubled keys, the spelling of numbers and
letters. Here a text is read for positions only. An edit is one cut; whoever makes another reads again.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple, NoReturn

BOM = "\ufeff"
_BLANK = re.compile(r"[ \t\n\r]*")


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


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


# Numbers are not asked for: as floats, one of ten thousand digits is no error.
_DECODER = json.JSONDecoder(parse_int=float, parse_constant=_refuse)


def is_blank(text: str) -> bool:
    """Whether there is nothing in it, as in a file that was only touched."""
    return not text.removeprefix(BOM).strip(" \t\n\r")


def root_of(text: str) -> Container | None:
    """The object that the text is; None where it is another value. Raises ValueError for what is no JSON."""
    start = _skip(text, len(BOM) if text.startswith(BOM) else 0)
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


def value_at(text: str, start: int) -> Any:
    """The value that begins there; numbers are floats."""
    return _DECODER.raw_decode(text, start)[0]


def end_of(text: str, start: int) -> int:
    """Where the value that begins there ends."""
    return _DECODER.raw_decode(text, start)[1]


def interior(text: str, container: Container) -> str:
    return text[container.start + 1 : container.end - 1]


def without_item(text: str, container: Container, index: int) -> str:
    """Without one of several items: one comma goes with it."""
    items = container.items
    if index:
        return text[: items[index - 1].end] + text[items[index].end :]
    return text[: items[0].start] + text[items[1].start :]


def with_interior(text: str, container: Container, body: str) -> str:
    return text[: container.start + 1] + body + text[container.end - 1 :]


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
