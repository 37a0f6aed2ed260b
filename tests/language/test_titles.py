"""The title of a memory is the rule itself: a sentence up to a clause, without words that say nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.language.titles import LONGEST_SLUG, LONGEST_TITLE, slug_of, title_and_rest, title_of


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("pls use pnpm not npm", "Use pnpm not npm"),
        ("ok. and btw no emojis in commits", "No emojis in commits"),
        ("remember that the mirror is read only", "The mirror is read only"),
        ("from now on, use tabs", "Use tabs"),
        ("merk dir: beträge immer in cent, nie als float", "Beträge immer in cent, nie als float"),
        ("retiens que les montants sont en centimes", "Les montants sont en centimes"),
        ("记住金额一律用分", "金额一律用分"),
        ("覚えておいて、金額は整数で", "金額は整数で"),
        ("get_user() stays public", "get_user() stays public"),
        ("releases are cut by release-please here", "Releases are cut by release-please here"),
        (
            "heads up: the edge account moves on Monday (2026-11-23), the old one is deleted a week after that day",
            "The edge account moves on Monday (2026-11-23)",
        ),
        (
            "scan jobs only from the gateway host, never from a laptop, since our provider flagged us twice last spring",
            "Scan jobs only from the gateway host, never from a laptop",
        ),
        (
            "if somebody asks for the tide tables, the harbour office prints them every first Monday of a month",
            "If somebody asks for the tide tables, the harbour office…",
        ),
        (
            "Elsa est partie, pour les horaires du bac c'est Bruno qui répond et personne d'autre",
            "Elsa est partie, pour les horaires du bac c'est Bruno…",
        ),
        (
            "Never label crates by hand. The scanner cannot read it and the depot sends them back.",
            "Never label crates by hand",
        ),
        ("yes weigh them first, do that every time", "Weigh them first, do that every time"),
        ("覚えといて、料金は税込で", "料金は税込で"),
        (
            "the demo for the board is next Tuesday (2026-11-24), nothing risky goes out before that day",
            "The demo for the board is next Tuesday (2026-11-24)",
        ),
    ],
)
def test_a_title_is_the_rule_without_fillers(said: str, title: str) -> None:
    assert title_of(said) == title


def test_what_no_clause_is_short_enough_for_is_cut_at_a_word_that_leads_to_nothing() -> None:
    said = "deploys of the customer portal to the second cluster need a written approval of the platform team"
    assert title_of(said) == "Deploys of the customer portal to the second cluster…"
    assert title_and_rest(said) == (title_of(said), "…need a written approval of the platform team")


def test_the_rest_is_what_the_title_does_not_say() -> None:
    said = "Reviews stay under 400 changed lines; a larger one hid the rounding bug of June"
    assert title_and_rest(said) == ("Reviews stay under 400 changed lines", "a larger one hid the rounding bug of June")


def test_a_file_is_called_by_the_short_form_of_the_title() -> None:
    assert slug_of("Don't push to main") == "dont-push-to-main"
    assert slug_of("The demo is on Friday (2026-11-20)") == "the-demo-is-on-friday-2026-11-20"
    assert slug_of("…") == "note"


@given(st.text())
def test_any_text_has_a_title_that_fits(text: str) -> None:
    assert len(title_of(text)) <= LONGEST_TITLE
    assert slug_of(title_of(text))


def test_a_title_begins_behind_a_clause_that_only_approves() -> None:
    approved = "yes thats exactly how i want routes drawn, arrows first and then the names of the stops"
    assert title_and_rest(approved) == ("Arrows first and then the names of the stops", "")
    pointing = "love the tables in the weekly report of the depot, keep those in all reports"
    assert title_of(pointing).startswith("Love the tables")


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Use pnpm, not npm", "use-pnpm-not-npm"),
        ("Freeze until Friday (2026-11-20)", "freeze-until-friday-2026-11-20"),
        ("The demo for Siemens is on Monday (2026-11-23) now", "the-demo-for-siemens-is-on-monday"),
        ("Use pnpm not npm, the lockfile breaks otherwise and CI…", "use-pnpm-not-npm-the-lockfile-breaks"),
    ],
)
def test_a_file_is_called_by_the_short_form_of_its_title_without_half_a_date(title: str, slug: str) -> None:
    assert slug_of(title) == slug
    assert len(slug) <= LONGEST_SLUG
