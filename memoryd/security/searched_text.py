"""A text and the forms in which it is searched, each made once for all searches. Pure."""

from __future__ import annotations

from typing import NamedTuple

from memoryd.security.many_words import places_of_words

_ASCII = bytes(range(128))
_LOWERED = bytes(range(256)).lower().replace(b"\n", b" ")
IN_RUNS = bytes(chr(place).isascii() and (chr(place).isalnum() or chr(place) in "_.-") for place in range(256))
"""Letters that stand in keys and tokens; a run of them is at least as long as LONG_RUN."""
AS_RUNS = bytes(ord("x" if inside else " ") for inside in IN_RUNS)
LONG_RUN = b"x" * 16


class SearchedText(NamedTuple):
    """The first three have the same length: a place in one is the same place in the others. In lower case some letters of other
    scripts become two, so that places would shift.
    """

    text: str
    letters: bytes
    """In ASCII, with a question mark for every other letter. Half of what is searched for has nothing else in it, and bytes are
    searched faster than a text with letters of other scripts."""
    lowered: bytes
    """`letters` in lower case, and a space for each newline."""
    others: str
    """Only the letters that are not ASCII, in their order: nearly always none or a few."""
    words: dict[bytes, list[int]]
    """Where the words stand without which most secrets cannot be there."""

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing that a search begins with: two of three texts are a few ordinary words in one line."""
        letters = self.letters
        return not (
            self.words
            or self.others
            or b"\n" in letters
            or b" -" in letters
            or b"://" in letters
            or b"AQE" in letters
            or LONG_RUN in letters.translate(AS_RUNS)
        )


def searched(text: str) -> SearchedText:
    letters = text.encode("ascii", "replace")
    lowered = letters.translate(_LOWERED)
    others = ""
    if not text.isascii():
        others = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    return SearchedText(text, letters, lowered, others, places_of_words(lowered))
