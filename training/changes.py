"""Fit the trees of `engines/offline/changes.py` to scores that were not fitted to the same authors. Part of `python -m training`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline import changes
from memoryd.engines.offline.changes import Known, Sentence
from training.boosted import trees_of
from training.labels import later_in_story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memoryd.engines.offline.classifier import Model
    from memoryd.trees import Trees
    from training.labels import Later, Story

PARTS = 5


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
    return trees_of(rows, labels, number=150, depth=4, rate=0.08)


def _change_examples(later: Later, model: Model) -> Iterator[tuple[list[float], bool]]:
    said = later.said
    scores = model.sentence_scores(said.sentences, said.answer, said.reply)
    if scores[later.number].changes >= changes.LEAST_SCORE:
        sentence = Sentence(tuple(said.sentences), later.number, said.answer, said.reply)
        known = [Known(fact.words, fact.type, float((later.day - fact.day).days)) for fact in later.known.values()]
        rows = changes.values_of(sentence, scores, known)
        yield from zip(rows, (number == later.changed for number in later.known), strict=True)
