"""A memory is found by the work that a prompt asks for, however it names that."""

from __future__ import annotations

import pytest

from memoryd.memory.quick_parse import QuickParse
from memoryd.recall.concepts import terms_with_concepts
from memoryd.recall.terms import ASKED, CONCEPT
from memoryd.rules.asked_work import asked_triggers
from memoryd.rules.triggers import triggers_of_memory


def is_found(prompt: str, description: str, body: str = "", kind: str = "feedback") -> bool:
    memory = QuickParse("", description, kind, (), body)  # type: ignore[arg-type]
    keys = {trigger.key for trigger in asked_triggers(memory, triggers_of_memory(memory))}
    words = terms_with_concepts(prompt)
    asked = {*words, *(CONCEPT + number for numbers in words.values() for number in numbers)}
    return not keys.isdisjoint(ASKED + term for term in asked)


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("commit my changes please", "Keep every commit under 200 lines"),
        ("commit this", "No emojis in commit messages"),
        ("bitte committen", "Sign off every commit with -s"),
        ("run the tests", "`pytest -n 2`, the laptop has two cores"),
        ("roll it out", "helm upgrade only with --atomic"),
        ("ship it", "Nothing is deployed on Fridays"),
        ("push the branch", "Never force push"),
        ("open a PR", "Pull requests stay drafts until CI is green"),
        ("review my code", "Bugs first in a review, style last"),
        ("publish a new release", "A release needs an entry in NEWS"),
    ],
)
def test_a_request_for_work_finds_what_speaks_of_it(prompt: str, rule: str) -> None:
    assert is_found(prompt, rule)


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("commit this", "Ask before anything is pushed"),
        ("run the tests", "Releases are cut from stable"),
        ("deploy it", "Keep every commit under 200 lines"),
        ("review my code", "Run pytest with -n 2"),
        ("delete the file", "Never delete a branch without asking"),
        ("fix the parser", "No emojis in commit messages"),
    ],
)
def test_no_other_work_does(prompt: str, rule: str) -> None:
    assert not is_found(prompt, rule)


def test_a_fact_about_the_project_is_found_as_well() -> None:
    assert is_found("cut a release", "Releases are cut from the stable branch", kind="project")


def test_a_reason_names_no_work() -> None:
    assert not is_found("review it", "Keep functions short", "**Why:** long ones are hard to review.")
