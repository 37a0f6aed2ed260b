"""A text and the forms in which it is searched, each made once for all searches. Pure."""

from __future__ import annotations

from typing import NamedTuple

from memoryd.security.many_words import places_of_words

_ASCII = bytes(range(128))


class SearchedText(NamedTuple):
    """The first three have the same length: a place in one is the same place in the others. In lower case some letters of other
    scripts become two, so that places would shift.
    """

    text: str
    letters: bytes
    """In ASCII, with a question mark for every other letter. Half of what is searched for has nothing else in it, and bytes are
    searched faster than a text with letters of other scripts."""
    lowered: str
    """`letters` in lower case."""
    others: str
    """Only the letters that are not ASCII, in their order: nearly always none or a few."""
    words: dict[bytes, list[int]]
    """Where the words stand without which most secrets cannot be there."""


def searched(text: str) -> SearchedText:
    letters = text.encode("ascii", "replace")
    lowered = letters.lower()
    others = ""
    if not text.isascii():
        others = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    return SearchedText(text, letters, lowered.decode("ascii"), others, places_of_words(lowered))
