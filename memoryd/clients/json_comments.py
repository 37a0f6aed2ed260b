"""JSON with comments, as some clients take it: edited by way of the same text with blanks in their place. Pure.

This needs the standard library alone: it is copied beside the script that takes memoryd back where memoryd itself is gone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.clients.json_entries import UnusableError

if TYPE_CHECKING:
    from collections.abc import Callable

_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_NO_LINE_END = re.compile(r"[^\r\n]")


def without_comments(text: str) -> str:
    """The text with a blank for each letter of a comment: every position stays, and every line."""
    return _STRING_OR_COMMENT.sub(lambda found: found[0] if found[1] else _NO_LINE_END.sub(" ", found[0]), text)


def edited(text: str, change: Callable[[str], str | None]) -> str | None:
    """What `change` makes of a JSON text, with its comments. Raises UnusableError where one would be lost."""
    bare = without_comments(text)
    after = change(bare)
    if after is None and bare != text:
        raise UnusableError("has comments of yours, and nothing else that is not memoryd's")
    if after == bare:
        return text
    if after is None or bare == text:
        return after
    start = _common(bare, after)  # all that differs lies between here and the end that both have
    same = _common(bare[start:][::-1], after[start:][::-1])
    end = len(bare) - same
    result = text[:start] + after[start : len(after) - same] + text[end:]
    if text[start:end] != bare[start:end] or without_comments(result) != after:
        raise UnusableError("is JSON with comments, which stand where memoryd's entries belong")
    return result


def _common(first: str, second: str) -> int:
    """How many letters both begin with."""
    most = min(len(first), len(second))
    return next((at for at in range(most) if first[at] != second[at]), most)
