"""Replacement by the user's own words: an old value named beside the new one, or the same subject told anew. Pure.

In doubt nothing is replaced: two facts that differ in a name, number, version or place are two facts.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import NamedTuple

from memoryd.language.date_words import weekday_names
from memoryd.language.lexicon import pattern, small
from memoryd.language.statements import is_negation
from memoryd.language.subjects import word_count
from memoryd.language.titles import title_of, without_fillers
from memoryd.language.tokens import words_of

_MOST_REPLACED = 3
"""Words that may stand in one place of two sentences that are otherwise the same."""
_LEAST_SAME = 2
_LEAST_LETTERS = 4
_CLAUSE_END = re.compile(r"[,;:.!?—–](?=\s|$)|\s-\s|[，。；：！？]")  # noqa: RUF001


class Swap(NamedTuple):
    """A value that the user replaced by name."""

    old: str
    new: str

    def applied_to(self, text: str) -> str:
        return _whole(self.old).sub(lambda _: self.new, text)

    def fits(self, text: str) -> bool:
        """Whether a text has the old value, and not the new one."""
        return bool(_whole(self.old).search(text)) and not _whole(self.new).search(text)


@lru_cache(maxsize=256)  # it is held against each memory
def swap_in(text: str) -> Swap | None:
    """The values that a sentence names as the old and the new one: "pnpm instead of npm", "now Thursday, not Tuesday"."""
    match = pattern("replaced", "swap").search(text)
    if match is None:
        return None
    groups = {name.rstrip("0123456789"): value for name, value in match.groupdict().items() if value}
    old, new = groups["old"].strip("."), groups["new"].strip(".")
    is_empty = any(word.casefold() in small("names") for word in (old, new))
    return None if is_empty or old.casefold() == new.casefold() else Swap(old, new)


def said_beside_swap(text: str) -> str:
    """What a sentence says beside the two values, up to the end of the clause: where the new one holds. Reasons stand behind."""
    match = pattern("replaced", "swap").search(text)
    if match is None:
        return ""
    end = _CLAUSE_END.search(text, match.end())
    return f"{text[: match.start()]} {text[match.end() : end.start() if end else len(text)]}"


@lru_cache(maxsize=1024)  # each step over a message asks
def has_change(text: str) -> bool:
    """Whether a sentence says that something is no longer as it was."""
    return bool(_change().search(text))


def only_ends(text: str) -> bool:
    """Whether a sentence says that something no longer holds, and nothing of what holds instead."""
    left = pattern("replaced", "ends").sub(" ", text)
    return left != text and not has_change(left) and swap_in(text) is None


def is_exception(text: str) -> bool:
    """Whether a sentence says that it limits a rule that was told before: "the openapi client is the exception"."""
    return bool(pattern("replaced", "exception").search(text))


def is_permission(text: str) -> bool:
    """Whether a sentence allows something: "notebooks are fine after all". Beside a rule that forbids it, it is an exception."""
    return bool(pattern("replaced", "permission").search(text)) and not has_change(text)


def forbidden_in(text: str) -> str:
    """The clauses of a text that say "not"."""
    return " ".join(clause for clause in _CLAUSE_END.split(text) if any(map(is_negation, words_of(clause))))


@cache
def _change() -> re.Pattern[str]:
    return pattern("replaced", "change", weekday=weekday_names())


def tells_anew(old: str, new: str) -> bool:
    """Whether the second text says of the same subject, word for word, that it is otherwise now.

    The two are the same but for a few words in one place, and the second one says that this is a change. The subject stands
    before that place, and in that place is a value: a number, or the end of a sentence that forbids nothing. Of "never run
    seeds" nobody knows whether it is said instead of "never run migrations".
    """
    place = _different_place(old, new) if has_change(new) else None
    if place is None or len([word for word in place.before if word not in small("subjects")]) < _LEAST_SAME:
        return False
    has_numbers = all(any(letter.isdigit() for letter in words) for words in (place.old, place.new))
    is_value = max(word_count(place.old), word_count(place.new)) <= 1  # "the lobby is fixed" is a place and its state
    return has_numbers or (is_value and place.is_last and not any(map(is_negation, place.before)))


def may_tell_anew(old: str, new: str) -> bool:
    """Whether the second text may say that the first is otherwise now: they begin alike and differ in one place."""
    place = _different_place(old, new) if has_change(new) else None
    return place is not None and bool(place.before) and not tells_anew(old, new)


def differs_in_one_place(old: str, new: str) -> bool:
    """Whether two texts are the same but for a few words in one place, and enough words are the same."""
    return _different_place(old, new) is not None


class _Place(NamedTuple):
    """The one place where two texts differ."""

    before: list[str]
    """The words before it, the same in both."""
    old: str
    new: str
    is_last: bool


def _different_place(old: str, new: str) -> _Place | None:
    first, second = (_plain_words(title_of(text)) for text in (old, new))
    blocks = [
        block for block in SequenceMatcher(None, first, second, autojunk=False).get_opcodes() if block[0] != "equal"
    ]
    same = [word for word in first if word in second]
    if len(blocks) != 1 or len(same) < _LEAST_SAME or all(len(word) < _LEAST_LETTERS for word in same):
        return None
    ((kind, start, end, new_start, new_end),) = blocks
    if kind != "replace" or max(end - start, new_end - new_start) > _MOST_REPLACED:
        return None
    return _Place(
        first[:start], " ".join(first[start:end]), " ".join(second[new_start:new_end]), is_last=end == len(first)
    )


def says_again(old: str, new: str) -> bool:
    """Whether the second text says the first again: a clause of one has the words of a clause of the other, no more, no fewer.

    Whole words: "the island routes" is not said again by "the fjord routes", nor "use uv for the docs build" by "build the docs".
    Where the clause says more, it may be an exception.
    """
    return not has_change(new) and not _clauses(old).isdisjoint(_clauses(new))


def _clauses(text: str) -> frozenset[tuple[bool, frozenset[str]]]:
    """The text and its clauses: whether each says "not", and its words that mean something."""
    plain = without_fillers(text)
    words = [words_of(clause) for clause in (plain, *_CLAUSE_END.split(plain))]
    told = ((any(map(is_negation, clause)), frozenset(clause) - small("names") - small("subjects")) for clause in words)
    return frozenset((is_negated, clause) for is_negated, clause in told if len(clause) >= _LEAST_SAME)


def without_change(text: str) -> str:
    """The text without the words that say that something is no longer as it was."""
    return _change().sub(" ", text)


def _plain_words(text: str) -> list[str]:
    return [word for word in words_of(without_change(text)) if word not in small("function")]


def _whole(word: str) -> re.Pattern[str]:
    edges = (r"(?<!\w)" if word[0].isascii() else "", r"(?!\w)" if word[-1].isascii() else "")
    return re.compile(f"{edges[0]}{re.escape(word)}{edges[1]}", re.IGNORECASE)
