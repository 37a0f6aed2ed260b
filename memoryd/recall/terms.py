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
            continue
        if is_stop(word):
            continue
        words[stem(word)] += 1
        padded = f" {word} "
        grams.update(padded[at : at + _GRAM] for at in range(max(1, len(padded) - _GRAM + 1)))
    return Terms(words, grams)
