"""Comparison of texts word by word: only what says the same in the same words is the same. Pure.

Nothing is stemmed and no word is left out, because two facts may differ in one identifier only: customer 4711 and customer
4712, eu-west-1 and eu-west-2, Christina and Christian.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memoryd.language.tokens import words_of

_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|(?<=[。！？；])|\n\s*\n|\n\s*(?=[-*+•]\s)")  # noqa: RUF001
_LABEL = re.compile(r"\*\*[^*\n]{1,40}:\*\*")


@lru_cache(maxsize=4096)  # each group of a run is held against each memory
def statements_in(text: str) -> frozenset[tuple[str, ...]]:
    """The sentences of a text, each by its words."""
    pieces = _SENTENCE_END.split(_LABEL.sub(" ", text))
    return frozenset(words for words in map(words_of, pieces) if words)


def is_repeated_in(text: str, other: str) -> bool:
    """Whether every sentence of a text stands in another one, in the same words."""
    return statements_in(text) <= statements_in(other)
