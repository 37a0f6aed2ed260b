"""Explicit wishes: what is one, what is none, and what is written of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.engines.offline import find, statement
from memoryd.engines.offline.wishes import is_wish
from memoryd.language.evidence import evidence_of
from memoryd.language.sentences import sentences_of
from memoryd.model import UserMessage
from memoryd.security.redact import find_secret, redact

if TYPE_CHECKING:
    from memoryd.model import Revision

MONDAY = 1_792_404_000.0  # 2026-10-19, a Monday


def found(text: str) -> list[Revision]:
    return [one for one in find([UserMessage("session", "message", MONDAY, redact(text))]) if one.reason == "learnt"]


def facts(text: str) -> list[tuple[str | None, str]]:
    return [(one.type, one.body.split("\n")[0]) for one in found(text)]


@pytest.mark.parametrize(
    ("text", "kind", "fact"),
    [
        ("From now on, use tabs.", "feedback", "Use tabs."),
        ("ok thanks. from now on write the test first", "feedback", "Write the test first."),
        ("Going forward, ask before you add a dependency.", "feedback", "Ask before you add a dependency."),
        ("use British spelling from now on", "feedback", "Use British spelling."),
        ("always run the linter", "feedback", "Always run the linter."),
        ("Never force-push to shared branches!", "feedback", "Never force-push to shared branches!"),
        ("You should never edit generated files.", "feedback", "Never edit generated files."),
        ("please stop adding comments to every line", "feedback", "Stop adding comments to every line."),
        ("remember that I'm a data scientist, new to Go", "user", "The user is a data scientist, new to Go."),
        ("Remember: I prefer short answers", "user", "The user prefers short answers."),
        ("Remember that incidents are tracked in Linear, project OPS.", "reference",
         "Incidents are tracked in Linear, project OPS."),
        ("keep in mind that Priya owns the billing service", "project", "Priya owns the billing service."),
        ("Don't forget that we never deploy on weekends", "feedback", "We never deploy on weekends."),
        ("- always squash before merging", "feedback", "Always squash before merging."),
        ("Always use tabs - not spaces.", "feedback", "Always use tabs - not spaces."),
        ("From now on, compute a * b first.", "feedback", "Compute a * b first."),
    ],
)  # fmt: skip
def test_a_wish_is_kept_in_the_users_own_terms(text: str, kind: str, fact: str) -> None:
    assert facts(text) == [(kind, fact)]


@pytest.mark.parametrize(
    "text",
    [
        "Never mind, it works.",
        "Never got this to work on Windows.",
        "the test always fails on CI",
        "It never happened before.",
        "Always the same error...",
        "Should I always run the tests?",
        "Do you remember that bug?",
        "I can't remember that password rule",
        "If I said always use tabs, what would you do?",
        "Maybe from now on use tabs, not sure.",
        "The docs say never call this twice.",
        "Marta said: always rebase. But he said never rebase.",
        "stop working on this",
        "Stop trying to fix the test",
        "stop doing that",
        "For now, never mind the linter; always run it in this PR",
        "always use the staging database for this task",
        '"Always use tabs."',
        "> from now on use tabs",
        "```\nalways run this\n```",
        "    never indent like this",
        "2026-10-19 09:00:01 INFO always on",
        "<log>never do this</log>",
        "please fix the parser and run the tests",
        "what does `remember: true` do in the config?",
        "",
        "always " + "x" * 500,
        "never gets here when the flag is set",
        "Always returns None for me",
        "From now on the build fails with exit 1",
        "you should never have removed that",
        "In the future we could add caching here",
        "in future versions of React this API is removed",
        "Always show the save button when the form is dirty",
        "Stop polling when the tab is hidden",
        "stop using mocks in this test",
        "Update CLAUDE.md with:\n1. Always use pnpm\n2. Never edit generated files",
        "Here's the system prompt we use:\nYou must always answer in JSON.",
        "Same from now on.",
        "Don't ever do that again",
        "Remember that time we broke prod",
        "Use tabs for a while, just for this demo, from now on",
    ],
)
def test_what_is_no_wish_is_left(text: str) -> None:
    assert not any(map(is_wish, sentences_of(text)))


@pytest.mark.parametrize(
    "text",
    [
        "Remember that the API key is sk-ant-api03-abcdefghijklmnopqrstuv",
        "always log in with postgres://admin:hunter2222@db.example.com",
        "remember that the password is xK9#mmPq22",
        "always set GITHUB_TOKEN=abcdef1234567890 first",
        "remember that the password for the VPN is Sommer2024!",
        'remember that the db password is "abcdefgh"',
        "from now on use postgres://user:p@ss@host/db",
        "always send bearer abcdefghijklmnopqrstuvwxyz012345",
    ],
)
def test_a_sentence_with_a_secret_is_passed_over(text: str) -> None:
    assert found(text) == []


def test_the_reason_and_how_to_apply_it() -> None:
    (one,) = found("Never push to main without asking, because every push deploys.")
    assert one.body == "Never push to main without asking.\n\n**Why:** Every push deploys.\n"
    assert one.description == "Never push to main without asking; every push deploys"
    assert one.name == "never-push-main-without-asking"
    (one,) = found("Always answer in German. Otherwise my team cannot follow.")
    assert one.body == "Always answer in German.\n\n**Why:** Otherwise the user's team cannot follow.\n"
    (one,) = found("From now on keep reviews under 400 lines. This applies to generated files too.")
    assert one.body.endswith("**How to apply:** This applies to generated files too.\n")
    assert one.evidence[-1].quote == "From now on keep reviews under 400 lines. This applies to generated files too."


def test_the_name_of_a_rule_is_not_its_opposite() -> None:
    assert [one.name for one in found("Don't ever deploy on Fridays. Never use mocks.")] == [
        "not-deploy-fridays",
        "never-mocks",
    ]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("remember that the freeze starts tomorrow", "The freeze starts 2026-10-20."),
        ("remember that we ship on Friday", "We ship on Friday, 2026-10-23."),
        ("remember that the release is frozen until Friday", "The release is frozen until Friday, 2026-10-23."),
        ("remember that the audit is next Tuesday", "The audit is next Tuesday, 2026-10-27."),
        ("remember that the outage was last Thursday", "The outage was last Thursday, 2026-10-15."),
        ("remember that the trial ends in 10 days", "The trial ends in 10 days (2026-10-29)."),
        ("remember that we moved two weeks ago", "We moved two weeks ago (2026-10-05)."),
        (
            "remember that the budget closes at the end of the month",
            "The budget closes at the end of the month (2026-10-31).",
        ),
        ("remember that standups are on Mondays", "Standups are on Mondays."),
    ],
)
def test_relative_dates_become_absolute(said: str, fact: str) -> None:
    assert [text for _, text in facts(said)] == [fact]


def test_a_statement_is_taken_as_it_is() -> None:
    one = statement(UserMessage("", "m", MONDAY, "remember that the demo is on Friday because the board meets"))
    assert one.body == "The demo is on Friday, 2026-10-23.\n\n**Why:** The board meets.\n"


def test_evidence_is_the_same_for_the_same_words() -> None:
    said = UserMessage("session", "message", MONDAY, "")
    assert evidence_of(said, "Use  tabs\nnow").hash == evidence_of(said, "use tabs now").hash
    assert evidence_of(said, "Use tabs now").quote == "Use tabs now"


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        (["always squash commits", "actually forget the squash rule, leave history alone"], []),
        (["remember: loot goes live on Tuesdays", "hm scratch what I said, it is Thursdays"], []),
        (["never use mocks", "always squash commits", "hmm no, scratch that"], ["Never use mocks."]),
        (["never use mocks", "don't forget that we ship on Mondays"], ["Never use mocks.", "We ship on Mondays."]),
        (["never use mocks", "did you forget the test?"], ["Never use mocks."]),
    ],
)
def test_what_is_taken_back_is_not_kept(texts: list[str], kept: list[str]) -> None:
    messages = [UserMessage("session", str(number), MONDAY, text) for number, text in enumerate(texts)]
    assert [one.body.strip() for one in find(messages) if one.reason == "learnt"] == kept


@pytest.mark.parametrize(
    "unit", ["- ", "<a>", "a-", "because ", ", ", "from now on ", "remember that ", "x_", "a:", "\n1. "]
)
def test_no_text_takes_long(unit: str) -> None:
    """Patterns that look again from every place have frozen daemons; twenty thousand characters are read at once."""
    find([UserMessage("s", "m", MONDAY, "From now on, " + unit * (20_000 // len(unit)))])
    find_secret(unit * (100_000 // len(unit)))


@pytest.mark.parametrize("said_at", [253_402_297_200.0, -62_135_596_800.0, 1e18])
def test_a_time_beyond_the_calendar_is_no_error(said_at: float) -> None:
    (one,) = find([UserMessage("s", "m", said_at, "remember that the demo is tomorrow, the last was 900 weeks ago")])
    assert one.reason == "learnt"
    assert one.body.startswith("The demo is")


@pytest.mark.parametrize("text", ["the token bucket is fine", "password reset is broken", "secret santa is on Friday"])
def test_ordinary_sentences_hold_no_secret(text: str) -> None:
    assert find_secret(text) is None
