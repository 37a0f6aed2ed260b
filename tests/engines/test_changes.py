"""Which earlier fact a sentence changes: the trees, the numbers that they weigh, and that training and use agree on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd import trees
from memoryd.engines.offline import classifier
from memoryd.engines.offline.changes import TREES_FILE, Known, Sentence, likely_changes, values_of
from memoryd.engines.offline.classifier import SentenceScores

if TYPE_CHECKING:
    from memoryd.trees import Node

VAN = Known("van 3 is at the garage with its gearbox", "project", 7.0)
DANA = Known("ask Dana before you touch the billing folder", "feedback", 30.0)


def said(*sentences: str, answer: str = "", reply: str = "") -> Sentence:
    return Sentence(sentences, 0, answer, reply)


def test_the_trees_of_the_package_weigh_numbers_that_there_are() -> None:
    """A number that is added or left out without fitting anew would be weighed for another one."""
    (values,) = values_of(said("it is back"), [SentenceScores(0.0, 0.0)], [VAN])

    def places(node: Node) -> set[int]:
        return {node[0]} | places(node[2]) | places(node[3]) if isinstance(node, tuple) else set()

    found = trees.read("memoryd.engines.offline", TREES_FILE)
    used = set().union(*map(places, found.roots))
    assert max(used) < len(values)
    assert len(used) > len(values) / 2
    assert len(found.roots) > 100


def test_only_words_that_may_change_something_are_held_against_what_is_known() -> None:
    dull = said("can you show me the diff?", reply="Here it is.")
    assert classifier.scores_of(dull.sentences, "", dull.reply)[0].changes < -3.5
    assert likely_changes(dull, [VAN, DANA]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("sentence", "changed"),
    [
        (said("van 3 is back from the garage since tuesday", answer="I left out van 3."), 0),
        (said("Dana left, billing is with Tomasz now", reply="Understood, I will ask Tomasz."), 1),
    ],
)
def test_the_fact_is_found_that_a_sentence_changes(sentence: Sentence, changed: int) -> None:
    likely = likely_changes(sentence, [VAN, DANA])
    assert likely[changed] > 0.4
    assert likely[1 - changed] < 0.1


def test_nothing_is_changed_where_nothing_is_known() -> None:
    assert likely_changes(said("Dana left, billing is with Tomasz now"), []) == []
