"""Consolidation by rules of form: what is told twice becomes one, what has ended goes, days get dates, the index is freed.

Nothing may be lost or touched that is to stay, so most of these tests are about what does not happen.
"""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import copy
import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.engines.offline.dream import consolidate, dating, expiry, index_content, merging
from memoryd.engines.offline.dream.draft import Draft
from memoryd.language.parts import Parts, body_of, parts_of, passages_of, united
from memoryd.language.tokens import words_of
from memoryd.model import StoredMemory, UserMessage

if TYPE_CHECKING:
    from memoryd.memory_types import MemoryType

NOW = time.mktime((2026, 10, 20, 12, 0, 0, 0, 0, -1))  # noon where the test runs
WRITTEN = time.mktime((2026, 10, 14, 12, 0, 0, 0, 0, -1))  # a Wednesday


def memory(
    name: str, description: str, fact: str, why: str = "", how: str = "", *, kind: MemoryType = "feedback"
) -> Draft:
    return Draft((f"{kind}_{name}.md",), kind, description, body_of(Parts(fact, why, how)), WRITTEN)


def commits() -> list[Draft]:
    """Two that say the same."""
    return [
        memory(
            "commit_language",
            "Commit messages are in English",
            "Write the commit messages in English, in the imperative.",
            "Half of the team in Porto does not read German.",
        ),
        memory(
            "english_commits",
            "English for commits",
            "in English: write commit messages, in the imperative",
            "The colleagues in Porto know no German.",
            "Leave the old ones as they are.",
        ),
    ]


# --- merging ----------------------------------------------------------------------------------------------------------


def test_two_that_say_the_same_become_one_that_says_all() -> None:
    first, second = drafts = commits()
    told = [passages_of(part) for draft in (first, second) for part in parts_of(draft.body)[1:]]

    lines = list(merging.join(drafts))

    assert lines == ["Merging two english commits notes"]
    (one,) = drafts
    assert one.files == ("feedback_english_commits.md", "feedback_commit_language.md")
    assert one.reason == "merged"
    assert all(statement in one.body for statements in told for statement in statements)
    assert one.body.count("**Why:**") == one.body.count("**How to apply:**") == 1
    assert one.description == "English for commits; Commit messages are in English"


@pytest.mark.parametrize(
    "drafts",
    [
        pytest.param(
            [
                memory("a", "Quotes to shops are valid 14 days", "A quote to a shop is valid for 14 days.", "Rule of the board."),
                memory("b", "Quotes to chains are valid 30 days", "A quote to a chain is valid for 30 days.", "Rule of the board."),
            ],
            id="another number for another group",
        ),
        pytest.param(
            [
                memory("a", "Nightly jobs retry", "Nightly jobs are retried after an error.", "The queue hangs at night."),
                memory("b", "Payment jobs never retry", "Payment jobs are never retried after an error.", "The queue hangs; one was paid twice."),
            ],
            id="a negation",
        ),
        pytest.param(
            [
                memory("a", "Staging metrics", "Metrics of staging: charts.acme.example/d/9, variable `stage`.", kind="reference"),
                memory("b", "Production metrics", "Metrics of production: charts.acme.example/d/9, variable `prod`.", kind="reference"),
            ],
            id="opposites at one address",
        ),
        pytest.param(
            [
                memory("a", "No deploys on Fridays", "Never deploy on a Friday.", "The outage in March took the weekend."),
                memory("b", "Smoke test before a deploy", "Run the smoke test before a deploy.", "The outage in March would have shown."),
            ],
            id="two rules from one accident",
        ),
        pytest.param(
            [
                memory("a", "The stock moves on 2026-05-01", "The stock moves to hall 4 on 2026-05-01.", "Rent.", kind="project"),
                memory("b", "The stock moves on 2026-06-01", "The stock moves to hall 4 on 2026-06-01.", "Rent.", kind="project"),
            ],
            id="two dates",
        ),
        pytest.param(
            [
                memory("a", "Im Lager gilt Sommerzeit", "Im Lager Graz zählt die Stechuhr in Sommerzeit.", "Beschluss vom Mai."),
                memory("b", "In der Zentrale gilt UTC", "In der Zentrale zählt die Stechuhr in UTC.", "Beschluss vom Mai."),
            ],
            id="another place",
        ),
        pytest.param(
            [
                memory("a", "手机端图片压缩", "手机端的图片压缩到 80%。", "流量贵，三月投诉多。"),
                memory("b", "桌面端图片不压缩", "桌面端的图片不压缩。", "设计师三月投诉。"),
            ],
            id="another device, without spaces",
        ),
    ],
)  # fmt: skip
def test_two_that_only_look_alike_both_stay(drafts: list[Draft]) -> None:
    before = copy.deepcopy(drafts)
    assert list(merging.join(drafts)) == []
    assert drafts == before


