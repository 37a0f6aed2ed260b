"""Weights of terms in a memory: often and in few words is much. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memoryd.recall.concepts import concepts_in
from memoryd.recall.store import HEAVIEST
from memoryd.recall.terms import terms_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.memory.quick_parse import QuickParse

GRAM, CONCEPT = "~", "="
"""What pieces of words and numbers of concepts begin with; no word does."""
SCALE = 100.0
"""A weight of one, in the whole numbers that are kept."""
_OFTEN = 1.2
"""BM25's k1: how soon saying a word again counts for little,"""
_LENGTH = 0.5
"""and its b: how much a long memory counts less."""
_USUAL_WORDS, _USUAL_GRAMS, _USUAL_CONCEPTS = 60.0, 220.0, 25.0
"""Of a memory, fixed: with the true mean every change of one memory would change the weights of all."""
_NAME, _DESCRIPTION, _KEYS, _BODY = 2, 2, 1, 1


def weights_of(glance: QuickParse) -> dict[str, int]:
    """Every term of a memory with its weight, from 1 to HEAVIEST."""
    words: Counter[str] = Counter()
    grams: Counter[str] = Counter()
    concepts: Counter[str] = Counter()
    parts = (
        (glance.name, _NAME),
        (glance.description, _DESCRIPTION),
        *((key, _KEYS) for key in glance.keys),
        (glance.body, _BODY),
    )
    for text, times in parts:
        found = terms_of(text)
        _add(words, found.words, times)
        _add(grams, found.grams, times)
        _add(concepts, Counter(concepts_in(text)), times)
    return {
        **_weights(words, "", _USUAL_WORDS),
        **_weights(grams, GRAM, _USUAL_GRAMS),
        **_weights(concepts, CONCEPT, _USUAL_CONCEPTS),
    }


def _add(sums: Counter[str], found: Mapping[str, int], times: int) -> None:
    for term, often in found.items():
        sums[term] += often * times


def _weights(often: Counter[str], prefix: str, usual: float) -> dict[str, int]:
    length = _OFTEN * (1 - _LENGTH + _LENGTH * often.total() / usual)
    return {
        prefix + term: max(1, min(HEAVIEST, round(SCALE * times * (_OFTEN + 1) / (times + length))))
        for term, times in often.items()
    }
