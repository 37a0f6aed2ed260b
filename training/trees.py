"""Fit the trees of the embedded engine to scores that were not fitted to the same authors. Part of `python -m training`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

from memoryd.engines.offline import changes
from memoryd.engines.offline.changes import Known, Sentence
from memoryd.trees import Trees
from training.labels import later_in_story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memoryd.engines.offline.classifier import Model
    from memoryd.trees import Node
    from training.labels import Later, Story

PARTS = 5
_RATE = 0.08
_SHARE = 0.6
"""Of the examples, and of the numbers, that a tree and a branch see. Chosen by cross-validation, like the numbers and depths."""
_LEAST_IN_LEAF = 20
_DIGITS = 4


def fitted_trees(authors: Mapping[str, list[Story]], fit: Callable[[list[Story]], Model]) -> Trees:
    """What changes an earlier fact. `fit` fits the linear scores to some of the authors."""
    names = sorted(authors)
    rows: list[list[float]] = []
    labels: list[bool] = []
    for part in range(PARTS):
        model = fit([story for number, name in enumerate(names) if number % PARTS != part for story in authors[name]])
        for story in (story for name in names[part::PARTS] for story in authors[name]):
            for later in later_in_story(story):
                for values, label in _change_examples(later, model):
                    rows.append(values)
                    labels.append(label)
    return trees_of(rows, labels, number=150, depth=4)


def _change_examples(later: Later, model: Model) -> Iterator[tuple[list[float], bool]]:
    said = later.said
    scores = model.sentence_scores(said.sentences, said.answer, said.reply)
    if scores[later.number].changes >= changes.LEAST_SCORE:
        sentence = Sentence(tuple(said.sentences), later.number, said.answer, said.reply)
        known = [Known(fact.words, fact.type, float((later.day - fact.day).days)) for fact in later.known.values()]
        rows = changes.values_of(sentence, scores, known)
        yield from zip(rows, (number == later.changed for number in later.known), strict=True)


def trees_of(rows: list[list[float]], labels: list[bool], *, number: int, depth: int) -> Trees:
    model = GradientBoostingClassifier(
        n_estimators=number,
        learning_rate=_RATE,
        max_depth=depth,
        min_samples_leaf=_LEAST_IN_LEAF,
        subsample=_SHARE,
        max_features=_SHARE,
        random_state=1,
    ).fit(np.array(rows, float), np.array(labels))
    part = sum(labels) / len(labels)
    roots = tuple(_node(one.tree_, 0) for one in model.estimators_[:, 0])
    return Trees(round(math.log(part / (1 - part)), _DIGITS), roots)


def _node(tree: Any, at: int) -> Node:
    if tree.children_left[at] < 0:
        return round(_RATE * float(tree.value[at][0][0]), _DIGITS)
    low, high = _node(tree, tree.children_left[at]), _node(tree, tree.children_right[at])
    return int(tree.feature[at]), round(float(tree.threshold[at]), _DIGITS), low, high
