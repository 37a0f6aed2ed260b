"""What a memory forbids: certain by its words, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.language.forbidden import forbidden_spans
from memoryd.rules.forbidden import forbidden_in, read_patterns, written
from memoryd.rules.match import Forbidden


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("never run npm install here", "run npm install"),
        ("Never run `git push --force` on a shared branch.", "run git push --force"),
        ("Use pnpm, not npm", "run npm"),
        ("Use `rg` instead of `grep`", "run grep"),
        ("No sudo", "run sudo"),
        ("Do not edit CHANGELOG.md: a script does", "edit CHANGELOG.md"),
        ("Never edit files in `api/gen/` by hand", "edit api/gen/"),
        ("Ne lance jamais le serveur avec `npm start`", "run npm start"),
        ("Niemals `git push --force` benutzen", "run git push --force"),
        ("不要手动修改 `package-lock.json`", "edit package-lock.json"),
        ("Never run npm, never run npm install", "run npm"),
    ],
)
def test_what_is_forbidden_plainly(text: str, wanted: str) -> None:
    assert written(forbidden_in(text, text)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Never forget to run `make lint`",
        "Do not skip `make test`",
        "Run `terraform apply` only after the plan",
        "Keep every commit under 200 lines",
        "Do not push on Fridays",
        "Ask before you touch billing",
        "Leave `vendor/` alone",
        "Use `make test`",
    ],
)
def test_what_is_not_plain_forbids_nothing(text: str) -> None:
    assert forbidden_in(text, text) == ()


def test_a_reason_forbids_nothing() -> None:
    assert forbidden_in("Pin versions", "Pin versions.\n\n**Why:** never run `npm install` was ignored.\n") == ()


_PATTERNS = st.builds(
    Forbidden,
    st.sampled_from(["run", "edit"]),
    st.from_regex(r"[a-z][a-z/.-]{0,9}( [a-z-]{1,8}){0,2}", fullmatch=True),
)


@given(st.lists(_PATTERNS, min_size=1, max_size=4))
def test_what_is_written_is_read_again(patterns: list[Forbidden]) -> None:
    assert read_patterns(written(tuple(patterns))) == tuple(patterns)


@pytest.mark.parametrize("text", ["", "npm install", "run", "run ;", "forbid x", "run npm; ", "edit"])
def test_what_somebody_wrote_by_hand_and_cannot_be_understood_binds_nothing(text: str) -> None:
    assert read_patterns(text) is None


def test_what_many_negations_are_about_grows_with_the_text() -> None:
    """Each went to the end of the text: 16 kB took three seconds."""
    sizes = [sum(map(len, forbidden_spans("you must not run x " * number))) for number in (400, 800)]
    assert sizes[1] < 2.5 * sizes[0]
