"""Statements in other words: what is the same, and what never is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.recall.restated import groups_of, is_restated, restated_of

CASES = json.loads(Path(__file__, "../../../evaluation/audit_cases.json").resolve().read_text(encoding="utf-8"))
PAIRS = [pair for kind in ("repeated", "different", "held_out", "held_out_different") for pair in CASES[kind]]
SENTENCES = sorted({text for pair in PAIRS for text in pair})


def is_same(one: str, other: str) -> bool:
    return is_restated(restated_of(one), restated_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("never push to main without asking me", "ask me before you push to main"),
        ("never commit before running the tests", "run the tests before you commit"),
        ("use pnpm, not npm", "pls use pnpm instead of npm"),
        ("no emojis in commit messages please", "leave emojis out of the commit messages"),
        ("we freeze the API because of the audit", "we freeze the API since legal asked for it"),
        ("the staging database is reset every night", "every night staging db gets reset"),
        ("nutze immer pnpm statt npm", "bitte pnpm benutzen, nicht npm"),
        ("keep PRs below 300 lines", "pull requests should stay under 300 lines"),
        ("use snake_case for json keys", "JSON keys are snake_case in this project"),
        ("öffne Pull Requests gegen develop", "Pull Requests immer gegen develop öffnen"),
        ("don't use abbreviations in variable names", "no abbreviated variable names"),
    ],
)
def test_other_words_for_the_same(one: str, other: str) -> None:
    assert is_same(one, other)


@pytest.mark.parametrize(("one", "other"), [*CASES["different"], *CASES["held_out_different"]])
def test_what_differs_in_a_name_a_number_a_negation_or_an_order_is_never_the_same(one: str, other: str) -> None:
    assert not is_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("don't start the dev server", "don't stop the dev server"),
        ("draft a polite reply", "open a draft PR"),  # "PR" has its initials, and is none
        ("always link the docs that you used", "docs are in docs/"),
        ("use let instead of const", "use const instead of let"),  # "let" is a stop word, and is what is wanted
    ],
)
def test_letters_and_small_words_do_not_make_two_statements_the_same(one: str, other: str) -> None:
    assert not is_same(one, other)


@given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES))
def test_it_does_not_matter_which_was_said_first(one: str, other: str) -> None:
    assert is_same(one, other) == is_same(other, one)


@given(st.text(max_size=60), st.integers(2, 10**6), st.integers(2, 10**6))
def test_a_number_makes_two_of_one(text: str, one: int, other: int) -> None:
    assert is_same(f"{text} {one}", f"{text} {other}") <= (one == other)


@given(st.lists(st.sampled_from(SENTENCES), max_size=30))
def test_in_a_group_each_is_the_same_as_all_others(texts: list[str]) -> None:
    statements = [restated_of(text) for text in texts]
    groups = groups_of(statements)
    members = [number for group in groups for number in group]
    assert len(members) == len(set(members))
    for group in groups:
        assert all(is_restated(statements[one], statements[other]) for one in group for other in group)
