"""A copy of a text without invisible characters and with wrapped lines joined: what is split in the text is whole there. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from memoryd.security.invisible import ANY
from memoryd.security.nouns import places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.security.searched_text import SearchedText

_DIGIT = re.compile(r"\d")
_INVISIBLE = f"[{ANY}]+"
_FORMS_OF_EMOJI = "\ufe0e\ufe0f\u200d"
_EMOJI = ("\u2190", "\u2bff"), ("\U0001f000", "\U0001faff")
"""Behind one of these a form or a joiner is part of it: it splits nothing, and every other answer of an agent has some."""
# A line that ends in a long run of letters and digits, and one that begins with one. It begins with the newline, which is found
# faster than anything.
_LETTERS = r"[\w+/=%.~:$@^#-]{5}"
_WRAP = re.compile(rf"\n(?:(?<={_LETTERS}\n)|(?<={_LETTERS}[\r\\]\n))[ \t]{{0,16}}(?:[>|+] ?)?(?={_LETTERS})".encode())
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,40}=[^=\s]")
"""A line of its own: the next variable of a list."""
_BEFORE_NEWLINE = b"\r\\"
_FOLDED = bytes(ord(" " if chr(at).isspace() else "0" if chr(at) in "0123456789?" else "x") for at in range(256))
"""For `bytes.translate`: what a letter is. A question mark stands for any letter that is not ASCII."""
_FOLDED_DIGIT = b"0"
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


def joined_copies(searched: SearchedText) -> Iterator[JoinedCopy]:
    """A copy of each part of the text in which something is split."""
    text = searched.text
    gaps = _hidden(text, hiding) if (hiding := _invisible_of(searched.others)) else []
    if b"\n" in searched.letters:
        gaps += _wraps(searched)
    if not gaps:
        return
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


def _invisible_of(others: str) -> str:
    """The invisible characters of a text. Few of its letters differ: they are looked at once each."""
    return "".join(re.findall(_INVISIBLE, "".join(sorted(set(others))))) if others else ""


def _hidden(text: str, hiding: str) -> list[tuple[int, int]]:
    """Where rows of invisible characters begin and end. A search for one is faster than one for any of them."""
    spans: list[tuple[int, int]] = []
    for at in sorted(at for character in hiding for at in places(text, character)):
        if spans and spans[-1][1] == at:
            spans[-1] = spans[-1][0], at + 1
        else:
            spans.append((at, at + 1))
    return [span for span in spans if not _is_part_of_emoji(text, *span)]


def _is_part_of_emoji(text: str, start: int, end: int) -> bool:
    if text[start] not in _FORMS_OF_EMOJI or text[start:end].strip(_FORMS_OF_EMOJI):
        return False
    before = text[start - 1 : start]
    return any(first <= before <= last for first, last in _EMOJI)


def _copy(text: str, gaps: list[tuple[int, int]]) -> JoinedCopy:
    return JoinedCopy(text, max(0, gaps[0][0] - _AROUND), min(len(text), gaps[-1][1] + _AROUND), gaps)


def _wraps(searched: SearchedText) -> list[tuple[int, int]]:
    text, letters = searched.text, searched.letters
    folded = letters.translate(_FOLDED)
    wraps = []
    for match in _WRAP.finditer(letters) if _FOLDED_DIGIT in folded else ():
        start, end = match.span()
        if letters[start - 1] in _BEFORE_NEWLINE:
            start -= 1
        # As `_is_torn`, and ten times as fast; yes, where a letter that is not ASCII could be a digit or a space.
        before = folded[start - _LONGEST_RUN if start > _LONGEST_RUN else 0 : start].rpartition(b" ")[2]
        both = before + folded[end : end + _LONGEST_RUN].partition(b" ")[0]
        if len(both) >= _SHORTEST_SECRET and _FOLDED_DIGIT in both and _is_torn(text, start, end):
            wraps.append((start, end))
    return wraps


def _is_torn(text: str, start: int, end: int) -> bool:
    """Whether the words around a newline could be one: there is a digit in them, and they are long together."""
    before = text[max(0, start - _LONGEST_RUN) : start].rsplit(None, 1)[-1]
    both = before + text[end : end + _LONGEST_RUN].split(None, 1)[0]
    return len(both) >= _SHORTEST_SECRET and _DIGIT.search(both) is not None and not _VARIABLE.match(text, end)
