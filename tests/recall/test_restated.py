"""Statements in other words: what is the same, and what never is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.recall.again import groups_of, is_restated
from memoryd.recall.alike import NUMBERS, numbers_of, pairs_of_words
from memoryd.recall.restated import restated_of

CASES = json.loads(Path(__file__, "../../../evaluation/audit_cases.json").resolve().read_text(encoding="utf-8"))
PAIRS = [pair for kind in ("repeated", "different", "held_out", "held_out_different") for pair in CASES[kind]]
NAMES = [first + second for first in "aeiou" for second in ("ran", "lun", "tem", "vos", "dak", "pel")]
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
        ("keep lines under 88 characters", "no lines longer than 88 characters"),
        ("backups are taken every six hours", "there is a backup every 6 hours"),
        ("don't edit files under vendor", "leave files under vendor unchanged"),
        ("add a test for every new endpoint", "a new endpoint without a test is not accepted"),
        ("nichts auf main pushen, ohne mich zu fragen", "frag mich, bevor du auf main pushst"),
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
        ("restart the worker after changing a task", "restart the worker before changing a task"),
        ("prefer composition to mixins", "prefer mixins to composition"),
        ("no table without created_at and updated_at", "no table without created_at and deleted_at"),
        ("use npm", "use pnpm, not npm"),
        ("fass die Migrationen nicht an", "fass die Migrationen an"),
        ("我们每周三发布", "我们每周五发布"),
        ("提交之前先跑测试", "提交之后再跑测试"),
        ("thank you, looks good", "thanks, that looks right"),
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


@pytest.mark.parametrize(("one", "other"), [("a b c", "c b a"), ("", "x"), (SENTENCES[0], SENTENCES[1])])
def test_the_trees_weigh_as_many_numbers_as_have_a_name(one: str, other: str) -> None:
    first, second = restated_of(one), restated_of(other)
    numbers = numbers_of(first, second, pairs_of_words(first.words, second.words))
    assert len(numbers) == len(NUMBERS)


def test_among_hundreds_that_share_a_word_those_that_say_the_same_are_found() -> None:
    told = [f"deploy the {name} service by hand" for name in (a + b + "ix" for a in "bcdfgklmn" for b in NAMES)]
    again = [
        "ask dana before you deploy the billing service",
        "dana has to be asked before the billing service is deployed",
    ]
    statements = [restated_of(text) for text in (again[0], *told, again[1])]
    assert [0, len(told) + 1] in groups_of(statements)


@given(st.lists(st.sampled_from(SENTENCES), max_size=30))
def test_in_a_group_each_is_the_same_as_all_others(texts: list[str]) -> None:
    statements = [restated_of(text) for text in texts]
    groups = groups_of(statements)
    members = [number for group in groups for number in group]
    assert len(members) == len(set(members))
    for group in groups:
        assert all(is_restated(statements[one], statements[other]) for one in group for other in group)