@pytest.mark.parametrize(
    ("fact", "other", "is_one"),
    [
        ("Use pnpm here.", "use PNPM here", True),
        ("The deploys are on Tuesday.", "Deploys are on Tuesday!", True),
        ("Before a commit, run the linter.", "Run the linter before a commit.", True),
        ("Ask Dana. Never ask Tom.", "Never ask Tom. Ask Dana.", True),
        ("Use tabs, not spaces.", "Use spaces, not tabs.", False),
        ("Prefer tabs over spaces.", "Prefer spaces over tabs.", False),
        ("Lint before the commit.", "Commit before the lint.", False),
        ("Use the C bindings.", "Use the C++ bindings.", False),
        ("Copy it from A to B.", "Copy it from B to A.", False),
        ("Ask Dana.", "Ask Dana. Never ask Tom.", False),
    ],
)
def test_case_punctuation_order_and_function_words_make_no_other_memory(fact: str, other: str, *, is_one: bool) -> None:
    drafts = [memory("a", "It", fact), memory("b", "It", other)]
    list(merging.join(drafts))
    assert len(drafts) == (1 if is_one else 2)


def test_a_description_that_finds_no_room_goes_into_the_text() -> None:
    first, second = drafts = commits()
    first.description = "English for commits, their bodies, the names of tags and branches, comments on reviews, all of it because of Porto"
    second.description = (
        "Whoever writes a message into the log does so in a language that everybody here reads, also on Sundays"
    )
    list(merging.join(drafts))
    (one,) = drafts
    assert one.description == second.description
    assert parts_of(one.body).fact.endswith(first.description + ".")


def test_a_pinned_one_is_neither_target_nor_source() -> None:
    drafts = commits()
    drafts[0].is_fixed = True
    before = copy.deepcopy(drafts)
    assert list(merging.join(drafts)) == []
    assert drafts == before


_SENTENCE = st.lists(
    st.sampled_from("the lamp never burns at 40 °C in `hall.toml` e.g. on Mondays não 灯 z.B. 3. Mai".split(" ")),  # noqa: SIM905
    min_size=1,
    max_size=7,
).map(lambda words: " ".join(words).capitalize() + ".")
_TEXT = st.lists(_SENTENCE, max_size=4).flatmap(
    lambda ones: st.sampled_from((" ", "\n", "\n- ")).map(lambda by: by.join(ones))
)


@given(_TEXT, _TEXT)
def test_uniting_two_texts_loses_no_statement(text: str, other: str) -> None:
    whole = {words_of(one) for one in passages_of(united(text, other))}
    for statement in passages_of(text) + passages_of(other):
        assert words_of(statement) in whole


@given(st.lists(st.tuples(_TEXT, _TEXT, st.text("abc 12", max_size=100)), min_size=2, max_size=4))
def test_no_word_is_lost_in_a_merge(texts: list[tuple[str, str, str]]) -> None:
    """All say the same fact, so all are merged; reasons, ways and descriptions differ."""
    fact = "Letters to the harbour office are printed on blue paper."
    drafts = [memory(f"m{number}", end, fact, why, how) for number, (why, how, end) in enumerate(texts)]
    for draft in drafts:
        draft.description = f"Harbour letters on blue paper {draft.description}".strip()
    words = set(re.findall(r"\w+", " ".join(f"{draft.description} {draft.body}" for draft in drafts).casefold()))
    list(merging.join(drafts))
    told = " ".join(f"{draft.description} {draft.body}" for draft in drafts).casefold()
    assert words <= set(re.findall(r"\w+", told))


# --- expiry -----------------------------------------------------------------------------------------------------------


def project(description: str, fact: str, why: str = "", how: str = "") -> Draft:
    return memory("it", description, fact, why, how, kind="project")


