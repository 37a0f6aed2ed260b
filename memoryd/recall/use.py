"""Use of memories: whether a session did something with one that it was shown, and what that does to its rank. Pure."""

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
_IN_VAIN = 5
"""From so many sessions on that did nothing with it a memory sinks. Fewer tell nothing: who follows a rule need not quote it."""
_STEP, _LOWEST, _HIGHEST = 0.1, 0.7, 1.3
"""For each session, within narrow limits: past use moves a memory among those that fit, and hides none that plainly does."""


def is_quoted(name: str, memory: QuickParse, replies: Iterable[str]) -> bool:
    """Whether the assistant named the memory, or repeated words of it in a row."""
    said = set(_runs(memory.body)) | set(_runs(memory.description))
    named = re.compile(rf"(?<![\w-]){re.escape(name)}")
    return any(named.search(reply) or not said.isdisjoint(_runs(reply)) for reply in replies)


def odds_factor(sessions: int, used: int) -> float:
    """What the odds that a memory is meant are multiplied by, after so many sessions had it and so many used it."""
    if used:
        return min(_HIGHEST, 1 + _STEP * used)
    return max(_LOWEST, 1 - _STEP * max(0, sessions - _IN_VAIN + 1))


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
