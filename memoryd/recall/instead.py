"""Everyday words that people say instead of each other, and their opposites: `brief` and `short`, `keep` and `delete`.

Beside concepts.txt, which has the words of trades: here are the most frequent words of messages, a line for each sense, and behind
`<>` what is the opposite of it.
"""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from memoryd.language.stems import stem

FILE = os.path.join(os.path.dirname(__file__), "instead.txt")


class _Senses(NamedTuple):
    """By the stem of a word, the numbers of its senses and of their opposites."""

    own: dict[str, set[int]]
    opposite: dict[str, set[int]]


@cache
def _senses() -> _Senses:
    found = _Senses({}, {})
    with open(FILE, encoding="utf-8") as file:
        for number, line in enumerate(file):
            for side, words in enumerate(line.split("<>")):
                for form in map(stem, words.split()):
                    found.own.setdefault(form, set()).add(2 * number + side)
                    found.opposite.setdefault(form, set()).add(2 * number + 1 - side)
    return found


def may_stand_for(one: str, other: str) -> bool:
    """Whether a word, by its stem, can be said instead of another one."""
    own = _senses().own
    return not own.get(one, set()).isdisjoint(own.get(other, ()))


def is_opposite(one: str, other: str) -> bool:
    senses = _senses()
    return not senses.opposite.get(one, set()).isdisjoint(senses.own.get(other, ()))
