"""Ranking: which memories a prompt may mean, and how surely, by terms in common and how rare they are.

A word of the prompt is found in a memory as it stands, or by another word for the same concept; beside that, pieces of
words find other forms, typos and compounds. The two sums together rank. What is known of the best ones is then weighed by
a small model, fitted by `make train` to labelled prompts, into the probability that a memory is meant.
"""

from __future__ import annotations

import json
import math
import os
from bisect import bisect_left
from functools import cache
from heapq import nlargest
from typing import TYPE_CHECKING

from memoryd.language.tokens import is_unspaced
from memoryd.recall.concepts import terms_with_concepts
from memoryd.recall.store import HEAVIEST, WEIGHT_BITS
from memoryd.recall.terms import CONCEPT, pieces_of
from memoryd.recall.use import odds_factor
from memoryd.recall.weights import SCALE
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping, Sequence

    from memoryd.recall.store import Directory, IndexedMemory, Store

MODEL_FILE = os.path.join(os.path.dirname(__file__), "model.json")
COMMON_FILE = os.path.join(os.path.dirname(__file__), "common.txt")
FEATURES = (
    "words",  # the sum of what its words weigh there,
    "words_covered",  # which part of the prompt, by weight, they are,
    "weight_covered",  # and that weight
    "words_ahead",  # how much more its words weigh than those of any other memory
    "pieces",  # the sum of what pieces of words weigh
    "prompt",  # how much the prompt says at all
    "words_beside_best",  # the same as a part of what the best memory has
    "known",  # which part of the prompt, by weight, stands in any memory: little of it where the languages differ
    "unspaced",  # which part of its words is of a script without spaces, where pairs of characters stand for words
    "code",  # whether it has code in it: who brings code mostly speaks of that, and of no memory
)
CANDIDATES = 20
_AT_ONCE = 40
"""Looked up together: more than CANDIDATES, since some may be left of memories that have gone."""
_ASKED_CHARACTERS = 1500
_BY_CONCEPT = 0.8
"""What a word counts that is found only by another word for it."""
_REQUEST_WORDS = 4
"""What asks for work in so few words says little else: "commit my changes please"."""
_COMMON_SHARE, _COMMON = 0.25, 1000
"""A piece of a word that stands in such a part of the memories, or in so many, tells nothing, and costs the most,"""
_CODE = frozenset("_(){}[]`=#<>$\\/")
"""Signs of which code, commands and paths have some, and other prompts hardly any."""
_FEW = 100
"""once there are more memories than so many."""


class Query(NamedTuple):
    """A prompt in search terms."""

    words: Mapping[str, frozenset[str]]
    """Each with the concepts that it names."""
    pieces: tuple[str, ...]
    has_code: bool


class Candidate(NamedTuple):
    memory: IndexedMemory
    probability: float
    """That this memory is meant."""
    values: tuple[float, ...]
    """Of FEATURES."""
    is_asked: bool = False
    """Whether it is about work that the prompt asks for."""


def query_of(prompt: str) -> Query:
    """Of a long prompt its beginning and its end: between them stands what was pasted."""
    if len(prompt) > 2 * _ASKED_CHARACTERS:
        prompt = f"{prompt[:_ASKED_CHARACTERS]}\n{prompt[-_ASKED_CHARACTERS:]}"
    words = {
        word: frozenset(CONCEPT + number for number in numbers) for word, numbers in terms_with_concepts(prompt).items()
    }
    pieces = tuple(dict.fromkeys(piece for word in words for piece in pieces_of(word)))
    return Query(words, pieces, not _CODE.isdisjoint(prompt))


def candidates(store: Store, directory: Directory, query: Query) -> list[Candidate]:
    """The memories that a prompt may mean, the most probable first."""
    with store.snapshot():
        found = _Search(store, directory, query)
        ranked = _best_alive(store, directory, found.sums)
        uses = store.uses(directory.id, [one.name for one in ranked])
    first_two = sorted((0.0, 0.0, *(found.weight_of_words(one.id) for one in ranked)))[-2:]
    told = [(one, found.values(one.id, first_two)) for one in ranked]
    return sorted(
        (
            Candidate(
                memory,
                _after_use(probability(values), *uses.get(memory.name, (0, 0))),
                values,
                memory.id in found.asked,
            )
            for memory, values in told
        ),
        key=lambda one: -one.probability,
    )


def _best_alive(store: Store, directory: Directory, sums: Mapping[int, float]) -> list[IndexedMemory]:
    """The memories with the highest sums, of several with the same the newest first, without those that have gone."""
    ranked: list[IndexedMemory] = []
    # Of thousands, few are wanted; more only where many of the first have gone.
    for first, last in ((0, _AT_ONCE), (_AT_ONCE, len(sums))):
        some = [number for _, number in nlargest(last, zip(sums.values(), sums, strict=True))][first:]
        for at in range(0, len(some), _AT_ONCE):
            alive = {one.id: one for one in store.known(directory.id, some[at : at + _AT_ONCE])}
            ranked += [alive[number] for number in some[at : at + _AT_ONCE] if number in alive]
            if len(ranked) >= CANDIDATES:
                return ranked[:CANDIDATES]
    return ranked


def _after_use(probable: float, sessions: int, used: int) -> float:
    """A memory that sessions used is a little more probable, one that they had in vain a little less."""
    factor = odds_factor(sessions, used)
    return factor * probable / (1 - probable + factor * probable)


