"""Secrets that stand apart from the noun that names them: in a bracket, on the next line, in a table column, before it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.security.by_format import Span
from memoryd.security.value_at import ALL_QUOTES, read_value, span_of
from memoryd.security.values import LIKELY, RANDOM, STRONG, is_call, is_code, is_masked, is_scrambled, strength

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.security.nouns import Noun

_SPACE = r"[^\S\n]"
_BRACKETED = re.compile(rf"{_SPACE}{{0,2}}[(\[{{]|,(?=\S)")
_LINE_BREAK = rf"{_SPACE}{{0,4}}(?:\r?\n|(?:\\r)?\\n)"
_NEXT_LINE = re.compile(
    rf"[*_`]{{0,3}}{_SPACE}{{0,2}}(?P<sign>[:=]?)[*_]{{0,3}}(?:{_LINE_BREAK}){{1,2}}{_SPACE}{{0,12}}(?:[-*>] )?"
)
_LINE_ENDS = re.compile(rf"[\"'`*]{{0,3}}[.,;]?{_SPACE}{{0,4}}(?:\r?\n|(?:\\r)?\\n|\Z)")
_SEPARATOR_LINE = re.compile(r"[ \t]{0,8}\|?(?:[ \t]{0,8}:?-{1,80}:?[ \t]{0,8}\|){1,20}[ \t:-]{0,80}\r?\n")
_ROWS, _LONGEST_ROW, _CELL_END = 500, 400, 40
_ARROWS = ("<-", "<--", "←")
_BACK = frozenset(("is", "as", "ist", "als", "como", "comme", *_ARROWS))
_WORDS_BACK = 5


def apart(text: str, noun: Noun) -> Span | None:
    """In a bracket, behind a comma without a space, or alone on one of the next lines. As nothing says that it is meant, it must look like a secret itself."""
    match = _BRACKETED.match(text, noun.end)
    is_line = match is None
    if match is None:
        match = _NEXT_LINE.match(text, noun.end)
    value = read_value(text, match.end()) if match is not None else None
    if match is None or value is None or not noun.is_sure or is_masked(value.text) or " " in value.text:
        return None
    if not value.quote and (is_code(value.text) or is_call(value.text)):
        return None
    much = strength(value.text)
    if is_line:
        is_bare = not match["sign"]  # the line after "Add password" in a log may hold a hash
        if not _LINE_ENDS.match(text, value.end) or (is_bare and (not noun.is_password or much == RANDOM)):
            return None
    return span_of(text, value, noun.kind) if _looks_secret(value.text, much) else None


def heads_column(text: str, noun: Noun) -> bool:
    """Whether a noun may be the head of a column in a table: its cell or its line ends with it."""
    return noun.is_sure and text[noun.end : noun.end + _CELL_END].lstrip(" \t*`_")[:1] in ("|", "\r", "\n")


def in_column(text: str, noun: Noun) -> Iterator[Span]:
    """Below the head of a column: every cell that looks like a secret, up to the end of the table or to the head of another one."""
    line_start = text.rfind("\n", max(0, noun.start - _LONGEST_ROW), noun.start) + 1
    line_end = text.find("\n", noun.end, noun.end + _LONGEST_ROW)
    if (
        line_end < 0
        or noun.end - line_start > _LONGEST_ROW
        or "|" not in text[line_start : noun.start] + text[noun.end : noun.end + 3]
    ):
        return
    separator = _SEPARATOR_LINE.match(text, line_end + 1)
    if separator is None:
        return
    column = text.count("|", line_start, noun.start) - (text[line_start:line_end].lstrip()[:1] == "|")
    start = separator.end()
    for _ in range(_ROWS):
        end = text.find("\n", start, start + _LONGEST_ROW)
        row = text[start : end if end >= 0 else start + _LONGEST_ROW]
        if "|" not in row or _SEPARATOR_LINE.match(text, start):
            return
        if span := _cell(text, start, row, column, noun):
            yield span
        if end < 0:
            return
        start = end + 1


def _cell(text: str, start: int, row: str, column: int, noun: Noun) -> Span | None:
    shift = len(row) - len(row.lstrip().removeprefix("|"))
    cells = row[shift:].split("|", column + 1)
    if column >= len(cells):
        return None
    cell = cells[column]
    value = read_value(
        text, start + shift + sum(len(before) + 1 for before in cells[:column]) + len(cell) - len(cell.lstrip())
    )
    if value is None or is_masked(value.text) or " " in value.text or is_call(value.text):
        return None
    return span_of(text, value, noun.kind) if _looks_secret(value.text, strength(value.text)) else None


def before_noun(text: str, noun: Noun) -> Span | None:
    """Before its noun: "log in with … as the password"."""
    if not noun.is_sure or noun.is_verb:
        return None
    offset = max(0, noun.start - 100)
    before = text[offset : noun.start]
    words = before.split()[-_WORDS_BACK:]
    link = next((place for place in range(1, len(words)) if words[place] in _BACK), None)
    if link is None:
        return None
    value = words[link - 1].strip(ALL_QUOTES + "(")
    is_on_one_line = "\n" not in before[before.rindex(words[link - 1]) :] and _LINE_ENDS.match(text, noun.end)
    if words[link] in _ARROWS and not is_on_one_line:
        return None
    if is_masked(value) or is_code(value) or strength(value) < STRONG:
        return None
    start = offset + before.rindex(value)
    return Span(start, start + len(value), noun.kind)


def _looks_secret(value: str, much: int) -> bool:
    return much >= STRONG or (much >= LIKELY and is_scrambled(value))
