"""Messages that take words of the user back, correct them, or ask that they are not kept. Pure.

Only what speaks of the user's own words, or of remembering, counts: "ignore that, it is harmless" and "forget it, I will fix
the bug myself" are about the task. In doubt a memory stays.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.lexicon import pattern, small
from memoryd.language.sentences import sentences_of
from memoryd.language.subjects import mentions_taking_back, said_beside_taking_back
from memoryd.language.tokens import is_without_spaces, words_of

if TYPE_CHECKING:
    import re

_LEAST_WORDS_OF_A_CLAUSE = 3


class TakeBack(NamedTuple):
    """What a sentence takes back."""

    named: frozenset[str] = frozenset()
    """Words that single it out; none: what was said last."""
    is_bare: bool = False
    """The sentence says nothing else, not even that it is about words: it may be about the assistant's answer."""


def is_off_the_record(text: str) -> bool:
    """Whether a message asks not to be remembered."""
    return bool(pattern("taken_back", "off_the_record").search(text))


def takes_back(text: str) -> bool:
    """Whether a message takes something back, as far as words tell."""
    return mentions_taking_back(text)[0] or any(map(taken_back_by, sentences_of(text)))


@lru_cache(maxsize=256)  # each step over a message asks
def taken_back_by(sentence: str) -> TakeBack | None:
    """What a sentence takes back; None where it is not about the user's own words."""
    text = pattern("taken_back", "courtesy").sub("", sentence.strip())
    if match := pattern("taken_back", "takes_words_back").search(text):
        return TakeBack(_words_that_name(match))
    if match := pattern("taken_back", "forgets_that").match(text):
        named = _content_words(_clause(text[match.end() :]))
        return TakeBack(named) if len(named) >= _LEAST_WORDS_OF_A_CLAUSE else None
    bare = pattern("taken_back", "takes_back").match(text)
    if bare and not any(letter.isalnum() for letter in text[bare.end() :]):
        return TakeBack(is_bare=True)
    return None


def takes_back_before(sentence: str) -> bool:
    """Whether a sentence takes back the one right before it in the same message: "no, scrap that, leave it as it is"."""
    text = pattern("taken_back", "courtesy").sub("", sentence.strip())
    match = pattern("taken_back", "takes_back").match(text)
    return match is not None and not text[match.end() :].strip()[:1].isalnum()


def begins_by_taking_back(text: str) -> bool:
    """Whether a message begins with "scratch that", whatever stands behind it: a reason, or what is about the task."""
    text = pattern("taken_back", "courtesy").sub("", text.strip())
    return pattern("taken_back", "takes_back").match(text) is not None


def says_nothing_else(text: str) -> bool:
    """Whether a message only takes words back: "sorry, don't remember that"."""
    text = pattern("taken_back", "courtesy").sub("", text.strip())
    match = pattern("taken_back", "takes_words_back").match(text)
    return match is not None and not pattern("taken_back", "courtesy").sub("", text[match.end() :].strip(" .,!"))


def only_takes_back(text: str) -> bool:
    """Whether a message says no more than "forget that": of the user's own words, or of what the assistant did."""
    beside = (pattern("taken_back", "courtesy").sub("", piece.strip()) for piece in said_beside_taking_back(text))
    return not any(letter.isalnum() for piece in beside for letter in piece)


def is_correction(text: str, fact: str) -> bool:
    """Whether a message puts right what the one before it said: "sorry, I meant tabs"; "use pnpm instead" of "use yarn"."""
    match = pattern("taken_back", "corrects").match(text.strip())
    return match is not None and (not match["verb"] or speaks_of(fact, frozenset(words_of(match["verb"]))))


def speaks_of(text: str, named: frozenset[str]) -> bool:
    """Whether all of these words stand in a text: each as a whole word or its plural, or anywhere without spaces."""
    there = frozenset(words_of(text))
    return all(
        word in there or f"{word}s" in there or (is_without_spaces(word) and word in text.casefold()) for word in named
    )


def _words_that_name(match: re.Match[str]) -> frozenset[str]:
    """What stands behind "about", or before "rule", up to the end of the clause."""
    groups = match.groupdict()
    is_named = any(value for name, value in groups.items() if name.startswith("about"))
    about = _clause(match.string[match.end() :]) if is_named else ""
    things = [value for name, value in groups.items() if name.startswith("thing") and value]
    return _content_words(" ".join((*things, about)))


def _clause(text: str) -> str:
    end = pattern("taken_back", "clause_end").search(text)
    return text[: end.start()] if end else text


def _content_words(text: str) -> frozenset[str]:
    return frozenset(words_of(text)) - small("names")
