"""Rules of the team that a private rule contradicts."""

from __future__ import annotations

import pytest

from memoryd.model import StoredMemory
from memoryd.review.team import contradicted_rule


def rule(text: str) -> StoredMemory:
    return StoredMemory("feedback_rule.md", "feedback", text, text)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("Use pnpm, not npm.", "use npm, not pnpm"),
        ("Use pnpm instead of npm", "from now on use npm instead of pnpm"),
        ("Always squash commits before merging.", "never squash commits before merging"),
        ("Don't squash commits", "always squash commits"),
        ("Reviews stay under 400 lines", "Reviews stay under 800 lines"),
        ("Never push to main", "Push to main directly"),
        ("Write commit messages in English", "Write commit messages in German"),
    ],
)
def test_what_says_otherwise_is_found(told: str, said: str) -> None:
    assert contradicted_rule(said, [rule("Keep functions short"), rule(told)]) == rule(told)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("Use pnpm, not npm.", "use pnpm, not npm"),
        ("Run make lint before every commit", "Run make test before every push"),
        ("Use tabs", "keep commits small"),
        ("Never push to main", "Never push to the release branch on a Friday, it pages the whole team"),
        ("Ask Dana before you touch billing", "Answer in German"),
    ],
)
def test_what_says_the_same_or_something_else_is_left_alone(told: str, said: str) -> None:
    assert contradicted_rule(said, [rule(told)]) is None
