"""The campaigns can fail: each guard is broken in turn, and the short run notices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.language import quotations
from memoryd.language.sentences import sentences_of
from memoryd.paths import paths_from
from memoryd.recall import surface
from memoryd.review import doubts, meaning
from memoryd.security import by_name, by_position, joined_copy, nouns, redact, values
from tests.torture import test_handed_back, test_paths, test_poisoning, test_secrets
from tests.torture.campaign import SHORT_SEED, Campaign
from tests.torture.planted_text import IN_PROMPTS, SENTENCES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.jobs.workspace import Workspace


def nothing(*_: Any, **__: Any) -> tuple[()]:
    return ()


def no(*_: Any, **__: Any) -> bool:
    return False


def as_it_is(given: Any) -> Any:
    return given


def planted_words_are_heard(campaign: Campaign) -> None:
    """Of pasted texts that a mark gives away alone; the others are for the review."""
    for kind, make in IN_PROMPTS.items():
        if kind not in ("below a request", "pasted chat"):
            texts = [make(campaign.random, sentence) for sentence in SENTENCES * 3]
            heard = [text for text in texts if any(one in " ".join(sentences_of(text)) for one in SENTENCES)]
            campaign.tried("poisoning", kind, len(texts), heard)


NO_MATCH = re.compile(r"(?!)")
_PATHS = paths_from({"HOME": "/"})
GUARDS: dict[str, tuple[Any, str, Any, Callable[[Campaign], None]]] = {
    "no shape is known": (
        redact,
        "secrets_by_format",
        nothing,
        test_secrets.test_secrets_of_every_kind_are_redacted_in_every_place,
    ),
    "no name is known": (
        redact,
        "secrets_by_name",
        nothing,
        test_secrets.test_secrets_of_every_kind_are_redacted_in_every_place,
    ),
    "no place is known": (
        redact,
        "secrets_by_position",
        nothing,
        test_secrets.test_passphrases_seed_phrases_and_cookies_are_found,
    ),
    "no copy is searched": (
        redact,
        "joined_copies",
        nothing,
        test_secrets.test_secrets_of_every_kind_are_redacted_in_every_place,
    ),
    "invisible characters stay": (
        joined_copy,
        "_invisible_of",
        nothing,
        test_secrets.test_secrets_of_every_kind_are_redacted_in_every_place,
    ),
    "wrapped lines stay apart": (
        joined_copy,
        "_is_torn",
        no,
        test_secrets.test_secrets_of_every_kind_are_redacted_in_every_place,
    ),
    "torn values end at the line": (
        redact,
        "_is_one_value",
        no,
        test_secrets.test_secrets_of_every_kind_are_redacted_in_every_place,
    ),
    "brackets and next lines": (
        by_name,
        "apart",
        no,
        test_secrets.test_passwords_are_found_by_their_noun_in_many_languages,
    ),
    "table columns": (
        by_name,
        "in_column",
        nothing,
        test_secrets.test_passwords_are_found_by_their_noun_in_many_languages,
    ),
    "values before their noun": (
        by_name,
        "before_noun",
        lambda *_: None,
        test_secrets.test_passwords_are_found_by_their_noun_in_many_languages,
    ),
    "nouns with accents": (
        nouns,
        "_PLACES_WITH_ACCENTS",
        (),
        test_secrets.test_passwords_are_found_by_their_noun_in_many_languages,
    ),
    "cookies": (by_position, "_cookies", nothing, test_secrets.test_passphrases_seed_phrases_and_cookies_are_found),
    "passphrases": (by_name, "_is_passphrase", no, test_secrets.test_passphrases_seed_phrases_and_cookies_are_found),
    "every word is a secret": (
        by_name,
        "strength",
        lambda _: values.RANDOM,
        test_secrets.test_ordinary_texts_stay_as_they_are,
    ),
    "fences": (quotations, "_outside_of_fences", as_it_is, planted_words_are_heard),
    "elements": (quotations, "_without_tagged", as_it_is, planted_words_are_heard),
    "quotes": (quotations, "_outside_of_quotes", as_it_is, planted_words_are_heard),
    "mails": (quotations, "_before_mail", as_it_is, planted_words_are_heard),
    "rules": (quotations, "_outside_of_rules", as_it_is, planted_words_are_heard),
    "the mark around what is handed back": (
        surface,
        "_TAG",
        NO_MATCH,
        test_handed_back.test_hostile_text_in_notes_stays_inside_of_the_mark,
    ),
    "quotes around the team's words": (
        surface,
        "_shared_of",
        lambda memory, said, *_: surface.Piece(memory.name, f"### {memory.name}\n{said}\nend"),
        test_handed_back.test_hostile_text_of_a_team_is_quoted_and_named_as_somebody_elses,
    ),
    "elements of the review request": (
        meaning,
        "_escaped",
        as_it_is,
        test_handed_back.test_hostile_text_in_the_request_for_a_review_makes_no_element,
    ),
    "a relative home": (
        test_paths,
        "paths_from",
        lambda _: _PATHS,
        test_paths.test_a_hostile_home_is_refused_or_leads_where_it_says,
    ),
}


@pytest.mark.torture
@pytest.mark.parametrize("guard", GUARDS)
def test_a_broken_guard_is_noticed(guard: str, monkeypatch: pytest.MonkeyPatch, campaign: Campaign) -> None:
    module, name, broken, check = GUARDS[guard]
    with monkeypatch.context() as patched:
        patched.setattr(module, name, broken)
        unguarded = Campaign(SHORT_SEED, is_long=False, is_brief=True)
        check(unguarded)
    _count(campaign, guard, unguarded)


@pytest.mark.torture
def test_a_review_without_doubts_is_noticed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, campaign: Campaign
) -> None:
    monkeypatch.setattr(doubts, "is_pasted", no)
    unguarded = Campaign(SHORT_SEED, is_long=False)
    test_poisoning.test_planted_text_is_not_remembered("below a request", workspace, unguarded)
    _count(campaign, "doubts of the review", unguarded)


def _count(campaign: Campaign, guard: str, unguarded: Campaign) -> None:
    noticed = sum(count.through for count in unguarded.counts)
    failures = [] if noticed else [f"without {guard!r} nothing got through"]
    campaign.tried("guards broken on purpose", f"{guard}: {noticed} attacks got through, so it is noticed", 1, failures)
