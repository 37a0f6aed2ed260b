"""Characters that nobody sees are dropped; those that are spelling stay."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.security.invisible import without_invisible

NEVER = [
    *range(0xE0000, 0xE0080),  # tag characters
    *(*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C),  # direction
    *(0x200B, 0x2060, 0xFEFF, 0x00AD, 0x180E, *range(0x2061, 0x2065)),  # zero width
]


@pytest.mark.parametrize("around", ["use {}tabs", "{}", "é{}é", "می{}خواهم", "👩{}💻", "{0}{0}<b>{0}"])
def test_what_shows_nothing_is_dropped_wherever_it_stands(around: str) -> None:
    for code in NEVER:
        assert without_invisible(around.format(chr(code))) == around.replace("{0}", "{}").replace("{}", ""), hex(code)


@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"])
@pytest.mark.parametrize(
    "around", ["{}a", "a{}b", "<{}b>", "a {}", "é{}é", "я{}я", "你{}好", "{0}{0}", "1{}2", "\u200b{}a"]
)
def test_a_joiner_that_joins_nothing_is_dropped(around: str, joiner: str) -> None:
    assert without_invisible(around.format(joiner)) == around.replace("{0}", "{}").replace("{}", "").replace(
        "\u200b", ""
    )


def test_of_joiners_and_variants_in_a_row_the_first_stays() -> None:
    """A row of them shows nothing more, and can spell a text."""
    assert without_invisible("می" + "\u200c\u200d" * 8 + "خواهم") == "می\u200cخواهم"  # noqa: RUF001
    assert without_invisible("👍" + "".join(map(chr, range(0xE0100, 0xE0130)))) == "👍\U000e0100"
    assert without_invisible("👍\ufe0f\ufe0e\ufe00") == "👍\ufe0f"


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم همه\u200cچیز",  # noqa: RUF001 - Persian
        "क्\u200dष क्\u200cष",  # Hindi
        "അവന്\u200d വന്നു",  # Malayalam: the joiner ends the word
        "👩\u200d👩\u200d👧 👩🏽\u200d💻 🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥 🧑\u200d⚕\ufe0f",
        "葛\U000e0100城",  # a Japanese name with its own form of a letter
        "naïve café, 你好 → «да»\n\t\u00a0ok",
        "plain",
        "",
    ],
)
def test_spelling_stays_beside_what_is_dropped(text: str) -> None:
    assert without_invisible(f"\ufeff{text}\u202e") == text


def test_the_flag_of_a_region_becomes_a_black_flag() -> None:
    scotland = "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbsct") + "\U000e007f"
    assert without_invisible(f"a {scotland} b") == "a 🏴 b"


_ODD = st.text(st.sampled_from([*map(chr, NEVER), *"\u200c\u200d\ufe0f\U000e0100aé می👩क् <"]), max_size=20)


@given(st.text() | _ODD)
def test_once_is_enough_and_what_can_be_seen_stays(text: str) -> None:
    left = without_invisible(text)
    assert without_invisible(left) == left
    assert not set(left) & set(map(chr, NEVER))
    seen = [letter for letter in text if unicodedata.category(letter) not in ("Cf", "Mn", "Cn")]
    assert [letter for letter in left if unicodedata.category(letter) not in ("Cf", "Mn", "Cn")] == seen
