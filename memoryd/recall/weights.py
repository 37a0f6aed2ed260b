"""Weights of terms in a memory: often and in few words is much. Pure."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from memoryd.language.tokens import split
from memoryd.recall.concepts import terms_and_concepts
from memoryd.recall.store import HEAVIEST
from memoryd.recall.terms import terms_of

if TYPE_CHECKING:
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
    words: list[str] = []
    grams: list[str] = []
    concepts: list[str] = []
    parts = (
        (glance.name, _NAME),
        (glance.description, _DESCRIPTION),
        *((key, _KEYS) for key in glance.keys),
        (glance.body, _BODY),
    )
    for text, times in parts:
        tokens = split(text)
        terms, named = terms_and_concepts(tokens)
        words += terms * times
        concepts += named * times
        for token in tokens * times:
            grams += _pieces(token)
    return {
        **_weights(words, _USUAL_WORDS),
        **_weights(grams, _USUAL_GRAMS),
        **_weights([CONCEPT + number for number in concepts], _USUAL_CONCEPTS),
    }


@lru_cache(maxsize=1 << 15)
def _pieces(token: str) -> tuple[str, ...]:
    """The terms for the pieces of a word of `split`. Kept: ten thousand memories have few thousand words."""
    return tuple(GRAM + piece for piece in terms_of(token).grams.elements())


def _weights(terms: list[str], usual: float) -> dict[str, int]:
    length = _OFTEN * (1 - _LENGTH + _LENGTH * len(terms) / usual)
    often = Counter(terms)
    weight = {
        times: max(1, min(HEAVIEST, round(SCALE * times * (_OFTEN + 1) / (times + length))))
        for times in set(often.values())
    }
    return {term: weight[times] for term, times in often.items()}
