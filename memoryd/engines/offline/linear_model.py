"""Linear model: how likely a sentence is worth remembering, and which type of memory it would be.

Its weights are a file in the package, made by `python -m training` from the sessions in training/sessions.
"""

from __future__ import annotations

import json
import math
from array import array
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from memoryd.engines.offline.features import fact_features_of, features_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from memoryd.model import MemoryType

TYPES: tuple[MemoryType, ...] = ("user", "feedback", "project", "reference")
WEIGHTS_FILE = "weights.bin"


class Model(NamedTuple):
    """Linear scores: one for a sentence being worth it, one for each type of a fact. Weights are bytes, times a scale."""

    buckets: int
    biases: tuple[float, ...]
    scales: tuple[float, ...]
    tables: tuple[array[int], ...]

    def score(self, number: int, places: Collection[int]) -> float:
        """The score of the table with this number, for features whose weights stand at these places."""
        total = sum(map(self.tables[number].__getitem__, places))
        return self.biases[number] + self.scales[number] * total / math.sqrt(len(places) or 1)


def places_of(features: Iterable[str], buckets: int) -> set[int]:
    """Where the weights of these features stand."""
    return {crc32(feature.encode("utf-8", "surrogatepass")) % buckets for feature in features}


def worth_of(sentences: Sequence[str], answer: str) -> list[float]:
    """For each sentence of a message how likely it is worth remembering; `answer` is what the assistant said before."""
    model = _model()
    found = []
    for number in range(len(sentences)):
        score = model.score(0, places_of(features_of(sentences, number, answer), model.buckets))
        found.append(1 / (1 + math.exp(-max(-30.0, min(30.0, score)))))
    return found


def type_of(sentences: Sequence[str]) -> MemoryType:
    """What kind of memory these sentences make together."""
    return type_by(_model(), sentences)


def type_by(model: Model, sentences: Sequence[str]) -> MemoryType:
    places = places_of(fact_features_of(sentences), model.buckets)
    return max(TYPES, key=lambda kind: model.score(1 + TYPES.index(kind), places))


@cache
def _model() -> Model:
    return load(resources.files(__package__).joinpath(WEIGHTS_FILE).read_bytes())


def dump(model: Model) -> bytes:
    """A line of JSON, then the tables one behind the other."""
    head = {"buckets": model.buckets, "biases": model.biases, "scales": model.scales}
    return json.dumps(head).encode() + b"\n" + b"".join(table.tobytes() for table in model.tables)


def load(data: bytes) -> Model:
    line, _, rest = data.partition(b"\n")
    head = json.loads(line)
    size = head["buckets"]
    tables = tuple(array("b", rest[start : start + size]) for start in range(0, len(rest), size))
    return Model(size, tuple(head["biases"]), tuple(head["scales"]), tables)
