"""Text into search terms: words by their stems, pieces of words, pairs of characters where there are no spaces. Pure."""

from __future__ import annotations

from collections import Counter

from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, is_unspaced, pairs_of, split

PIECE, CONCEPT = "~", "="
"""What the terms for pieces of words and for concepts begin with; no word does."""
ASKED = "asked "
"""What the keys for terms begin with that a prompt asks for work with; a tool call is looked up by none of them."""
_LETTERS = 4


def terms_of(text: str) -> Counter[str]:
    """The words of a text that can be searched for, and how often each stands in it."""
    terms: Counter[str] = Counter()
    for word in split(text):
        if is_unspaced(word):
            terms.update(filter(None, pairs_of(word)))
        elif not is_stop(word):
            terms[stem(word)] += 1
    return terms


def pieces_of(term: str) -> tuple[str, ...]:
    """The terms for the pieces of a word, each once; none for a concept, and for a script without spaces."""
    if term.startswith(CONCEPT) or is_unspaced(term):
        return ()
    padded = f" {term} "
    pieces = (padded[at : at + _LETTERS] for at in range(max(1, len(padded) - _LETTERS + 1)))
    return tuple(dict.fromkeys(PIECE + piece for piece in pieces))
