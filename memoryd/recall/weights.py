"""Weights of terms in a memory: often and in few words is much. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.language.tokens import split
from memoryd.recall.concepts import count_terms
from memoryd.recall.store import HEAVIEST, LearntMemory
from memoryd.recall.terms import CONCEPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.memory.quick_parse import QuickParse

SCALE = 100.0
"""A weight of one, in the whole numbers that are kept."""
_OFTEN = 1.2
"""BM25's k1: how soon saying a word again counts for little,"""
_LENGTH = 0.5
"""and its b: how much a long memory counts less."""
_USUAL_WORDS, _USUAL_CONCEPTS = 60.0, 25.0
"""Of a memory, fixed: with the true mean every change of one memory would change the weights of all."""
_HEAD = 2
"""Name, description and keys count so often, the body once."""


def learnt_memory(
    name: str,
    stamp: tuple[int, int, int],
    memory: QuickParse,
    *,
    has_secret: bool = False,
    triggers: Sequence[tuple[str, str, str, str]] | None = (),
) -> LearntMemory:
    """A memory as it is kept to be searched, every term with its weight, from 1 to HEAVIEST."""
    head = _words((memory.name, memory.description, *memory.keys))
    terms, concepts = count_terms([*head, *split(memory.body)], len(head), _HEAD)
    weights = _weights(terms, sum(terms.values()), _USUAL_WORDS)
    for number, weight in _weights(concepts, sum(concepts.values()), _USUAL_CONCEPTS).items():
        weights[CONCEPT + number] = weight
    return LearntMemory(name, stamp, memory.type or "", has_secret, weights, triggers)


def _words(texts: Iterable[str]) -> list[str]:
    """The words of texts, with an empty one behind each."""
    words: list[str] = []
    for text in texts:
        words += split(text)
        words.append("")
    return words


def _weights(often: dict[str, int], length: int, usual: float) -> dict[str, int]:
    """`length`: of all terms of the kind together."""
    bound = _OFTEN * (1 - _LENGTH + _LENGTH * length / usual)
    weight = {
        times: max(1, min(HEAVIEST, round(SCALE * times * (_OFTEN + 1) / (times + bound))))
        for times in set(often.values())
    }
    return {term: weight[times] for term, times in often.items()}
