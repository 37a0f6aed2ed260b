"""Decision trees: what they add up to, and that a file of them says the same."""

from __future__ import annotations

import math

import pytest

from memoryd.trees import Trees, dump, load

TREES = Trees(-1.0, ((0, 0.5, -2.0, (1, 3.0, 0.5, 2.0)), 0.25))


@pytest.mark.parametrize(("values", "score"), [((0.5, 9.0), -2.75), ((0.6, 3.0), -0.25), ((0.6, 3.1), 1.25)])
def test_each_tree_adds_what_its_branch_says(values: tuple[float, float], score: float) -> None:
    assert TREES.probability(values) == pytest.approx(1 / (1 + math.exp(-score)))


def test_what_was_written_is_read_again() -> None:
    assert load(dump(TREES)) == TREES
