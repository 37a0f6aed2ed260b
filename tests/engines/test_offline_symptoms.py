"""Symptoms that a review of the embedded engine found, each with the words that showed it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.engines.offline import find
from memoryd.engines.offline.compose import name_of
from memoryd.engines.offline.person import about_the_user
from memoryd.language.subjects import names_nothing
from memoryd.model import Evidence, StoredMemory, UserMessage

MONDAY = 1_792_404_000.0  # 2026-10-19, a Monday
LAUNCH = "the checkout launch is on Friday and Dana from sales presents it to the board, so nothing risky until then"


def bodies(*messages: str) -> list[str]:
    said = [UserMessage("s", f"m{number}", MONDAY + 60 * number, text, "Done.") for number, text in enumerate(messages)]
    return [one.body for one in find(said) if one.reason == "learnt"]


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
        ("use uv", "use npm"),
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
    assert any("checkout launch is on Friday, 2026-10-23" in body for body in bodies(LAUNCH, later))


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
    assert bodies("never deploy on Fridays, ops is thin", task) == ["Never deploy on Fridays, ops is thin.\n"]


@pytest.mark.parametrize("words", ["just kidding", "scratch that", "scratch that last one", "forget that I said it"])
def test_what_was_a_joke_or_taken_back_was_kept(words: str) -> None:
    assert bodies(f"always answer in French. {words}") == []
    assert bodies("always answer in French", words) == []


def test_only_the_named_fact_of_a_message_is_taken_back() -> None:
    told = "always squash commits. never deploy on Fridays, ops is thin. actually forget what I said about squash"
    assert bodies(told) == ["Never deploy on Fridays, ops is thin.\n"]


def test_a_wish_corrected_in_the_same_message_was_kept_and_the_correction_lost() -> None:
    assert bodies("from now on use tabs. actually no, from now on use spaces") == ["Use spaces.\n"]


def test_a_sentence_that_only_points_was_kept_as_a_fact() -> None:
    assert names_nothing("no wait, it's on Thursday")
    assert not names_nothing("it's the auditors who decide")
    assert bodies("no wait, it's on Thursday") == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I/O heavy code is async in my app", "I/O heavy code is async in the user's app"),
        ("never edit `me.json`, I make it with `make my`", "never edit `me.json`, the user makes it with `make my`"),
        ("use my-app and mail me@corp.com for it", "use my-app and mail me@corp.com for it"),
        ('my board is "My Team"', 'the user\'s board is "My Team"'),
        ("see https://x.example/my/me for my rota", "see https://x.example/my/me for the user's rota"),
        ("In Phase I of the trial", "In Phase I of the trial"),
        ("I’m a nurse and I don’t code", "The user is a nurse and they don't code"),  # noqa: RUF001
        ("I also need it, I rarely use it", "The user also needs it, they rarely use it"),
        ("I no longer maintain it", "The user no longer maintains it"),
        ("I described it", "The user described it"),
        ("I reply to it", "The user replies to it"),
        ("I'd been using Perl", "The user had been using Perl"),
        ("My team and I are moving", "The user and their team are moving"),
        ("ask me before adding dependencies", "ask the user before adding dependencies"),
        ("on me dit toujours non", "on me dit toujours non"),
    ],
)
def test_grammar_or_a_name_was_damaged_in_the_third_person(text: str, told: str) -> None:
    assert about_the_user(text, is_first=True)[0] == told


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("remember: non-breaking changes only, the store review is running",
         "non-breaking changes only, the store review is running.\n"),
        ("Hi-res images only, from now on", "Hi-res images only.\n"),
        ("third, always ask me before adding dependencies", "Always ask the user before adding dependencies.\n"),
        ("never run the loadtest against prod, otherwise the pager goes off",
         "Never run the loadtest against prod.\n\n**Why:** Otherwise the pager goes off.\n"),
        ("never run it on live data, our pentest failed because of one",
         "Never run it on live data, our pentest failed because of one.\n"),
        ("don't ever push straight to main, my boss hates it",
         "Don't ever push straight to main, the user's boss hates it.\n"),
        ("never edit it by hand, run `make all`", "Never edit it by hand, run `make all`.\n"),
    ],
)  # fmt: skip
def test_words_were_cut_off_or_the_meaning_turned_round(message: str, body: str) -> None:
    assert bodies(message) == [body]


@pytest.mark.parametrize(
    ("fact", "name"),
    [
        ("Never use the word 'simply' in docs, e.g. in the tutorial.", "never-word-simply-docs-tutorial"),
        ("The user can't use GPL code.", "not-gpl-code"),
        ("Ask before you delete files.", "ask-delete-files"),
        ("下周五（2026-10-30）上线，之前不要合并大的改动。", "下周五上线"),  # noqa: RUF001
    ],
)
def test_a_name_said_the_opposite_or_nothing(fact: str, name: str) -> None:
    assert name_of(fact) == name


def test_a_rule_behind_words_that_only_point_became_their_reason() -> None:
    (body,) = bodies(
        "No, don't do that. We never edit migrations after they were merged, someone did in March and two environments"
        " drifted apart. Except in the sandbox."
    )
    assert body.startswith("Don't do that. We never edit migrations")


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


def test_a_description_kept_the_capital_of_an_article() -> None:
    (found,) = find([UserMessage("s", "m", MONDAY, "never mock the queue because a mocked test passed and prod broke")])
    assert found.reason == "learnt"
    assert found.description == "Never mock the queue; a mocked test passed and prod broke"


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
    for finding in found:
        if finding.reason == "learnt":
            assert finding.name
            assert finding.body.strip()
            assert finding.description.strip()
            assert "\n" not in finding.description
