"""Stems: what is left of a word without its endings. Pure."""

from __future__ import annotations

from functools import lru_cache

_SHORT = 3
"""So short a word is not stemmed."""
_PLURALS = (("ies", "y"), ("sses", "ss"), ("es", "e"), ("s", ""))
_FORMS = (("ing", ""), ("edly", ""), ("ied", "y"), ("ed", ""), ("ckly", "ck"), ("ally", "al"), ("tly", "t"))


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """A word without its English endings, roughly: two that are the same word should end up the same.

    Other languages get by with the pieces of their words.
    """
    if len(word) <= _SHORT or not word.isascii() or not word.isalpha():
        return word
    word = _without(word, _FORMS) if not word.endswith("s") else _without(_without(word, _PLURALS), _FORMS)
    return word[:-1] if word.endswith("e") and len(word) > _SHORT else word


def _without(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    """A word without the first of these endings that it has, if what is left can still be a word."""
    for ending, instead in endings:
        if word.endswith(ending) and not word.endswith("ss"):
            left = word[: len(word) - len(ending)] + instead
            if len(left) < _SHORT or not any(vowel in left for vowel in "aeiouy"):
                return word
            if not instead and len(left) > _SHORT and left[-1] == left[-2] and left[-1] not in "lsz":
                return left[:-1]
            return left
    return word
