"""Only the same words are the same; an identifier is never rounded off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.language.same_words import is_repeated_in
from memoryd.language.tokens import words_of


def test_punctuation_and_case_are_no_words() -> None:
    assert words_of('Use "PNPM", (not npm)!') == ("use", "pnpm", "not", "npm")
    assert words_of("`.env`, --force and C++ or v1.2.") == (".env", "--force", "and", "c++", "or", "v1.2")


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("customer 4711", "customer 4712"),
        ("Christina", "Christian"),
        ("C", "C++"),
        ("force", "--force"),
        ("eu-west-1", "eu-west-2"),
        ("use tabs, not spaces", "use spaces, not tabs"),
    ],
)
def test_one_other_identifier_or_order_is_another_text(text: str, other: str) -> None:
    assert not is_repeated_in(text, other)
    assert not is_repeated_in(other, text)


def test_a_text_repeats_another_where_that_says_more() -> None:
    memory = "Use tabs.\n\n**Why:** Spaces broke the Makefile."
    assert is_repeated_in("use\n tabs", memory)
    assert not is_repeated_in("Use tabs. Never spaces.", memory)


@given(st.text())
def test_every_text_repeats_itself(text: str) -> None:
    assert is_repeated_in(text, text)
    assert is_repeated_in(text, text.replace(" ", "  "))
