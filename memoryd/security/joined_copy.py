"""A copy of a text without invisible characters and with wrapped lines joined: what is split in the text is whole there. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from memoryd.security.invisible import ANY

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGIT = re.compile(r"\d")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_INVISIBLE = f"[{ANY}]+"
# A line that ends in a long run of letters and digits, and one that begins with one. It begins with the newline, which is found
# faster than anything.
_LETTERS = r"[\w+/=%.~:$@^#-]{5}"
_WRAP, _WRAP_OTHERWISE = (
    re.compile(rf"{end}(?<={_LETTERS}{end})[ \t]{{0,16}}(?:[>|+] ?)?(?={_LETTERS})", re.ASCII)
    for end in (r"\n", r"(?:\r|\\)\n")
)
_LONGEST_RUN, _SHORTEST_SECRET = 80, 16
_AROUND = 300
"""So much of the text around what is split is in a copy: a secret, and the words that call it one."""


class JoinedCopy:
    """The copy of a part of a text, and where each of its letters stands in the text."""

    def __init__(self, text: str, begin: int, stop: int, gaps: list[tuple[int, int]]) -> None:
        self._wraps = [gap for gap in gaps if "\n" in text[slice(*gap)]]
        self.has_invisible = len(gaps) > len(self._wraps)
        parts, self._starts, self._shifts = [], [], []
        past, length = begin, 0
        for start, end in [*gaps, (stop, stop)]:
            parts.append(text[past:start])
            self._starts.append(length)
            self._shifts.append(past - length)
            length += start - past
            past = end
        self.text = "".join(parts)

    def place(self, index: int) -> int:
        return index + self._shifts[bisect_right(self._starts, index) - 1]

    def wraps_between(self, start: int, end: int) -> list[tuple[int, int]]:
        return self._wraps[bisect_left(self._wraps, (start, 0)) : bisect_left(self._wraps, (end, 0))]


def joined_copies(text: str) -> Iterator[JoinedCopy]:
    """A copy of each part of the text in which something is split."""
    gaps = [match.span() for match in re.finditer(_INVISIBLE, text)] if _may_hide(text) else []
    ends = (_WRAP, _WRAP_OTHERWISE) if "\r\n" in text or "\\\n" in text else (_WRAP,)
    gaps += [match.span() for end in ends for match in end.finditer(text) if _is_torn(text, *match.span())]
    near: list[tuple[int, int]] = []
    past = 0
    for start, end in sorted(gaps):
        if near and start - _AROUND > near[-1][1] + _AROUND:
            yield _copy(text, near)
            near = []
        if start >= past:
            near.append((start, end))
            past = end
    if near:
        yield _copy(text, near)


def _may_hide(text: str) -> bool:
    """Whether there are invisible characters. Few different letters are not ASCII: they are looked at once each."""
    return not text.isascii() and re.search(_INVISIBLE, "".join(set(_NOT_ASCII.findall(text)))) is not None


def _copy(text: str, gaps: list[tuple[int, int]]) -> JoinedCopy:
    return JoinedCopy(text, max(0, gaps[0][0] - _AROUND), min(len(text), gaps[-1][1] + _AROUND), gaps)


def _is_torn(text: str, start: int, end: int) -> bool:
    """Whether the words around a newline could be one: there is a digit in them, and they are long together."""
    before, behind = text[max(0, start - _LONGEST_RUN) : start].split(), text[end : end + _LONGEST_RUN].split(None, 1)
    both = before[-1] + behind[0] if before and behind else ""
    return len(both) >= _SHORTEST_SECRET and _DIGIT.search(both) is not None