def probability(values: Sequence[float]) -> float:
    bias, weights = _model()
    return 1 / (1 + math.exp(-bias - sum(weight * value for weight, value in zip(weights, values, strict=True))))


@cache
def _model() -> tuple[float, tuple[float, ...]]:
    with open(MODEL_FILE, encoding="utf-8") as file:
        model = json.load(file)
    return model["bias"], tuple(model["weights"][name] for name in FEATURES)


@cache
def common() -> Mapping[str, float]:
    """Words and concepts that prompts are full of, and what is left of their weight: `run` and `fix` name nothing."""
    with open(COMMON_FILE, encoding="utf-8") as file:
        return {term: float(left) for term, left in (line.split("\t") for line in file.read().splitlines())}


class _Search:
    """One prompt in one directory."""

    def __init__(self, store: Store, directory: Directory, query: Query) -> None:
        self._query = query
        self._count = directory.memories
        concepts = {concept for concepts in query.words.values() for concept in concepts}
        self._entries = store.postings(directory.id, [*query.words, *concepts, *query.pieces])
        is_request = len(query.words) <= _REQUEST_WORDS
        self.asked = store.asked(directory.id, [*query.words, *concepts]) if is_request else set()
        """The memories about work that the prompt asks for."""
        self._words = self._word_sums()
        self._pieces = self._piece_sums()
        best_words = max(self._words.values(), default=0.0) or 1.0
        best_pieces = max(self._pieces.values(), default=0.0) or 1.0
        self.sums = {
            number: self._words.get(number, 0.0) / best_words + self._pieces.get(number, 0.0) / best_pieces
            for number in {*self._words, *self._pieces, *self.asked}
        }
        self._said = sum(map(self._rarity, query.words))
        known = sum(self._rarity(word) for word in query.words if word in self._entries)
        self._of_prompt = (
            known / (self._said or 1.0),
            sum(map(is_unspaced, query.words)) / (len(query.words) or 1),
            float(query.has_code),
        )
        """Of FEATURES, the last ones: the same for every memory."""

    def weight_of_words(self, number: int) -> float:
        return math.sqrt(self._words.get(number, 0.0))

    def values(self, number: int, first_two: Sequence[float]) -> tuple[float, ...]:
        """What is known of a memory, in the order of FEATURES. `first_two`: the highest weights of words, the highest last."""
        covered = sum(self._rarity(word) * self._share_found(word, number) for word in self._query.words)
        share, said = covered / (self._said or 1.0), math.sqrt(self._said)
        words = self.weight_of_words(number)
        others = first_two[0] if words == first_two[1] else first_two[1]
        return (
            words,
            share,
            share * said,
            words - others,
            math.sqrt(self._pieces.get(number, 0.0)),
            said,
            (words / (first_two[1] or 1.0)) ** 2,
            *self._of_prompt,
        )

    def _rarity(self, term: str) -> float:
        """How much it tells that a memory has a term: less if many have it, or if prompts are full of it."""
        return self._idf(term) * common().get(term, 1.0)

    def _idf(self, term: str) -> float:
        return self._idf_of(len(self._entries.get(term, ())))

    def _idf_of(self, having: int) -> float:
        """From 0 to 1. A term that both of two memories have is not common: so few tell nothing of that."""
        count = max(self._count, _FEW)
        return math.log1p(max(0.5, count - having + 0.5) / (having + 0.5)) / math.log1p(2 * count)

    def _word_sums(self) -> dict[int, float]:
        sums: dict[int, float] = {}
        for word, concepts in self._query.words.items():
            own = self._found(word, 1.0)
            others: dict[int, float] = {}
            for concept in concepts:
                for number, weight in self._found(concept, _BY_CONCEPT).items():
                    if number not in own and weight > others.get(number, 0.0):
                        others[number] = weight
            for number, weight in (*own.items(), *others.items()):
                sums[number] = sums.get(number, 0.0) + weight
        return sums

    def _found(self, term: str, share: float) -> dict[int, float]:
        """What a term weighs in each memory that has it."""
        entries = self._entries.get(term)
        if entries is None:
            return {}
        weight = share * self._rarity(term) / SCALE
        return {entry >> WEIGHT_BITS: weight * (entry & HEAVIEST) for entry in entries}

    def _piece_sums(self) -> dict[int, float]:
        sums: dict[int, float] = {}
        most = min(self._count * _COMMON_SHARE, _COMMON) if self._count > _FEW else self._count
        for piece in self._query.pieces:
            # In their order, the heaviest of a memory's entries comes last: of several words with a piece, one counts.
            heaviest = {entry >> WEIGHT_BITS: entry & HEAVIEST for entry in sorted(self._entries.get(piece, ()))}
            if len(heaviest) > most:
                continue
            share = self._idf_of(len(heaviest)) / SCALE
            for number, weight in heaviest.items():
                sums[number] = sums.get(number, 0.0) + share * weight
        return sums

    def _share_found(self, word: str, number: int) -> float:
        """What a word of the prompt counts that a memory has: all as it stands there, less by another word for it."""
        if self._stands(word, number):
            return 1.0
        return _BY_CONCEPT if any(self._stands(concept, number) for concept in self._query.words[word]) else 0.0

    def _stands(self, term: str, number: int) -> bool:
        """Whether a memory is among the entries of a term, which are in the order of their numbers."""
        entries: array[int] | tuple[()] = self._entries.get(term, ())
        at = bisect_left(entries, number << WEIGHT_BITS)
        return at < len(entries) and entries[at] >> WEIGHT_BITS == number