@pytest.mark.parametrize(
    "draft",
    [
        project("Car park closed until 2026-08-01", "The car park is closed until 2026-08-01.", "New tar.", "Visitors park in the yard."),
        project("Freeze 2026-09-01 to 2026-09-10", "No releases from 2026-09-01 to 2026-09-10.", "Trade fair.", "Hotfixes only with Ida's yes."),
        project("Concert on 2026-05-09", "Concert in the yard on 2026-05-09. Branch `lights` is locked until then.", "The mayor comes."),
        project("Gala on 2026-05-09", "The gala concert in the yard is on 2026-05-09.", "The mayor comes."),
        project("Boats on 2026-05-09", "The regatta is on 2026-05-09.", "Club."),
        project("Accounts of the guests, delete on 2026-02-01", "Accounts of the guests, to be deleted on 2026-02-01.", "Summer school."),
        project("Umleitung bis 30. Juni 2026", "Die Umleitung über Hof 3 gilt bis zum 30. Juni 2026.", "Kanalbau.", "Schilder bleiben bis dahin."),
        project("Nave cerrada hasta el 2026-05-01", "La nave 2 está cerrada hasta el 2026-05-01.", "Obras.", "Descargar fuera hasta entonces."),
        project("Salle fermée jusqu'au 2026-05-01", "La salle B est fermée jusqu'au 2026-05-01.", "Travaux."),
        project("东门封闭到 2026-05-01", "东门封闭，到 2026-05-01 为止。", "修路。", "期间走西门。"),
        project("北門は2026年5月1日まで閉鎖", "北門は2026年5月1日まで閉鎖。", "工事。"),
    ],
    ids=lambda draft: draft.description,
)  # fmt: skip
def test_what_has_ended_and_says_nothing_else_is_archived(draft: Draft) -> None:
    assert list(expiry.archive([draft], NOW)) == ["Archiving the it"]
    assert draft.is_archived
    assert draft.reason == "expired"


@pytest.mark.parametrize(
    "draft",
    [
        project("Closed until 2026-12-01", "The car park is closed until 2026-12-01."),
        project("Closed until 2026-10-19", "The car park is closed until 2026-10-19."),
        project("Rented lift until 2026-08-01", "The lift is rented until 2026-08-01.", "", "Loads of at most 300 kg, with our own lift too."),
        project("Export to Numo until 2026-08-01", "Both exports until 2026-08-01.", "", "Numo wants UTF-8 without BOM."),
        project("Move on 2026-08-01", "The shop moves to the new till on 2026-08-01.", "Age.", "Two tills until then."),
        project("Kept from 2026-01-01", "Receipts are kept for ten years from 2026-01-01."),
        project("Boats from Ida on 2026-04-01", "Boats were bought from Ida on 2026-04-01. Regatta on 2026-05-09."),
        project("Ida since 2026-01-01", "Since 2026-01-01 Ida owns the till."),
        project("Trial until 2026-08-01", "The trial of pump 3 ran until 2026-08-01. It leaks when warm."),
        project("Trial until 2026-08-01", "The trial of pump 3 ran until 2026-08-01; it leaks when warm."),
        project("Ida leads until 2026-08-01", "Ida leads the team until 2026-08-01, then Bo."),
        project("Closed until 2026-08-01", "Closed until 2026-08-01.", "", "The key is with the porter since 2026-08-02."),
        project("Fair on 2026-08-01", "The fair was on 2026-08-01, the next one is in 2027."),
        memory("it", "Closed until 2026-08-01", "The car park is closed until 2026-08-01."),
        memory("it", "Closed until 2026-08-01", "The car park is closed until 2026-08-01.", kind="reference"),
    ],
    ids=lambda draft: draft.body.strip(),
)  # fmt: skip
def test_what_may_still_hold_stays(draft: Draft) -> None:
    assert list(expiry.archive([draft], NOW)) == []
    assert not draft.is_archived


def test_what_was_said_to_go_on_is_not_archived() -> None:
    draft = project("Detour until 2026-09-30", "Detour through the yard until 2026-09-30.", "Works.")
    longer = UserMessage("s", "m", NOW, "they dig slowly, the detour is needed longer than planned")
    supposed = UserMessage("s", "m", NOW, "if the detour was extended, who would tell us?")
    assert list(expiry.archive([copy.deepcopy(draft)], NOW, [longer])) == []
    assert list(expiry.archive([draft], NOW, [supposed])) != []


