"""Search keys of a memory beside its own words: names in code that stood around them. Pure.

Nothing is made up: a key is a file, an identifier or a piece of code that the user named in the same message. Plain words are
left out, since most of them would be noise, and so is what the assistant named.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.model import Revision, UserMessage

MOST = 8
_TEXT_CHARACTERS = 8_000
"""Of a message: what comes behind is a paste."""
_NOT_NAMES = re.compile(
    r"(?<!\w)\w+://\S+|(?<![\w.+-])[\w.+-]+@[\w.-]+|\[redacted[^\]\n]{0,60}\]|^(?:```|~~~).*?(?:^(?:```|~~~)|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Addresses, secrets that were taken out, and blocks of code, which are somebody's output more often than not."""
_NAME = re.compile(
    r"`(?P<code>[^`\n]{2,40})`"
    r"|(?<![\w.@/-])(?:"
    r"(?P<path>(?:[\w.-]+/)+[\w-]+\.[A-Za-z]\w{0,4})"
    r"|(?P<file>[\w-]{2,}\.(?!com\b|org\b|net\b|io\b|dev\b)[A-Za-z][a-z]{0,4})(?!\.\w)"
    r"|(?P<snake>[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)"
    r"|(?P<camel>[A-Za-z]?[a-z0-9]+(?:[A-Z][a-z0-9]+)+)"
    r")(?![\w/])"
)


def keys_of(said: UserMessage, memory: Revision) -> tuple[str, ...]:
    """Names around a fact that the memory does not hold itself, those named most often first."""
    told = f"{memory.name} {memory.description} {memory.body}".casefold()
    return tuple(name for name in _names_in(said.text) if name.casefold() not in told)[:MOST]


def _names_in(text: str) -> list[str]:
    words = _NOT_NAMES.sub(" ", text[:_TEXT_CHARACTERS])
    counted = Counter(map(_name, _NAME.finditer(words)))
    return sorted(counted, key=lambda name: -counted[name])  # sorting keeps the order of those named as often


def _name(match: re.Match[str]) -> str:
    """A file is searched by its name, wherever it lies."""
    code = match["code"]
    return " ".join(code.split()) if code else match[0].rpartition("/")[2]
