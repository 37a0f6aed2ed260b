"""Use of memories: whether a session did something with one that it was shown. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.tokens import is_unspaced, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.memory.quick_parse import QuickParse

READ, QUOTED = "read", "quoted"
_WORDS = 5
"""So many in a row that are the same are no accident;"""
_CHARACTERS = 8
"""in a script without spaces, so many."""


def is_quoted(name: str, memory: QuickParse, replies: Iterable[str]) -> bool:
    """Whether the assistant named the memory, or repeated words of it in a row."""
    said = set(_runs(memory.body)) | set(_runs(memory.description))
    named = re.compile(rf"(?<![\w-]){re.escape(name)}")
    return any(named.search(reply) or not said.isdisjoint(_runs(reply)) for reply in replies)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words: list[str] = []
    for word in split(text):
        if is_unspaced(word):
            words = []
            for at in range(len(word) - _CHARACTERS + 1):
                yield (word[at : at + _CHARACTERS],)
            continue
        words = [*words[1 - _WORDS :], word]
        if len(words) == _WORDS:
            yield tuple(words)
