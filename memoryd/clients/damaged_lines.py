"""Damaged lines of JSON: repaired where the damage is known from real files, counted in any case, and never fatal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

Decoded = TypeVar("Decoded")
UNDECODABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding raises."""


class LineShape(NamedTuple, Generic[Decoded]):
    """How a client writes its lines."""

    decode: Callable[[bytes], Decoded]
    """Raises one of UNDECODABLE."""
    may_count: Callable[[bytes], object]
    """Whether a line may hold an entry that counts, by its bytes."""
    keys: frozenset[str]
    """Keys that every line has."""
    should_count: Callable[[dict[str, Any]], bool]
    """Whether an object that cannot be decoded should have been an entry."""


_SPLICE_TRIES = 10_000
"""Looks for the beginning of an entry; only those that are not inside another object are parsed."""
_JSON_BYTES = 4 << 20
"""A longer line is not worth what a plain parser makes of it in memory."""
_parse_json = json.JSONDecoder().raw_decode


def repaired(line: bytes, damage: Counter[str], shape: LineShape[Decoded]) -> list[Decoded]:
    """The entries of a line that does not decode as it stands. Known kinds of damage, from real files:

    NUL runs, from a crash of the machine; bytes that are not UTF-8; half a surrogate pair, from a text cut in two;
    two entries with no newline between; and an entry that was torn off, with the next one right behind it.
    """
    line = line.strip()
    if line.startswith(b"{") and line.endswith(b"}") and not shape.may_count(line):
        return []  # bulk: whatever is wrong with it, it holds no entry that counts, wherever `type` stands
    is_changed = False
    if b"\0" in line:
        damage["nul"] += 1
        line = line.replace(b"\0", b"").strip()
        is_changed = True
    if not line:
        return []
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        damage["utf8"] += 1
        text = line.decode("utf-8", "replace")
        is_changed = True
    if is_changed:
        try:
            return [shape.decode(text.encode())]
        except UNDECODABLE:
            pass
    if len(line) > _JSON_BYTES:
        damage["unreadable"] += 1
        return []
    values, is_whole = _objects_in(text, damage, shape.keys)
    if not values or not is_whole:
        damage["unreadable"] += 1
    entries = []
    for value in values:
        try:
            entries.append(shape.decode(msgspec.json.encode(_without_lone_surrogates(value))))
        except UNDECODABLE:
            if shape.should_count(value):
                damage["unknown_shape"] += 1
    return entries


def _objects_in(text: str, damage: Counter[str], keys: frozenset[str]) -> tuple[list[dict[str, Any]], bool]:
    """The JSON objects that stand one behind the other in `text`, and whether that was all of it."""
    values: list[dict[str, Any]] = []
    position = 0
    while position < len(text):
        try:
            value, position = _parse_json(text, position)
        except (ValueError, RecursionError):
            torn, position = _behind_a_torn_object(text, position, keys)
            if torn is None:
                return values, False
            value = torn
            damage["spliced"] += 1
        else:
            if values:
                damage["joined"] += 1
        if isinstance(value, dict):
            values.append(value)
        while position < len(text) and text[position].isspace():
            position += 1
    return values, True


def _behind_a_torn_object(text: str, position: int, keys: frozenset[str]) -> tuple[dict[str, Any] | None, int]:
    """The whole entry that reaches to the end of the line, behind one that was torn off.

    Inside a JSON string a quote is escaped, so `{"` never stands in somebody's words. Behind a colon, comma or bracket
    it begins an object inside of another: a tool may answer with what looks like an entry, and a torn line must not
    make it one.
    """
    end = len(text)
    for _ in range(_SPLICE_TRIES):
        end = text.rfind('{"', position + 1, end)
        if end < 0:
            break
        before = end - 1
        while before > position and text[before].isspace():
            before -= 1
        if text[before] in ":,[":
            continue
        try:
            value, behind = _parse_json(text, end)
        except (ValueError, RecursionError):
            continue
        if behind == len(text) and isinstance(value, dict) and keys <= value.keys():
            return value, behind
    return None, len(text)


def _without_lone_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_lone_surrogates(key): _without_lone_surrogates(item) for key, item in value.items()}
    return value
