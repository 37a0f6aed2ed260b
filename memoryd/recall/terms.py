"""Text into search terms: words by their stems, pieces of words, pairs of characters where there are no spaces. Pure."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, is_unspaced, pairs_of, split

_GRAM = 4


class Terms(NamedTuple):
    """What can be searched for in a text, and how often each stands in it."""

    words: Counter[str]
    grams: Counter[str]


def terms_of(text: str) -> Terms:
    words: Counter[str] = Counter()
    grams: Counter[str] = Counter()
    for word in split(text):
        if is_unspaced(word):
            words.update(filter(None, pairs_of(word)))
        elif not is_stop(word):
            words[stem(word)] += 1
            grams.update(pieces_of(word))
    return Terms(words, grams)


def pieces_of(word: str) -> tuple[str, ...]:
    """The pieces of a word that is written with spaces around it."""
    padded = f" {word} "
    return tuple(padded[at : at + _GRAM] for at in range(max(1, len(padded) - _GRAM + 1)))
