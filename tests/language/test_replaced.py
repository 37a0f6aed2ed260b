"""A value is replaced by the user's own words alone; what merely looks alike stays."""

from __future__ import annotations

import pytest

from memoryd.language.replaced import Swap, says_again, swap_in, tells_anew


@pytest.mark.parametrize(
    ("said", "swap"),
    [
        ("use pnpm instead of yarn", Swap("yarn", "pnpm")),
        ("it is Thursday, not Tuesday", Swap("Tuesday", "Thursday")),
        ("pls use pnpm not npm", Swap("npm", "pnpm")),
        ("nimm pnpm statt npm", Swap("npm", "pnpm")),
        ("usa pnpm en vez de npm", Swap("npm", "pnpm")),
        ("utilise pnpm au lieu de npm", Swap("npm", "pnpm")),
        ("npmじゃなくてpnpm使って", Swap("npm", "pnpm")),
        ("we moved from travis to actions", Swap("travis", "actions")),
        ("this is not the one", None),
        ("why is it not there", None),
    ],
)
def test_an_old_and_a_new_value_that_are_named(said: str, swap: Swap | None) -> None:
    assert swap_in(said) == swap


def test_a_swap_is_of_whole_words_and_only_where_the_new_one_is_not_there() -> None:
    swap = Swap("npm", "pnpm")
    assert swap.applied_to("Run NPM ci, not pnpm-lock or npmrc") == "Run pnpm ci, not pnpm-lock or npmrc"
    assert swap.fits("run npm ci")
    assert not swap.fits("npm is out, use pnpm")
    assert not swap.fits("edit the npmrc")


@pytest.mark.parametrize(
    ("old", "new", "is_anew"),
    [
        ("the weekly sync is on Mondays", "the weekly sync is on Thursdays now", True),
        ("rate limit is 20 a minute", "rate limit is 50 a minute now", True),
        ("the weekly sync is on Mondays", "the weekly sync is on Thursdays", False),
        ("the retro is on Mondays", "the weekly sync with sales is on Thursdays now", False),
        ("customer 4711 pays in euros", "customer 4712 pays in euros", False),
        ("keep commits under 200 lines", "keep commits under 300 lines now", True),
        ("never deploy on Fridays", "the demo is on Fridays now", False),
        ("never push to main", "releases go to main now", False),
        ("never run migrations by hand", "never run seeds by hand any more", False),
        ("never push to main", "never push to develop any more", False),
    ],
)
def test_the_same_subject_told_anew_word_for_word(old: str, new: str, is_anew: bool) -> None:
    assert tells_anew(old, new) is is_anew


@pytest.mark.parametrize(
    ("old", "new", "is_again"),
    [
        ("pls use uv for the docs build", "use uv for the docs build, pip is slow", True),
        ("never test against the island routes", "never test against the fjord routes", False),
        ("page customer 4711 first", "page customer 4712 first", False),
        ("deploys go out on Tuesdays", "deploys go out on Thursdays now", False),
        ("keep commits small", "never log customer names", False),
        ("keep crates under 20 kg", "crates for the depot may weigh more than 20 kg", False),
        ("use uv for the docs build, pip is slow", "build the docs", False),
        ("never label the crates by hand", "label the crates by hand please", False),
    ],
)
def test_what_is_said_again_has_the_same_words_and_values(old: str, new: str, is_again: bool) -> None:
    assert says_again(old, new) is is_again
