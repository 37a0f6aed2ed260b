"""The value at a place of a text: up to the closing quote, or else to a space or what ends a sentence or an expression. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from memoryd.security.by_format import Span

_QUOTES = dict(zip("\"'`“„«‘「『", "\"'`”“»’」』", strict=True))  # noqa: RUF001
ALL_QUOTES = "".join({*_QUOTES, *_QUOTES.values()})
_LONGEST, _LONGEST_TO_JUDGE, _LONGEST_OF_ALL = 300, 100, 4000
_IN_QUOTES = re.compile(rf"[bBrRfFuU]?\\{{0,2}}([{''.join(_QUOTES)}])")
_EASTERN = r"\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef"
_PLAIN = re.compile(
    rf"(?:[^\s\"'`“”„«»‘’「」『』<>,;&\\{_EASTERN}]+|\\(?![nrt\"'`])"  # noqa: RUF001
    r"|[,&](?![\s\"'`)\]}]|$|[\w.-]{1,40}[=:;]|\#x?\w))+"
)
_LOOKS_AHEAD = 50
"""So much behind its end decides where a value ends."""


class Value(NamedTuple):
    text: str
    """Its beginning, if it is very long: enough to judge by."""
    start: int
    end: int
    quote: str


def read_value(text: str, place: int) -> Value | None:
    """The value at a place: up to the closing quote, or else to a space or what ends a sentence or an expression."""
    quote = _IN_QUOTES.match(text, place)
    if quote is not None:
        place = quote.end()
        if text.startswith(quote[1] * 2, place):  # three, as in Python
            place += 2
        end = text.find(_QUOTES[quote[1]], place, place + _LONGEST)
        value = text[place:end].rstrip("\\") if end > place else ""
        if value and "\n" not in value:
            return Value(value[:_LONGEST_TO_JUDGE], place, place + len(value), quote[1])
    plain = _PLAIN.match(text, place, place + _LONGEST_TO_JUDGE + _LOOKS_AHEAD)
    if plain is None:
        return None
    if len(plain[0]) >= _LONGEST_TO_JUDGE:
        end = place + _LONGEST_TO_JUDGE
        return Value(text[place:end], place, end, "")
    value = plain[0].rstrip(".,;:?…").removesuffix("**")
    while value[-1:] in (")", "]", "}") and value.count(value[-1]) > value.count("([{"[")]}".index(value[-1])]):
        value = value[:-1].rstrip(".,;:?…")
    return Value(value, place, place + len(value), quote[1] if quote else "") if value else None


def span_of(text: str, value: Value, kind: str) -> Span:
    """Of a value that is a secret; now all of it."""
    is_cut = not value.quote and len(value.text) >= _LONGEST_TO_JUDGE
    rest = _PLAIN.match(text, value.end, value.end + _LONGEST_OF_ALL) if is_cut else None
    return Span(value.start, rest.end() if rest is not None else value.end, kind)
