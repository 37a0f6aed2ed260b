"""Repetition of instruction files: whether they say a fact already, nearly word for word. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.language.lexicon import pattern, small
from memoryd.language.tokens import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

NEAR_VERBATIM = 0.8
"""Share of the words of a fact that stand in paragraphs of instruction files: then they say it already."""
_POINTED = 0.25
"""The same share where the user points to those files: "run the linter, you know, what's in the file"."""
_LEAST_WORDS_IN_CLAUSE = 2


def paragraphs_of(instructions: Sequence[str]) -> list[str]:
    return [paragraph for text in instructions for paragraph in re.split(r"\n\s*\n|\n\s*[-*+]\s+|\n#", text)]


def is_instructed(body: str, paragraphs: Sequence[str]) -> bool:
    """Whether instruction files say it already; a reason beside the fact does not matter.

    Clause by clause, because people sum up several lines of a file in one sentence. A number or a name that no paragraph
    has makes it another fact.
    """
    fact = body.strip().partition("\n\n")[0]
    known = [frozenset(_words(paragraph)) for paragraph in paragraphs]
    everything = frozenset().union(*known)
    carries_nothing = small("subjects") | small("names")
    said = repeated = 0
    for clause in re.split(r"[,;:.()，、。；]\s+|[，、。；]", fact):  # noqa: RUF001
        words = [word for word in _words(clause) if word not in carries_nothing]
        if len(words) >= _LEAST_WORDS_IN_CLAUSE:
            said += len(words)
            repeated += max((sum(word in paragraph for word in words) for paragraph in known), default=0)
    if not said:
        return False
    if pattern("instructed", "points_to_files").search(body):
        return repeated / said >= _POINTED
    has_other_identifier = any(word not in everything for word in _words(fact) if not word.isalpha())
    return repeated / said >= NEAR_VERBATIM and not has_other_identifier


def _words(text: str) -> tuple[str, ...]:
    """The words, without what makes a path or a flag of them: `vendor/` and vendor are the same thing here."""
    return tuple(word.strip("/.-~@#$") for word in words_of(text))
