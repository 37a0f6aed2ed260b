"""Linear classifier: whether a sentence is worth remembering, what belongs to it, its type, and whether it holds everywhere.

Its weights are a file in the package, made by `python -m training` from the labelled messages in training/.
"""

from __future__ import annotations

import json
import math
from array import array
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Literal, NamedTuple
from zlib import compress, crc32, decompress

from memoryd.engines.offline.features import pair_features, sentence_features, text_features

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from memoryd.memory_types import MemoryType

TYPES: tuple[MemoryType, ...] = ("user", "feedback", "project", "reference")
Table = Literal[
    "worth", "changes", "joined", "joined_before", "reason", "user", "feedback", "project", "reference", "global"
]
TABLES: tuple[Table, ...] = ("worth", "changes", "joined", "joined_before", "reason", *TYPES, "global")
WEIGHTS_FILE = "weights.bin"
_LARGEST = 30.0
"""A score beyond it is as good as certain, and its exponential might not fit."""


class SentenceScores(NamedTuple):
    """What is likely of a sentence, each as the logarithm of odds."""

    worth: float
    """It is worth remembering."""
    changes: float
    """It says that something told before holds otherwise now, or no longer."""


class Model(NamedTuple):
    """One linear score for each table. Weights are bytes, times a scale."""

    buckets: int
    biases: tuple[float, ...]
    scales: tuple[float, ...]
    tables: tuple[array[int], ...]

    def score(self, table: Table, places: Collection[int]) -> float:
        """The score in a table, for features whose weights stand at these places."""
        number = TABLES.index(table)
        total = sum(map(self.tables[number].__getitem__, places))
        return self.biases[number] + self.scales[number] * total / math.sqrt(len(places) or 1)

    def probability(self, table: Table, features: Iterable[str]) -> float:
        return _probability(self.score(table, places_of(features, self.buckets)))

    def sentence_scores(self, sentences: Sequence[str], answer: str, reply: str) -> tuple[SentenceScores, ...]:
        """For each sentence of a message; the assistant said the answer before it, and the reply to it."""
        places = [
            places_of(sentence_features(sentences, number, answer, reply), self.buckets)
            for number in range(len(sentences))
        ]
        return tuple(SentenceScores(self.score("worth", own), self.score("changes", own)) for own in places)

    def type_probabilities(self, text: str) -> dict[MemoryType, float]:
        """How likely each type is for these words; the sum is one."""
        places = places_of(text_features(text), self.buckets)
        likely = {kind: math.exp(min(_LARGEST, self.score(kind, places))) for kind in TYPES}
        total = sum(likely.values())
        return {kind: value / total for kind, value in likely.items()}


def places_of(features: Iterable[str], buckets: int) -> set[int]:
    """Where the weights of these features stand."""
    return {crc32(feature.encode("utf-8", "surrogatepass")) % buckets for feature in features}


def _probability(score: float) -> float:
    return 1 / (1 + math.exp(-max(-_LARGEST, min(_LARGEST, score))))


def worth_of(sentences: tuple[str, ...], answer: str, reply: str) -> list[float]:
    """For each sentence of a message how likely it is worth remembering; the assistant said the answer before, the reply after."""
    return [_probability(own.worth) for own in scores_of(sentences, answer, reply)]


@lru_cache(maxsize=16)  # each step over a message asks
def scores_of(sentences: tuple[str, ...], answer: str, reply: str) -> tuple[SentenceScores, ...]:
    return loaded().sentence_scores(sentences, answer, reply)


def is_joined(first: str, second: str, *, is_next_message: bool = False) -> float:
    """How likely the second sentence belongs to what the first one says: it adds to it, limits it or puts it right."""
    return loaded().probability("joined", pair_features(first, second, is_next_message=is_next_message))


def is_joined_before(first: str, second: str) -> float:
    """How likely the first sentence belongs to what the second one says, where that is worth remembering."""
    return loaded().probability("joined_before", pair_features(first, second, is_next_message=False))


def is_reason(first: str, second: str, *, is_next_message: bool = False) -> float:
    """How likely the second sentence is the reason of what the first one says."""
    return loaded().probability("reason", pair_features(first, second, is_next_message=is_next_message))


def type_of(text: str) -> MemoryType:
    """What kind of memory these words make."""
    likely = type_probabilities(text)
    return max(TYPES, key=lambda kind: likely[kind])


def is_manner(text: str) -> float:
    """How likely feedback is about the person's own manner, or said to hold everywhere, and not about one project."""
    return loaded().probability("global", text_features(text))


def type_probabilities(text: str) -> dict[MemoryType, float]:
    return loaded().type_probabilities(text)


@cache
def loaded() -> Model:
    return load(resources.files(__package__).joinpath(WEIGHTS_FILE).read_bytes())


def dump(model: Model) -> bytes:
    """A line of JSON, then the tables one behind the other, compressed: most weights are zero."""
    head = {"buckets": model.buckets, "biases": model.biases, "scales": model.scales}
    return json.dumps(head).encode() + b"\n" + compress(b"".join(table.tobytes() for table in model.tables), 9)


def load(data: bytes) -> Model:
    line, _, packed = data.partition(b"\n")
    head, rest = json.loads(line), decompress(packed)
    size = head["buckets"]
    tables = tuple(array("b", rest[start : start + size]) for start in range(0, len(rest), size))
    return Model(size, tuple(head["biases"]), tuple(head["scales"]), tables)