@pytest.mark.parametrize("change", [{"is_fixed": True}, {"reason": "updated"}, {"reason": "merged"}, {"files": ()}])
def test_what_was_just_changed_or_is_pinned_is_not_archived(change: dict[str, object]) -> None:
    draft = project("Closed until 2026-08-01", "The car park is closed until 2026-08-01.")
    for name, value in change.items():
        setattr(draft, name, value)
    assert list(expiry.archive([draft], NOW)) == []


# --- dates ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The pump was swapped yesterday.", "The pump was swapped on 2026-10-13."),
        ("The lift is tested next Thursday, at noon.", "The lift is tested on Thursday, 2026-10-22, at noon."),
        ("The mast came down last Friday.", "The mast came down on Friday, 2026-10-09."),
        ("Frozen until next Friday, reports on Friday.", "Frozen until Friday, 2026-10-23, reports on Friday."),
        ("The audit begins two weeks from today.", "The audit begins on 2026-10-28."),
        ("Tomorrow the racks move.", "On 2026-10-15 the racks move."),
        ("Ida is away next week.", "Ida is away next week (2026-10-19 - 2026-10-25)."),
        ("The pump is rebuilt until the end of next month.", "The pump is rebuilt until 2026-11-30."),
        ("Die Halle ist bis Ende dieser Woche zu.", "Die Halle ist bis 2026-10-16 zu."),
        ("Die Wartung beginnt übermorgen.", "Die Wartung beginnt am 2026-10-16."),
        ("La auditoría empieza dentro de dos semanas.", "La auditoría empieza el 2026-10-28."),
        ("Le serveur est tombé hier.", "Le serveur est tombé le 2026-10-13."),
        ("下周一停电。", "2026-10-19停电。"),
        ("来週の木曜日に移行する。", "2026-10-22に移行する。"),
    ],
)  # fmt: skip
def test_a_relative_day_gets_the_date_that_it_had_when_it_was_written(said: str, told: str) -> None:
    draft = project(said.rstrip(".。"), said)
    assert list(dating.resolve([draft])) == ["Dating the it"]
    assert draft.body == told + "\n"
    assert draft.description == told.rstrip(".。")


@pytest.mark.parametrize(
    "said",
    [
        "The report shows yesterday's values.",
        "The plan for tomorrow is sent at 18:00.",
        "If a run fails, it is done again tomorrow.",
        "Every order of Tuesday comes next week.",
        "Orders by Tuesday for the next week.",
        "Public nights on Saturday.",
        "Invoices are paid in 30 days.",
        "Invoices go out at the end of the month.",
        "The recess from 24 to 31 December does not count.",
        "The service runs on two hosts today.",
        "到期 3 天前发提醒。",
    ],
)
def test_a_day_that_is_meant_anew_every_time_stays(said: str) -> None:
    draft = project("It", said)
    assert list(dating.resolve([draft])) == []
    assert draft.body == said + "\n"


def test_rules_and_memories_of_unknown_age_are_not_dated() -> None:
    rule = memory("it", "It", "The pump was swapped yesterday.")
    undated = project("It", "The pump was swapped yesterday.")
    undated.written_at = 0.0
    assert list(dating.resolve([rule, undated])) == []


@given(st.text("yesterday next Friday 2026-10-15 下周一 in two weeks .,\n'", max_size=80))
def test_dating_changes_nothing_but_phrases(text: str) -> None:
    """Also of odd texts: what is not a word of a date stands there as before."""
    draft = project("It", text)
    before = draft.body
    list(dating.resolve([draft]))
    assert not Counter(re.findall(r"[.\n]", before)) - Counter(re.findall(r"[.\n]", draft.body))


# --- the index --------------------------------------------------------------------------------------------------------

INDEX = """# Bakery

People first, please keep it so.

Ida runs the bakery in Odde and reads everything on a phone. She calls the big oven "the dragon".

- [Flour](reference_flour.md) — price list

## Night shift

The dough is mixed at 22:30 and never later, since the bread was late in May.

- Doors are locked at 23:00, the code is changed by Bo.
- Lamps in hall 2 stay on all night.

## Orders

Orders are taken until 21:00 by phone only; Bo writes them into the blue book.

- [Till](project_till.md) — daily file
"""


