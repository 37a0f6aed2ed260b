"""Settings of Claude Code as people, editors and the client itself write them: any content in any layout."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from memoryd.clients.claude_code.plugin import HOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy

EVENTS = [hook.name for hook in HOOKS]
BOM = "\ufeff"


class Pairs(list[tuple[str, Any]]):
    """An object, whose keys may stand twice."""


def _objects(keys: SearchStrategy[str], values: SearchStrategy[Any], most: int) -> SearchStrategy[Pairs]:
    return st.lists(st.tuples(keys, values), max_size=most).map(Pairs)


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["\\", '"', "{", "]", "a,b", "\n", "é", "\U0001f600", "x -m memoryd hooks y"]),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), _objects(st.text(max_size=4), inner, 3)),
    max_leaves=6,
)
_ENTRIES = st.one_of(
    st.sampled_from(["other-tool", "bash -c 'memoryd hook stop'", "python -m other hook stop"]).map(
        lambda command: Pairs([("type", "command"), ("command", command)])
    ),
    _VALUES,
)
_GROUPS = st.one_of(
    st.lists(_ENTRIES, max_size=2).map(lambda entries: Pairs([("matcher", "*"), ("hooks", entries)])), _VALUES
)
_EVENT_TABLES = _objects(st.sampled_from([*EVENTS, "PreToolUse"]), st.lists(_GROUPS, max_size=2), 4)
_MEMBERS = st.one_of(
    st.tuples(st.text(max_size=4), _VALUES), st.tuples(st.just("hooks"), st.one_of(st.just(Pairs()), _EVENT_TABLES))
)


def rendered(value: Any, blanks: Callable[[str, int], str], *, is_ascii: bool = False, depth: int = 0) -> str:
    """JSON with whatever `blanks` gives at a kind of place ("open", "comma", "colon", "close") and depth."""

    def deeper(one: Any) -> str:
        return rendered(one, blanks, is_ascii=is_ascii, depth=depth + 1)

    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=is_ascii)
    is_object = isinstance(value, Pairs)
    items = [
        f"{json.dumps(item[0], ensure_ascii=is_ascii)}{blanks('before', depth)}:{blanks('colon', depth)}{deeper(item[1])}"
        if is_object
        else deeper(item)
        for item in value
    ]
    opening, closing = "{}" if is_object else "[]"
    if not items:
        return opening + blanks("empty", depth) + closing
    body = "".join(
        ("," + blanks("comma", depth + 1) if number else blanks("open", depth + 1)) + item
        for number, item in enumerate(items)
    )
    return opening + body + blanks("close", depth) + closing


def _pretty(unit: str, newline: str) -> Callable[[str, int], str]:
    def blanks(place: str, depth: int) -> str:
        return {"before": "", "colon": " ", "empty": ""}.get(place, newline + unit * depth)

    return blanks


def _one_line(gap: str) -> Callable[[str, int], str]:
    return lambda place, _: gap if place in ("comma", "colon") else ""


def _wild(seed: int) -> Callable[[str, int], str]:
    choose = random.Random(seed)
    return lambda _place, _depth: "".join(choose.choices(" \t\n\r", k=choose.choice([0, 0, 1, 3])))


_LAYOUTS = st.one_of(
    st.builds(_pretty, st.sampled_from(["  ", "    ", "\t", ""]), st.sampled_from(["\n", "\r\n", "\r"])),
    st.builds(_one_line, st.sampled_from(["", " "])),
    st.builds(_wild, st.integers(0, 2**32)),
)


@st.composite
def settings_texts(draw: DrawFn) -> str:
    """The text of a settings file in which hooks can be put."""
    value = Pairs(draw(st.lists(_MEMBERS, max_size=4)))
    text = rendered(value, draw(_LAYOUTS), is_ascii=draw(st.booleans()))
    text = draw(st.sampled_from(["", "", "\n", "\r\n "])) + text + draw(st.sampled_from(["", "\n", "\r\n", "\n\n"]))
    blank = st.sampled_from(["", "\n", " \r\n"])
    return draw(st.sampled_from(["", "", "", BOM])) + (draw(blank) if draw(st.integers(0, 9)) == 0 else text)
