"""Boosted decision trees over a few numbers, for questions that no sum of weights answers; `training/boosted.py` fits them."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    Node = float | tuple[int, float, "Node", "Node"]
    """What a tree adds; or a number's place, a limit, and where to go on up to it and beyond it."""


class Trees(NamedTuple):
    """`base` and what each tree adds to it are the logarithm of odds."""

    base: float
    roots: tuple[Node, ...]

    def probability(self, values: Sequence[float]) -> float:
        score = self.base
        for root in self.roots:
            node = root
            while isinstance(node, tuple):
                place, limit, low, high = node
                node = low if values[place] <= limit else high
            score += node
        return 1 / (1 + math.exp(-score))


@cache
def read(package: str, file: str) -> Trees:
    """The trees in a file of a package."""
    return load(resources.files(package).joinpath(file).read_text(encoding="utf-8"))


def dump(trees: Trees) -> str:
    return json.dumps(trees, separators=(",", ":")) + "\n"


def load(text: str) -> Trees:
    base, roots = json.loads(text)
    return Trees(base, tuple(map(_node, roots)))


def _node(told: Any) -> Node:
    if not isinstance(told, list):
        return float(told)
    place, limit, low, high = told
    return place, limit, _node(low), _node(high)
