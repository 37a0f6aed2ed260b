"""Decision trees: what they add up to, and that a file of them says the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.trees import Trees, dump, load

if TYPE_CHECKING:
    from memoryd.trees import Node

TREES = Trees(-1.0, ((0, 0.5, -2.0, (1, 3.0, 0.5, 2.0)), 0.25))


@pytest.mark.parametrize(("values", "score"), [((0.5, 9.0), -2.75), ((0.6, 3.0), -0.25), ((0.6, 3.1), 1.25)])
def test_each_tree_adds_what_its_branch_says(values: tuple[float, float], score: float) -> None:
    assert TREES.probability(values) == pytest.approx(1 / (1 + math.exp(-score)))


def nodes() -> st.SearchStrategy[Node]:
    number = st.floats(-100, 100).map(lambda value: round(value, 4))
    return st.recursive(number, lambda below: st.tuples(st.integers(0, 3), number, below, below), max_leaves=8)


@given(st.floats(-5, 5), st.lists(nodes(), max_size=4), st.lists(st.floats(-100, 100), min_size=4, max_size=4))
def test_trees_that_are_written_and_read_again_say_the_same(
    base: float, roots: list[Node], values: list[float]
) -> None:
    made = Trees(base, tuple(roots))
    assert load(dump(made)) == made
    assert load(dump(made)).probability(values) == made.probability(values)
