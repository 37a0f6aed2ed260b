"""Fit decision trees one after the other, and turn them into what `memoryd.trees` reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

from memoryd.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.trees import Node

_SHARE = 0.6
"""Of the examples, and of the numbers, that a tree and a branch see. Chosen by cross-validation, like numbers, depths and rates."""
_LEAST_IN_LEAF = 20
_DIGITS = 4


def trees_of(
    rows: Sequence[Sequence[float]],
    labels: Sequence[bool],
    weights: Sequence[float] | None = None,
    *,
    number: int,
    depth: int,
    rate: float,
) -> Trees:
    model = GradientBoostingClassifier(
        n_estimators=number,
        learning_rate=rate,
        max_depth=depth,
        min_samples_leaf=_LEAST_IN_LEAF,
        subsample=_SHARE,
        max_features=_SHARE,
        random_state=1,
    ).fit(np.array(rows, float), np.array(labels), sample_weight=weights)
    share = float(np.average(labels, weights=weights))
    roots = tuple(_node(one.tree_, 0, rate) for one in model.estimators_[:, 0])
    return Trees(round(math.log(share / (1 - share)), _DIGITS), roots)


def _node(tree: Any, at: int, rate: float) -> Node:
    if tree.children_left[at] < 0:
        return round(rate * float(tree.value[at][0][0]), _DIGITS)
    low, high = _node(tree, tree.children_left[at], rate), _node(tree, tree.children_right[at], rate)
    return int(tree.feature[at]), round(float(tree.threshold[at]), _DIGITS), low, high
