"""Replacement by the user's own words: an old value named beside the new one, or the same subject told anew. Pure.

In doubt nothing is replaced: two facts that differ in a name, number, version or place are two facts.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache
from typing import NamedTuple

from memoryd.language.date_words import weekday_names
from memoryd.language.lexicon import pattern, small
from memoryd.language.titles import title_of, without_fillers
from memoryd.language.tokens import words_of

_MOST_REPLACED = 3
"""Words that may stand in one place of two sentences that are otherwise the same."""
_LEAST_SAME = 2
_LEAST_LETTERS = 4


class Swap(NamedTuple):
    """A value that the user replaced by name."""

    old: str
    new: str

    def applied_to(self, text: str) -> str:
        return _whole(self.old).sub(lambda _: self.new, text)

    def fits(self, text: str) -> bool:
        """Whether a text has the old value, and not the new one."""
        return bool(_whole(self.old).search(text)) and not _whole(self.new).search(text)


def swap_in(text: str) -> Swap | None:
    """The values that a sentence names as the old and the new one: "pnpm instead of npm", "now Thursday, not Tuesday"."""
    match = pattern("replaced", "swap").search(text)
    if match is None:
        return None
    groups = {name.rstrip("0123456789"): value for name, value in match.groupdict().items() if value}
    old, new = groups["old"].strip("."), groups["new"].strip(".")
    is_empty = any(word.casefold() in small("names") for word in (old, new))
    return None if is_empty or old.casefold() == new.casefold() else Swap(old, new)


def has_change(text: str) -> bool:
    """Whether a sentence says that something is no longer as it was."""
    return bool(_change().search(text))


def only_ends(text: str) -> bool:
    """Whether a sentence says that something no longer holds, and nothing of what holds instead."""
    left = pattern("replaced", "ends").sub(" ", text)
    return left != text and not has_change(left) and swap_in(text) is None


def is_exception(text: str) -> bool:
    """Whether a sentence limits a rule that was told before: "the openapi client is the exception"."""
    return bool(pattern("replaced", "exception").search(text))


@cache
def _change() -> re.Pattern[str]:
    return pattern("replaced", "change", weekday=weekday_names())


def tells_anew(old: str, new: str) -> bool:
    """Whether the second text says of the same subject, word for word, that it is otherwise now.

    The two are the same but for a few words in one place, and the second one says that this is a change.
    """
    return has_change(new) and differs_in_one_place(old, new)


def differs_in_one_place(old: str, new: str) -> bool:
    """Whether two texts are the same but for a few words in one place, and enough words are the same."""
    first, second = (_plain_words(title_of(text)) for text in (old, new))
    blocks = [
        block for block in SequenceMatcher(None, first, second, autojunk=False).get_opcodes() if block[0] != "equal"
    ]
    same = [word for word in first if word in second]
    return (
        len(blocks) == 1
        and blocks[0][0] == "replace"
        and max(blocks[0][2] - blocks[0][1], blocks[0][4] - blocks[0][3]) <= _MOST_REPLACED
        and len(same) >= _LEAST_SAME
        and any(len(word) >= _LEAST_LETTERS for word in same)
    )


def says_again(old: str, new: str) -> bool:
    """Whether one of two texts has every word of the other that means something: then it says that again, perhaps with more.

    Whole words: "the island routes" is not said again by "the fjord routes".
    """
    first, second = (
        frozenset(words_of(without_fillers(text))) - small("names") - small("subjects") for text in (old, new)
    )
    fewer = min(first, second, key=len)
    return len(fewer) >= _LEAST_SAME and (first <= second or second <= first) and not has_change(new)


def _plain_words(text: str) -> list[str]:
    bare = _change().sub(" ", text)
    return [word for word in words_of(bare) if word not in small("function")]


def _whole(word: str) -> re.Pattern[str]:
    edges = (r"(?<!\w)" if word[0].isascii() else "", r"(?!\w)" if word[-1].isascii() else "")
    return re.compile(f"{edges[0]}{re.escape(word)}{edges[1]}", re.IGNORECASE)
