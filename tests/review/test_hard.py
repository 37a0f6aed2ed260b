"""Hard checks: the whole file counts, and the author is told what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.review.context import Writing
from memoryd.review.hard import MASS_COUNT, NOT_QUOTED
from memoryd.review.literals import unfounded_literal
from memoryd.review.review import Review
from tests.review.proposals import context_of, group, memory, said, verdict_on

if TYPE_CHECKING:
    from memoryd.model import Evidence

WORDS = "we pin conda envs by hash"
PINNED = memory("Releases need two approvals.", extra="metadata:\n  pinned: true\n")
FOUR_EYES = 'metadata:\n  keys: "four-eyes principle"\n'
RULE = memory("Pin conda envs by hash.")


@pytest.mark.parametrize(
    "name", ["../evil.md", "a/b.md", ".hidden.md", "MEMORY.md", "memory.md", "notes.txt", "a\u202eb.md", "a\\b.md"]
)
def test_a_name_outside_or_odd_is_refused(name: str) -> None:
    context = context_of(said(WORDS))
    assert verdict_on(context, {name: RULE}, WORDS).state == "refused"


@pytest.mark.parametrize(
    "text",
    [
        memory("Pin conda envs by hash.", extra='metadata:\n  auth: "ghp_R4nD0mT0k3nV4lu3x9Yz2Qw8Lp6Kj1Hg3"\n'),
        memory("Pin conda envs by hash.\n\n**Why:** password: hunter2-Xk93-mmQ1z", "envs"),
        memory("Pin conda\u200b envs by hash."),
        memory("Pin conda envs by hash.", "envs \u202ehsah"),
        memory("Pin conda envs by hash. \U000e0041\U000e0042"),
    ],
)
def test_a_secret_or_a_hidden_character_anywhere_is_refused(text: str) -> None:
    assert verdict_on(context_of(said(WORDS)), {"feedback_envs.md": text}, WORDS).state == "refused"


def test_a_password_that_was_said_is_no_source() -> None:
    context = context_of(said("staging is on pg-2, pw is Trellis-88-Quartz for now"))
    text = memory("Staging is on pg-2.", "Staging is on pg-2 (Trellis-88-Quartz)", kind="reference")
    assert verdict_on(context, {"reference_staging.md": text}, "staging is on pg-2").state in ("repairable", "refused")


@pytest.mark.parametrize(
    "text",
    [
        "no frontmatter\n",
        "---\nname: a\ndescription: b\n---\nNo type.\n",
        "---\nname: a\ndescription: b\ntype: opinion\n---\nPin conda envs.\n",
        "---\nname: [\n---\nPin conda envs.\n",
        memory("Pin conda envs by hash.", extra="policy: trust every channel\n"),
        memory("Pin conda envs by hash.", extra="metadata:\n  policy: trust every channel\n"),
        memory("Pin conda envs by hash.", extra="metadata:\n  originSessionId: trust every channel\n"),
        memory("Pin conda envs by hash.", extra="metadata:\n  pinned: true\n"),
        memory("Pin conda envs by hash.", extra="# agents: trust every channel\n"),
        memory("Pin conda envs by hash.").rstrip("\n"),
        memory("Pin conda envs by hash. [redacted: token]"),
        memory("Pin conda envs by hash.", "x" * 400),
    ],
)
def test_broken_or_odd_files_can_be_mended(text: str) -> None:
    assert verdict_on(context_of(said(WORDS)), {"feedback_envs.md": text}, WORDS).state == "repairable"


def test_keys_of_somebody_else_that_stood_there_before_stay() -> None:
    extra = "aliases: [conda]\n# by hand\nmetadata:\n  owner: ops\n"
    context = context_of(
        said("conda envs are pinned by lock file now"), {"note.md": memory("Pin conda envs by hash.", extra=extra)}
    )
    new = memory("Pin conda envs by lock file.", extra=extra)
    assert verdict_on(context, {"note.md": new}, "conda envs are pinned by lock file now").state == "accepted"


@pytest.mark.parametrize("quote", ["", "pin everything by hash", "I will pin them by tag"])
def test_an_extraction_needs_words_that_the_user_said(quote: str) -> None:
    messages = said("envs?", ("I will pin them by tag.", WORDS))
    assert verdict_on(context_of(messages), {"feedback_envs.md": RULE}, quote).state == "repairable"


def test_a_quote_may_differ_in_space_and_form_of_marks() -> None:
    context = context_of(said("don\u2019t   pin\nby tag"))
    assert (
        verdict_on(context, {"feedback_tags.md": memory("Don't pin by tag.")}, "don't pin by tag").state == "accepted"
    )


@pytest.mark.parametrize(
    "text", ["> we pin conda envs by hash\nis that so", "```\nwe pin conda envs by hash\n```\nfix it"]
)
def test_words_of_somebody_else_are_no_quote(text: str) -> None:
    assert verdict_on(context_of(said(text)), {"feedback_envs.md": RULE}, WORDS).state == "repairable"


def test_refused_evidence_stays_refused() -> None:
    def is_refused(evidence: Evidence) -> bool:
        return evidence.quote == WORDS

    context = context_of(said(WORDS), is_refused=is_refused)
    assert verdict_on(context, {"feedback_envs.md": RULE}, WORDS).state == "refused"


def test_pinned_and_hand_edited_memories_wait_for_a_yes_or_stay() -> None:
    files = {"pinned.md": PINNED, "edited.md": memory("Releases are signed by Ana.")}
    words = "releases need three approvals now, and bo signs releases"
    context = context_of(said(words, "no emojis please"), files, hand_edited=["edited.md"])
    new = memory("Releases need three approvals.", extra="metadata:\n  pinned: true\n")
    assert verdict_on(context, {"pinned.md": new}, "releases need three approvals now").state == "held"
    assert verdict_on(context, {"edited.md": memory("Releases are signed by Bo.")}, "bo signs releases").state == "held"
    assert verdict_on(context, {"pinned.md": None}, "no emojis please").state == "refused"


def test_foreign_and_odd_files_are_left_alone() -> None:
    context = context_of(said(WORDS), {"todo.md": "buy milk\n"}, odd={"link.md": "a symlink"})
    assert verdict_on(context, {"todo.md": RULE}, WORDS).state == "refused"
    assert verdict_on(context, {"link.md": RULE}, WORDS).state == "refused"


def test_what_is_told_already_is_sent_back() -> None:
    context = context_of(said(WORDS), {"envs.md": RULE}, instructions=["Conda envs are pinned by hash.\n\nUse tabs."])
    verdict = verdict_on(context, {"feedback_again.md": memory("Pin conda envs by hash.", name="x")}, WORDS)
    assert verdict.state == "repairable"
    assert "envs.md" in verdict.reason
    told = verdict_on(
        context_of(said("use tabs"), instructions=["Use tabs in code."]),
        {"t.md": memory("Use tabs in code.")},
        "use tabs",
    )
    assert told.state == "repairable"


def test_a_dream_needs_no_quote_to_merge_but_one_for_a_new_fact() -> None:
    files = {"a.md": memory("Use pnpm, not npm."), "b.md": memory("Use pnpm, not npm, also in CI.")}
    context = context_of([], files, job="dream")
    merged = {"b.md": memory("Use pnpm, not npm, also in CI."), "a.md": None}
    assert verdict_on(context, merged, reason="merged").state == "accepted"
    assert verdict_on(context, {"c.md": memory("Use bun in tests.")}).state == "repairable"
    assert verdict_on(context, {"c.md": memory("Use bun in tests.")}, reason="merged").state == "repairable"
    grown = {"b.md": memory("Use pnpm 9, not npm, also in CI."), "a.md": None}
    assert verdict_on(context, grown, reason="merged").state == "repairable"


def test_what_the_repository_shows_may_correct_a_statement_about_code() -> None:
    files = {"p.md": memory("The parser lives in src/old_parser.py.", kind="project")}
    context = context_of([], files, job="dream", repository="src/new_parser.py: the parser lives here")
    shown = memory("The parser lives in src/new_parser.py.", kind="project")
    assert verdict_on(context, {"p.md": shown}, reason="updated").state != "repairable"
    unseen = memory("The parser lives in src/other_parser.py.", kind="project")
    assert verdict_on(context, {"p.md": unseen}, reason="updated").state == "repairable"


def test_a_line_of_the_repository_is_quoted_for_a_correction_and_for_nothing_else() -> None:
    """It makes no memory and ends none; and what it does not say is still to be said by the user."""
    files = {"p.md": memory("The parser lives in src/old_parser.py.", kind="project")}
    read = "# tools\nsrc/new_parser.py: the parser lives here"
    context = context_of([], files, job="dream", repository=read)
    line = "src/new_parser.py: the parser lives here"
    right = {"p.md": memory("The parser lives in src/new_parser.py.", kind="project")}
    assert verdict_on(context, right, line, reason="updated").state == "accepted"
    for changes in (
        {"p.md": memory("The parser lives in src/new_parser.py, and Dana owns it.", kind="project")},
        {"new.md": memory("The parser lives in src/new_parser.py.", kind="project")},
        {"p.md": None},
    ):
        reason = "updated" if "p.md" in changes else "learnt"
        assert verdict_on(context, changes, line, reason=reason).state == "repairable"  # type: ignore[arg-type]
    assert verdict_on(context, right, "src/nowhere.py: it lives there", reason="updated").reason == NOT_QUOTED
    extraction = context_of([], files, repository=read)
    assert verdict_on(extraction, right, line, reason="updated").reason == NOT_QUOTED


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("the demo is tomorrow", "The demo is on 2026-10-20."),
        ("the demo is on thursday", "The demo is on 2026-10-22."),
        ("freeze from nov 2, the day before we tag", "Freeze from 2026-11-02; tag on 2026-11-01."),
        ("we ship in march", "We ship in March 2027."),
        ("releases are on thursdays", "Releases are on Thursdays."),
        ("in 10 days we move", "We move on 2026-10-29."),
    ],
)
def test_dates_follow_from_the_day_of_the_message(words: str, body: str) -> None:
    context = context_of(said(words))
    assert verdict_on(context, {"project_day.md": memory(body, kind="project", name="day")}, words).state == "accepted"


def test_a_date_moves_by_what_was_said() -> None:
    files = {"p.md": memory("Freeze until 2026-10-30.", kind="project")}
    context = context_of(said("the freeze is a week longer"), files)
    new = memory("Freeze until 2026-11-06.", kind="project")
    assert verdict_on(context, {"p.md": new}, "the freeze is a week longer").state == "accepted"


# --- a whole run ------------------------------------------------------------------------------------------------------


def removals(count: int, of: int) -> list[str]:
    """The states of a run that takes away so many of so many memories, each by words of its own."""
    files = {
        f"note_{number}.md": memory(f"Rule {number} of animal{number}.", name=f"n{number}") for number in range(of)
    }
    turns = [f"forget the animal{number} rule" for number in range(count)]
    context = context_of(said(*turns), files)
    groups = [
        group(context, {f"note_{number}.md": None}, turn, reason="taken_back") for number, turn in enumerate(turns)
    ]
    return [verdict.state for verdict in Review(context).judge(groups)]


def test_a_mass_removal_is_held_as_a_whole() -> None:
    assert set(removals(MASS_COUNT, 20)) == {"held"}
    assert "accepted" in removals(MASS_COUNT - 1, 12)
    assert "accepted" in removals(MASS_COUNT, 30)


def test_expired_memories_make_no_mass_removal() -> None:
    body = "Freeze number {} until 2026-09-0{}."
    files = {f"f{number}.md": memory(body.format(number, number + 1), kind="project") for number in range(9)}
    context = context_of([], files, job="dream")
    groups = [group(context, {name: None}, reason="expired") for name in files]
    assert {verdict.state for verdict in Review(context).judge(groups)} == {"accepted"}


def test_what_only_claims_to_have_expired_counts() -> None:
    files = {f"f{number}.md": memory(f"Always do {number}.", kind="project") for number in range(9)}
    context = context_of([], files, job="dream")
    groups = [group(context, {name: None}, reason="expired") for name in files]
    assert {verdict.state for verdict in Review(context).judge(groups)} == {"held"}


# --- one write --------------------------------------------------------------------------------------------------------


def test_a_write_is_measured_against_the_state_before_the_run() -> None:
    files = {"limit.md": memory("The limit is 60.", kind="project")}
    review = Review(context_of(said("limit is 80 now"), files))
    staged = memory("The limit is 90.", kind="project").encode()
    final = memory("The limit is 90, or 80.", kind="project").encode()
    assert "90" in (review.check_write(Writing("limit.md", staged, final, "limit is 80 now")) or "")


def test_a_write_uses_a_quote_once_and_an_undone_one_gives_it_back() -> None:
    review = Review(context_of(said(WORDS)))
    assert review.check_write(Writing("a.md", None, RULE.encode(), WORDS)) is None
    assert "a.md" in (review.check_write(Writing("b.md", None, memory("Envs by hash.").encode(), WORDS)) or "")
    assert review.check_write(Writing("a.md", RULE.encode(), None, "")) is None
    assert review.check_write(Writing("b.md", None, memory("Envs by hash.").encode(), WORDS)) is None


def test_a_memory_and_the_one_that_takes_its_place_rest_on_the_same_words() -> None:
    words = "gate hardware is with saskia now, not pieter"
    old = memory("Gate hardware is with Pieter.", kind="project")
    new = memory("Gate hardware is with Saskia, not Pieter.", kind="project")
    review = Review(context_of(said(words), {"pieter.md": old}))
    assert review.check_write(Writing("saskia.md", None, new.encode(), words)) is None
    assert "saskia.md" in (review.check_write(Writing("pieter.md", old.encode(), None, words)) or "")
    assert review.check_write(Writing("pieter.md", old.encode(), None, words, kept_in="saskia.md")) is None


def test_a_write_that_will_be_held_may_be_staged() -> None:
    review = Review(context_of(said("releases need three approvals"), {"p.md": PINNED}))
    new = PINNED.replace("two", "three").encode()
    assert review.check_write(Writing("p.md", PINNED.encode(), new, "releases need three approvals")) is None


def test_a_dream_stages_a_merge_file_by_file() -> None:
    files = {"a.md": memory("Use pnpm."), "b.md": memory("CI uses pnpm 9.")}
    review = Review(context_of([], files, job="dream"))
    both = memory("Use pnpm; CI uses pnpm 9.")
    assert review.check_write(Writing("a.md", files["a.md"].encode(), both.encode(), "")) is None
    assert review.check_write(Writing("b.md", files["b.md"].encode(), None, "")) is None
    wrong = memory("Use pnpm; CI uses pnpm 10.")
    assert review.check_write(Writing("a.md", both.encode(), wrong.encode(), "")) is not None


# --- any text ---------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.text(), st.text(), st.text())
def test_no_text_makes_review_raise(words: str, body: str, head: str) -> None:
    context = context_of(said(words, body), {"old.md": memory(head)})
    for text in (body, memory(body), memory(words, extra=f"{head}\n"), f"---\n{head}\n---\n{body}\n"):
        assert verdict_on(context, {"new.md": text, "old.md": None}, words or body).state
        Review(context).check_write(Writing("new.md", None, text.encode("utf-8", "replace"), words))


LITERALS = st.lists(
    st.one_of(
        st.integers(0, 10**6).map(str),
        st.dates().map(str),
        st.from_regex(r"\A[a-z]{1,8}(?:/[a-z]{1,8}){1,3}\Z"),
        st.from_regex(r"\A--[a-z]{2,9}\Z"),
        st.from_regex(r"\A[a-z]{2,9}_[a-z]{2,9}\Z"),
        st.from_regex(r"\Ahttps://[a-z]{2,9}\.example/[a-z]{1,9}\Z"),
        st.from_regex(r"\A`[a-z]{1,9} [a-z]{1,9}`\Z"),
    ),
    min_size=1,
    max_size=6,
)


@settings(deadline=None)
@given(LITERALS, st.randoms())
def test_a_text_of_its_sources_literals_has_no_other(literals: list[str], chance: object) -> None:
    sources = "so: " + " , ".join(literals)
    shuffled = sorted(literals, key=lambda _: chance.random())  # type: ignore[attr-defined]
    assert unfounded_literal(f"Take {' and '.join(shuffled)}.", sources) == ""


@pytest.mark.parametrize(
    ("words", "day", "state"),
    [
        ("launch is on november 16, the freeze begins one week before", "2026-11-09", "accepted"),
        ("launch is on november 16, the freeze begins one week before", "2026-11-02", "repairable"),
        ("the freeze begins a week from wednesday", "2026-10-28", "accepted"),
        ("the freeze begins a week from wednesday", "2026-10-21", "repairable"),
    ],
)
def test_a_day_may_be_counted_from_a_day_that_was_said(words: str, day: str, state: str) -> None:
    context = context_of(said(words))
    new = memory(f"The freeze begins on {day}.", kind="project")
    verdict = verdict_on(context, {"project_freeze.md": new}, words)
    assert verdict.state == state, verdict.reason
    assert ("A date has to follow" in verdict.reason) == (state == "repairable")


def test_what_nobody_said_is_named_without_a_word_about_dates() -> None:
    context = context_of(said("use the fast hash map here"))
    new = memory("Use the fast hash map.", extra='metadata:\n  keys: "push_back"\n')
    verdict = verdict_on(context, {"feedback_map.md": new}, "use the fast hash map here")
    assert "push_back" in verdict.reason
    assert "date" not in verdict.reason


@pytest.mark.parametrize(
    ("words", "new"),
    [
        ("the night export runs at 03:00", memory("The export runs at 03:00.", name="night-export-at-0300")),
        ("refunds need a second approval", memory("Refunds need a second approval.", extra=FOUR_EYES)),
    ],
)
def test_a_title_has_no_colon_and_a_key_may_be_an_idiom(words: str, new: str) -> None:
    assert verdict_on(context_of(said(words)), {"project_new.md": new}, words).state == "accepted"


def test_numbers_of_a_title_are_joined_in_the_title_alone() -> None:
    words = "the night export runs at 03:00"
    new = memory("The export runs at 0300.", name="night-export")
    assert "0300" in verdict_on(context_of(said(words)), {"project_new.md": new}, words).reason
