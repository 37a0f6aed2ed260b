"""Changes: how likely a sentence says that an older fact holds otherwise now, or no longer: "got it back tuesday", of a van.

A linear score tells how likely a sentence changes anything at all. Which fact it is about is weighed by small decision trees, from
what the two share, what the fact shares with the assistant's words before and after it, and what the other facts share with them.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memoryd import trees
from memoryd.engines.offline import classifier
from memoryd.language.replaced import differs_in_one_place, has_change, is_exception, is_permission
from memoryd.language.subjects import (
    content_words,
    is_about,
    is_contrasted,
    is_numbered_otherwise,
    is_same_kind_of_value,
    shared_subjects,
    word_count,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.engines.offline.classifier import SentenceScores
    from memoryd.memory_types import MemoryType

TREES_FILE = "changes.json"
LEAST_SCORE = -3.5
"""Of a sentence that may change anything; of those that do, 96 in 100 reach it."""
_WORDS = re.compile(r"\w+")
_NEAR = 300
"""Characters of the assistant's words, right before and right behind."""
_PIECE = 4
_MOST_DAYS = 60.0


class Known(NamedTuple):
    """A fact that was told before."""

    text: str
    type: MemoryType
    days: float
    """How long ago."""


class Sentence(NamedTuple):
    """A sentence of a message, with what stood around it."""

    sentences: tuple[str, ...]
    number: int
    answer: str
    reply: str

    @property
    def text(self) -> str:
        return self.sentences[self.number]


def likely_changes(sentence: Sentence, known: Sequence[Known]) -> list[float]:
    """How likely a sentence says of each fact that it holds otherwise now."""
    scores = classifier.scores_of(sentence.sentences, sentence.answer, sentence.reply)
    if scores[sentence.number].changes < LEAST_SCORE:
        return [0.0] * len(known)
    weigh = trees.read(__package__, TREES_FILE).probability
    return [weigh(values) for values in values_of(sentence, scores, known)]


def values_of(sentence: Sentence, scores: Sequence[SentenceScores], known: Sequence[Known]) -> list[list[float]]:
    """The numbers that the trees weigh, for each fact; used alike by training and by use."""
    around = (
        sentence.text,
        sentence.answer[-_NEAR:],
        sentence.reply[:_NEAR],
        " ".join(sentence.sentences),
    )
    having = Counter(word for fact in known for word in content_words(fact.text))
    shared = [[number for other in around for number in _shared(fact.text, other, having)] for fact in known]
    best = [sorted((0.0, 0.0, *column))[-2:] for column in zip(*shared, strict=True)]
    alone = _of_sentence(sentence, scores, len(known))
    return [
        [*own, *_ahead(own, best), *_of_pair(fact, sentence.text), *alone]
        for fact, own in zip(known, shared, strict=True)
    ]


def _shared(text: str, other: str, having: Mapping[str, int]) -> list[float]:
    """What a fact has in common with other words: as many words, parts of either, those of no other fact, and pieces of words.

    `having`: in how many facts each word stands.
    """
    words, there = content_words(text), content_words(other)
    both = words & there
    pieces = _pieces(text)
    return [
        len(both),
        len(both) / (len(words) or 1),
        len(both) / (len(there) or 1),
        sum(having[word] == 1 for word in both),
        len(pieces & _pieces(other)) / (len(pieces) or 1),
    ]


def _ahead(own: Sequence[float], best: Sequence[Sequence[float]]) -> list[float]:
    """How far a fact is ahead of the best of the others, number by number; `best` are the two highest of all facts."""
    return [value - (second if value == first else first) for value, (second, first) in zip(own, best, strict=True)]


def _of_pair(fact: Known, text: str) -> list[float]:
    return [
        min(fact.days, _MOST_DAYS),
        classifier.TYPES.index(fact.type),
        is_same_kind_of_value(fact.text, text),
        is_contrasted(fact.text, text),
        is_numbered_otherwise(fact.text, text),
        differs_in_one_place(fact.text, text),
        word_count(fact.text),
        is_about(text, shared_subjects(fact.text, text)),
    ]


def _of_sentence(sentence: Sentence, scores: Sequence[SentenceScores], known: int) -> list[float]:
    text = sentence.text
    return [
        scores[sentence.number].changes,
        scores[sentence.number].worth,
        max(own.changes for own in scores),
        known,
        has_change(text),
        is_exception(text),
        is_permission(text),
        word_count(text),
        "?" in text,
        len(sentence.sentences),
        not sentence.answer,
    ]


@lru_cache(maxsize=2048)
def _pieces(text: str) -> frozenset[str]:
    plain = f" {' '.join(_WORDS.findall(text.lower()))} "
    return frozenset(plain[at : at + _PIECE] for at in range(len(plain) - _PIECE + 1))