def test_what_somebody_wrote_into_the_index_becomes_memories() -> None:
    drafts: list[Draft] = []
    lines = list(index_content.move(drafts, INDEX))

    assert lines[1:] == ["Moving out night shift", "Moving out orders"]
    ida, night, orders = drafts
    assert ida.type == "user"
    assert (
        ida.body
        == 'Ida runs the bakery in Odde and reads everything on a phone. She calls the big oven "the dragon".\n'
    )
    assert night.title == "night-shift"
    assert "22:30" in night.body
    assert "Lamps in hall 2" in night.body
    assert orders.title == "orders"
    assert all(draft.files == () and draft.reason == "moved" and len(draft.description) <= 160 for draft in drafts)
    left = INDEX
    for passage in (passage for draft in drafts for passage in draft.from_index):
        left = left.replace(passage, "", 1)
    assert left == (
        "# Bakery\n\nPeople first, please keep it so.\n\n- [Flour](reference_flour.md) — price list\n\n"
        "## Orders\n\n- [Till](project_till.md) — daily file\n"
    )


@pytest.mark.parametrize(
    "index",
    [
        "",
        "# Title\n",
        "# Title\n\nPlease leave the order as it is.\n\n## people\n- [Ida](user_ida.md) — baker\n",
        "<!-- sorted by hand, people before ovens before everything else that we have here -->\n- [Ida](user_ida.md) — baker\n",
        "- [Ida](user_ida.md) — " + "a very long hook that says a lot " * 9 + "\n",
        "- [Ida](user_ida.md) — baker\n  who is also the one that opens the shop at six in the morning every day\n",
        "## only\n## headings\n",
        "This file is made by hand and by machine, so do not be surprised if there is more in it than you have put there.\n",
        "```\nnever edit the lines of this example, there are 12 of them in here for a reason\n```\n",
    ],
)
def test_titles_entries_and_notes_about_the_index_stay(index: str) -> None:
    drafts: list[Draft] = []
    assert list(index_content.move(drafts, index)) == []
    assert drafts == []


_LINES = (
    *("# Shop\n", "## Rules\n", "\n", "\r\n", "- [Ida](user_ida.md) — baker\n", "short\n", "```\n", "  indented, and more of it\n"),
    "Doors are never left open after 23:00 in hall 2.\n",
    "- Lamps stay on in hall 2, never off.\n",
    "The dough is mixed at 22:30 and never later, because the bread was late in May and nobody liked that at all.\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(_LINES), max_size=14), st.booleans())
def test_every_word_of_the_index_is_still_somewhere(lines: list[str], is_cut: bool) -> None:
    index = "".join(lines)[: -1 if is_cut else None]
    drafts: list[Draft] = []
    list(index_content.move(drafts, index))
    left = index
    for passage in (passage for draft in drafts for passage in draft.from_index):
        assert passage in left
        left = left.replace(passage, "", 1)
    told = "\n".join([left, *(f"{draft.title} {draft.body}" for draft in drafts)])
    assert set(re.findall(r"\w+", index.lower())) <= set(re.findall(r"\w+", told.lower()))


# --- all of it --------------------------------------------------------------------------------------------------------


def shelved(draft: Draft, *, is_fixed: bool = False) -> StoredMemory:
    return StoredMemory(
        draft.files[0], draft.type, draft.description, draft.body, written_at=WRITTEN, is_fixed=is_fixed
    )


def test_no_memories_and_no_index_are_no_work() -> None:
    assert consolidate([], "", [], (), NOW).revisions == ()


def test_nothing_pinned_is_ever_touched() -> None:
    drafts = [
        *commits(),
        memory("yard", "Closed until 2026-08-01", "The yard is closed until 2026-08-01.", kind="project"),
        memory("pump", "Swapped yesterday", "The pump was swapped yesterday.", kind="project"),
    ]
    assert consolidate([shelved(draft, is_fixed=True) for draft in drafts], "", [], (), NOW).revisions == ()
    reasons = {one.reason for one in consolidate([shelved(draft) for draft in drafts], "", [], (), NOW).revisions}
    assert reasons == {"merged", "expired", "dated"}


def test_a_second_dream_finds_nothing_to_do() -> None:
    drafts = [*commits(), memory("pump", "Swapped yesterday", "The pump was swapped yesterday.", kind="project")]
    revisions = consolidate([shelved(draft) for draft in drafts], "", [], (), NOW).revisions
    after = [StoredMemory(one.files[0], one.type, one.description, one.body, written_at=NOW) for one in revisions]
    assert len(after) == 2
    assert consolidate(after, "", [], (), NOW).revisions == ()
