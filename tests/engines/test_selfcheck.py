"""The self-check before a dream's change counts: nothing is lost, nothing is made up, and what is explained may pass."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.seeds import concatenated, seeds_of
from memoryd.engines.evidence import evidence_of
from memoryd.engines.selfcheck import Fate, fates_of, is_refused
from memoryd.model import Revision, Said, Shelved

if TYPE_CHECKING:
    from memoryd.model import Evidence, MemoryType

NOW = datetime(2026, 6, 20, 3, tzinfo=UTC).timestamp()
WRITTEN = datetime(2026, 6, 8, 12, tzinfo=UTC).timestamp()  # a Monday
LATER = datetime(2026, 6, 17, 12, tzinfo=UTC).timestamp()

KILN = Shelved(
    "project_kiln.md",
    "project",
    "Kiln 2 fires at 1240 °C, retries 3 times",
    "Kiln 2 fires at 1240 °C, held for 20 minutes. The client retries 3 times, waits 200 ms.\n\n"
    "**Why:** The glaze of Orsolya cracks below 1225 °C.\n\n"
    "**How to apply:** Set it in `kiln.toml`, never on the panel, except during a power cut.",
    written_at=WRITTEN,
)
LABELS = Shelved(
    "feedback_labels.md",
    "feedback",
    "Labels are printed before the ware is packed",
    "Print labels before the ware is packed, in German and Czech.\n\n**Why:** Two pallets went to Brno unlabelled.",
    written_at=WRITTEN,
)
OTHERS = [
    "Grenzwerte stehen nie im Code, nur in `werte.ods`. Tabellen sind ausgenommen.\n\n**Why:** Im März lief ein alter Wert mit.",
    "釉料只在周三配，不要隔夜。每批 25 公斤。\n\n**Why:** 去年有一批结块了。\n\n**How to apply:** 记在 `glaze.csv`，别用纸。",
    "Le four ne s'ouvre jamais au-dessus de 60 °C, sauf pour Benoît.\n\n**Why:** Un plat s'est fendu en 2025.",
    "窯の温度は1240度、20分保つ。湿った器は入れない。\n\n**Why:** 2025年に三枚割れた。",
]
MEMORIES = [KILN, LABELS, *(Shelved(f"m{at}.md", "project", "", body) for at, body in enumerate(OTHERS))]


def said(quote: str, at: float | None = LATER) -> Evidence:
    return evidence_of(Said("s", "m", at, quote), quote)


def updated(old: Shelved, *changes: tuple[str, str], quotes: tuple[Evidence, ...] = ()) -> list[Fate]:
    """What becomes of a memory when some of its words are told otherwise, everywhere."""
    description, body = old.description, old.body
    for before, after in changes:
        assert before in body
        description, body = description.replace(before, after), body.replace(before, after)
    revision = Revision("updated", "", (old.name,), old.type, "", description, body, quotes)
    return fates_of(revision, [old], NOW)


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda one: one.name)
def test_what_stays_or_is_put_together_has_no_fate(memory: Shelved) -> None:
    assert updated(memory) == []
    for other in MEMORIES:
        description, body = concatenated((memory.description, memory.body), (other.description, other.body))
        merged = Revision("merged", "", (memory.name, other.name), "project", "", description, body)
        assert fates_of(merged, [other, memory], NOW) == []


WORDS = "Never keep 3 of 200 files , ; . not 不 要 `a_b` before 2026-05-14 **Why:** Ilse today 今天 - except"
TEXTS = st.text(max_size=120) | st.lists(st.sampled_from([*WORDS.split(), "\n"]), max_size=20).map(" ".join)


@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, max_size=2), st.sampled_from([NOW, 0.0, 4e12]))
def test_texts_that_stay_whole_are_never_refused(texts: list[str], quotes: list[str], now: float) -> None:
    """Whatever they hold: each on lines of its own, in another order."""
    before = [Shelved(f"{at}.md", "project", "", text, written_at=WRITTEN) for at, text in enumerate(texts)]
    body = "\n\n".join(reversed(texts))
    evidence = tuple(said(one) for one in quotes)
    files = tuple(one.name for one in before)
    revision = Revision("merged", "", files, "project", "", "", body, evidence)
    if body.strip():
        assert not is_refused(fates_of(revision, before, now))
    fates_of(Revision("expired", "", files), before, now)


def test_seeded_losses_are_caught_and_hardly_one_slips_through() -> None:
    caught = []
    for number, memory in enumerate(MEMORIES):
        for turn in range(6):
            chance = random.Random(turn)
            stranger = MEMORIES[number - 1].body
            for kind, description, body in seeds_of(memory.description, memory.body, stranger, chance):
                revision = Revision("updated", "", (memory.name,), memory.type, "", description, body)
                caught.append((kind, is_refused(fates_of(revision, [memory], NOW))))
    assert len({kind for kind, _ in caught}) >= 12
    assert sum(found for _, found in caught) / len(caught) >= 0.97


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (("retries 3 times, waits 200 ms", "retries 200 times, waits 3 ms"), "The client retries 3 times, waits 200 ms."),
        ((", except during a power cut", ""), "Set it in `kiln.toml`, never on the panel, except during a power cut."),
        (("\n\n**Why:** The glaze of Orsolya cracks below 1225 °C.", ""), "The glaze of Orsolya cracks below 1225 °C."),
        ((", never on the panel", ", on the panel"), "Set it in `kiln.toml`, never on the panel, except during a power cut."),
        (("Orsolya", "Ottilie"), "The glaze of Orsolya cracks below 1225 °C."),
        (("below 1225", "above 1225"), "The glaze of Orsolya cracks below 1225 °C."),
        (("`kiln.toml`", "`oven.toml`"), "Set it in `kiln.toml`, never on the panel, except during a power cut."),
    ],
)  # fmt: skip
def test_a_fact_that_nobody_contradicted_is_lost(change: tuple[str, str], lost: str) -> None:
    for quotes in ((), (said("please paint the gate of the yard green"),)):
        assert Fate(lost, "lost") in updated(KILN, change, quotes=quotes)


def test_newer_words_may_replace_the_value_that_they_speak_of() -> None:
    quote = "kiln 2 fires at 1255 degrees from now on"
    fates = updated(KILN, ("1240", "1255"), quotes=(said(quote),))
    assert fates == [
        Fate("Kiln 2 fires at 1240 °C, retries 3 times", "contradicted", quote),
        Fate("Kiln 2 fires at 1240 °C, held for 20 minutes.", "contradicted", quote),
    ]
    assert is_refused(updated(KILN, ("1240", "1255"), ("20 minutes", "25 minutes"), quotes=(said(quote),)))
    assert is_refused(updated(KILN, ("1225", "1255"), quotes=(said(quote),)))  # another value in its stead
    without_reason = ("\n\n**Why:** The glaze of Orsolya cracks below 1225 °C.", "")
    assert is_refused(updated(KILN, ("1240", "1255"), without_reason, quotes=(said(quote),)))


@pytest.mark.parametrize(
    "evidence",
    [
        said("kiln 2 fires at 1255 degrees from now on", WRITTEN - 60),
        said("kiln 2 fires at 1240 degrees, doesn't it"),
        said("the door of kiln 2 squeaks"),
        said("room 1255 has a new key"),
    ],
    ids=["older than the memory", "nothing new", "only the same thing", "only the same number"],
)
def test_words_that_say_nothing_else_explain_nothing(evidence: Evidence) -> None:
    assert is_refused(updated(KILN, ("1240", "1255"), quotes=(evidence,)))


def test_words_of_unknown_time_count_where_they_are_given() -> None:
    assert not is_refused(updated(KILN, ("1240", "1255"), quotes=(said("kiln 2 fires at 1255 degrees now", None),)))


def test_a_statement_may_go_where_it_is_said_to_be_over() -> None:
    memory = Shelved("a.md", "feedback", "", "Labels need a stamp. Pallets are wrapped twice.", written_at=WRITTEN)
    quote = "labels no longer need a stamp"
    assert updated(memory, ("Labels need a stamp. ", ""), quotes=(said(quote),)) == [
        Fate("Labels need a stamp.", "contradicted", quote)
    ]
    assert is_refused(updated(memory, (" Pallets are wrapped twice.", ""), quotes=(said(quote),)))
    gone = Revision("updated", "", ("a.md",), evidence=(said(quote),))
    assert [(one.fate, one.statement) for one in fates_of(gone, [memory], NOW)] == [
        ("contradicted", "Labels need a stamp."),
        ("lost", "Pallets are wrapped twice."),
    ]


def test_a_day_told_as_its_date_is_the_same_statement() -> None:
    body = "The inspector comes tomorrow at 9:00. Firing resumes in two weeks."
    memory = Shelved("a.md", "project", "", body, written_at=WRITTEN)
    dated = ("tomorrow", "on 2026-06-09"), ("in two weeks", "on 2026-06-22")
    assert updated(memory, *dated) == []
    assert is_refused(updated(memory, ("tomorrow", "on 2026-06-10")))
    assert is_refused(updated(memory, (" tomorrow", "")))


def test_a_quote_tells_days_as_of_when_it_was_said() -> None:
    """And what moved by a week is the day that was written, a week later."""
    memory = Shelved("a.md", "project", "", "The fair opens on 2026-07-02.", written_at=WRITTEN)
    tomorrow, week = said("the fair opens tomorrow already"), said("the fair opens a week later than planned")
    assert not is_refused(updated(memory, ("2026-07-02", "2026-06-18"), quotes=(tomorrow,)))
    assert not is_refused(updated(memory, ("2026-07-02", "2026-07-09"), quotes=(week,)))
    assert is_refused(updated(memory, ("2026-07-02", "2026-07-10"), quotes=(week,)))


@pytest.mark.parametrize(
    "sentence",
    [
        "Every crate is weighed by the foreman.",
        "Kiln 2 holds 480 plates.",
        "The client waits on Zebulon.",
        "Labels are not printed before the ware is packed.",
    ],
    ids=["words", "number", "name", "negation"],
)
def test_what_nobody_said_is_invented(sentence: str) -> None:
    for memory in (KILN, LABELS):
        revision = Revision(
            "updated", "", (memory.name,), memory.type, "", memory.description, f"{memory.body} {sentence}"
        )
        assert sentence in [one.statement for one in fates_of(revision, [memory], NOW) if one.fate == "invented"]


def test_what_was_quoted_is_not_invented() -> None:
    quote = "two of the shelves in kiln 2 are cracked since yesterday, never load them"
    body = "2 of the shelves in kiln 2 are cracked since 2026-06-16, never load them."
    learnt = Revision("learnt", "", (), "project", "cracked-shelves", body, body, (said(quote),))
    assert fates_of(learnt, [], NOW) == []
    since = f"Since 2026-06-17: {body}"
    assert fates_of(learnt._replace(body=since), [], NOW) == []
    assert is_refused(fates_of(learnt._replace(body=body.replace("never ", "")), [], NOW)) is False  # told in part
    assert is_refused(fates_of(learnt._replace(body=body.replace("kiln 2", "kiln 5")), [], NOW))


def test_what_leaves_the_index_arrives() -> None:
    passage = "Glaze is ordered from Halvard & Roth, 40 kg at a time."
    moved = Revision("moved", "", (), "reference", "glaze", "Where glaze is ordered", passage, from_index=(passage,))
    assert fates_of(moved, [], NOW) == []
    shorter = moved._replace(body="Glaze is ordered from Halvard & Roth.")
    assert [one.fate for one in fates_of(shorter, [], NOW)] == ["lost"]


FAIR = (
    "The fair in Brno runs until 2026-06-12; no firing meanwhile.\n\n**Why:** The van is there.\n\n"
    "**How to apply:** Take orders on paper until then."
)


def expiry(body: str, kind: MemoryType = "project", description: str = "Fair in Brno until 2026-06-12") -> set[str]:
    memory = Shelved("a.md", kind, description, body, written_at=WRITTEN)
    return {one.fate for one in fates_of(Revision("expired", "", ("a.md",)), [memory], NOW)}


def test_a_project_that_has_ended_and_says_nothing_else_is_expired() -> None:
    assert expiry(FAIR) == {"expired"}
    assert expiry("The fair runs from 2026-06-10 to 2026-06-12.") == {"expired"}
    assert expiry("The inspector comes tomorrow.", description="Visit of the inspector") == {"lost"}, (
        "no day is written"
    )


@pytest.mark.parametrize(
    ("body", "kind", "description"),
    [
        (FAIR, "reference", "Fair in Brno until 2026-06-12"),
        (FAIR.replace("2026-06-12", "2026-06-25"), "project", "Fair in Brno"),
        (f"{FAIR} The stand is paid for until 2027.", "project", "Fair in Brno"),
        (f"{FAIR} Always count the crates twice.", "project", "Fair in Brno"),
        (f"{FAIR} The scale is off by 2 kg until somebody repairs it.", "project", "Fair in Brno"),
        ("The glaze was changed on 2026-06-01.", "project", "Glaze changed"),
        ("Since 2026-06-01 the kiln has a new door.", "project", "New door"),
        ("The van is in Brno.", "project", "Van in Brno"),
    ],
    ids=["type", "not yet", "later year", "rule", "open end", "has been", "since", "no date"],
)
def test_what_goes_on_is_not_expired(body: str, kind: MemoryType, description: str) -> None:
    assert expiry(body, kind, description) == {"lost"}


def test_only_the_lost_and_the_invented_refuse() -> None:
    assert not is_refused([])
    assert not is_refused([Fate("a", "contradicted", "b"), Fate("a", "expired", "2026-06-12")])
    assert is_refused([Fate("a", "contradicted", "b"), Fate("a", "lost")])
    assert is_refused([Fate("a", "invented", "a")])
