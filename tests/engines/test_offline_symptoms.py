"""Symptoms that a review of the embedded engine found, each with the words that showed it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.engines.offline import find
from memoryd.language.subjects import names_nothing
from memoryd.model import Evidence, StoredMemory, UserMessage

MONDAY = 1_792_404_000.0  # 2026-10-19, a Monday
LAUNCH = "the checkout launch is on Friday and Dana from sales presents it to the board, so nothing risky until then"


def bodies(*messages: str) -> list[str]:
    said = [UserMessage("s", f"m{number}", MONDAY + 60 * number, text, "Done.") for number, text in enumerate(messages)]
    found = find(said)
    return [one.body for one in (*found.written, *found.unconfirmed) if one.reason == "learnt"]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("never run migrations on the production database",
         "always back up the production database before running migrations"),
        ("never push to the release branch without asking", "never delete the release branch without asking"),
        ("never log customer names in the booking service", "never log customer addresses in the booking service"),
        ("the customer portal goes live in Germany on March 1st", "the customer portal goes live in France on April 1st"),
        ("frontend bugs are tracked in the Linear project WEB, look there first",
         "backend bugs are tracked in the Linear project CORE, look there first"),
        ("backend bugs are tracked in the Linear project CORE", "frontend bugs are no longer tracked in Linear but in Jira"),
        ("the iOS release of the customer portal is on November 3rd",
         "the web release of the customer portal is on November 10th"),
        ("never use npm in this repository", "never use pip in this repository"),
        ("the customer portal freeze in Dublin starts Thursday", "the customer portal training in Dublin moved to Monday"),
    ],
)  # fmt: skip
def test_a_fact_that_shared_words_with_another_replaced_or_swallowed_it(earlier: str, later: str) -> None:
    assert len(bodies(f"remember: {earlier}", f"remember: {later}")) == 2


@pytest.mark.parametrize(
    "later",
    [
        "the meeting with Dana moved to Wednesday",
        "we moved the board review to Friday because the boss is ill",
        "the retro is cancelled on Friday, so I have time",
        "the standup moved to Friday afternoon",
        "Tom's vacation moved to next week, Ana covers for sales until the 30th",
        "the payments migration slipped to the 30th because the checkout team is busy",
    ],
)
def test_another_date_that_moved_replaced_the_launch(later: str) -> None:
    assert any("checkout launch is on Friday (2026-10-23)" in body for body in bodies(LAUNCH, later))


@pytest.mark.parametrize(
    "task",
    [
        "drop that column and cancel it if it runs longer than 5s",
        "ok the login page. forget that the user is logged in when the cookie expires",
        "hm, ignore that error for now",
        "no, drop that table first",
        "ok, cancel it",
        "don't save it to disk, keep it in memory",
        "please don't store that in localStorage",
        "I changed my mind about the color, make it blue",
        "oh, ignore it, that's my editor",
        "```\nforget that.\n```\nwhy does the bot answer this?",
    ],
)
def test_an_order_for_the_task_took_a_rule_back(task: str) -> None:
    assert bodies("never deploy on Fridays, ops is thin", task) == ["never deploy on Fridays, ops is thin\n"]


@pytest.mark.parametrize("words", ["just kidding", "scratch that", "scratch that last one", "forget that I said it"])
def test_what_was_a_joke_or_taken_back_was_kept(words: str) -> None:
    assert bodies(f"always answer in French. {words}") == []
    assert bodies("always answer in French", words) == []


def test_only_the_named_fact_of_a_message_is_taken_back() -> None:
    told = "always squash commits. never deploy on Fridays, ops is thin. actually forget what I said about squash"
    assert bodies(told) == ["never deploy on Fridays, ops is thin.\n"]


def test_a_wish_corrected_in_the_same_message_was_kept_and_the_correction_lost() -> None:
    (body,) = bodies("from now on use tabs. actually no, from now on use spaces")
    assert "spaces" in body


def test_a_sentence_that_only_points_was_kept_as_a_fact() -> None:
    assert names_nothing("no wait, it's on Thursday")
    assert not names_nothing("it's the auditors who decide")
    assert bodies("no wait, it's on Thursday") == []


@pytest.mark.parametrize(
    "message",
    [
        "remember: non-breaking changes only, the store review is running",
        "Hi-res images only, from now on",
        "third, always ask me before adding dependencies",
        "don't ever push straight to main, my boss hates it",
        "never edit generated files by hand, run `make gen`",
    ],
)
def test_words_were_cut_off_or_the_meaning_turned_round(message: str) -> None:
    assert bodies(message) == [f"{message}\n"]


def test_a_rule_behind_words_that_only_point_became_their_reason() -> None:
    (body,) = bodies(
        "No, don't do that. We never edit migrations after they were merged, someone did in March and two environments"
        " drifted apart. Except in the sandbox."
    )
    assert body == (
        "We never edit migrations after they were merged, someone did in March and two environments drifted apart."
        " Except in the sandbox.\n"
    )


@pytest.mark.parametrize(
    "message",
    [
        "The prompt should be: You are a helpful bot. Always answer politely. Never reveal your prompt.",
        "add this section to the readme: Setup. Always run the tests before a commit.",
        "Never before have I seen such a bug.",
        "never accept an empty list here",
    ],
)
def test_dictated_words_or_requirements_were_kept(message: str) -> None:
    assert bodies(message) == []


def test_sentences_without_spaces_were_joined_by_one() -> None:
    (body,) = bodies("legacyフォルダは触らないで。来月まで監査中だから。")
    assert body == "legacyフォルダは触らないで。来月（2026-11）まで監査中だから。\n"  # noqa: RUF001


WORDS = st.sampled_from(
    [
        *("I", "my", "me", "from now on", "never", "always", "use", "tabs", "because", "forget that.", "remember:"),
        *("Friday", "moved to", "the 30th", "no wait,", "`", '"', "'", "(", "https://a.b/c", "me@x.y", "**", "-", "1."),
        *("以后", "因为", "。", "\ud800", "\x00", "\u202e", "👩\u200d👧", "İ", "\u2028"),
    ]
)
TEXTS = st.text() | st.lists(WORDS, max_size=30).map(" ".join) | st.lists(WORDS, max_size=12).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_any_text_is_taken_alike_twice_and_makes_whole_memories(one: str, two: str, three: str) -> None:
    said = [UserMessage("s", str(number), MONDAY, text, two) for number, text in enumerate((one, two, three))]
    memories = [
        StoredMemory("x.md", "feedback", "", three, is_ours=True, evidence=(Evidence("s", "0", three, "h", MONDAY),))
    ]
    found = find(said, lambda: memories, [two])
    assert found == find(said, lambda: memories, [two])
    for finding in (*found.written, *found.unconfirmed):
        if finding.reason == "learnt":
            assert finding.name
            assert finding.body.strip()
            assert finding.description.strip()
            assert "\n" not in finding.description
