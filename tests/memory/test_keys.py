"""The keys of a memory: what is one, where they stand, and that they never get in the way of what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memory.document import new_document, parse
from memoryd.memory.keys import LONGEST, MOST, bounded, joined, keys_in

if TYPE_CHECKING:
    from memoryd.memory.document import Document

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
KEYS = ("deploy window", "when may I release", "Wartungsfenster", "发布时间")


def made(*keys: str) -> Document:
    return new_document(
        name="a", description="b", kind="user", body="c", session_id="s", evidence="e", modified="2026", keys=keys
    )


def test_they_stand_in_one_line_behind_the_evidence() -> None:
    lines = made(*KEYS).text.splitlines()
    at = lines.index('  keys: "deploy window; when may I release; Wartungsfenster; 发布时间"')
    assert (lines[at - 1], lines[at + 1]) == ("  evidence: e", "  modified: 2026")
    assert made(*KEYS).keys == KEYS


def test_without_any_there_is_no_line() -> None:
    assert "keys" not in made().text
    assert "keys" not in made("", " \n", "x" * 81).text
    assert made().keys == ()


@pytest.mark.parametrize(
    ("frontmatter", "keys"),
    [
        ('metadata:\n  keys: "a b; c;d ;; A B"', ("a b", "c", "d")),
        ("metadata:\n  keys: [a b, c, 7, {x: y}, [z]]", ("a b", "c", "7")),
        ("metadata:\n  keys:\n    - a; b\n    - c", ("a", "b", "c")),
        ("metadata:\n  keys: |\n    one\n    two; three", ("one two", "three")),
        ("metadata:\n  keys: 部署；发布", ("部署", "发布")),  # noqa: RUF001 - as people type it there
        ("keys: a; b", ("a", "b")),
        ("keys: a\nmetadata:\n  keys: b", ("b",)),
        ("metadata:\n  keys: {a: b}", ()),
        ("metadata: keys", ()),
        ("type: user", ()),
    ],
)
def test_a_string_or_a_list_is_read(frontmatter: str, keys: tuple[str, ...]) -> None:
    assert parse(f"---\n{frontmatter}\n---\nbody\n".encode()).keys == keys


def test_too_many_and_too_long_ones_are_left_out() -> None:
    many = [f"key {number}" for number in range(100)]
    assert keys_in("; ".join(many)) == tuple(many[:MOST])
    assert keys_in(f"{'x' * LONGEST}; {'x' * (LONGEST + 1)}; y") == ("x" * LONGEST, "y")


@pytest.mark.parametrize("key", ["a\x00b", "\u202eabc", "https://a.b/c", "the [redacted: github token] one", "\ud800"])
def test_what_is_no_word_to_search_by_is_no_key(key: str) -> None:
    assert bounded(["deploy", key]) == ("deploy",)


def test_a_secret_is_no_key() -> None:
    assert joined(["deploy", TOKEN, f"the token {TOKEN}"]) == "deploy"
    assert TOKEN not in made("deploy", TOKEN).text


def test_setting_them_touches_nothing_else() -> None:
    data = (
        b'---\nname: a # mine\nother: [1]\nmetadata:\n  keys: "old; one"   # searched\n  modified: 2026\n---\n\nbody\n'
    )
    edited = parse(data).with_keys(("new", "two words"))
    assert edited.render() == data.replace(b'"old; one"', b'"new; two words"')


def test_what_cannot_be_set_is_left_as_it_is() -> None:
    """They are only a help: no memory fails for want of them."""
    for data in (b"no frontmatter\n", b"---\nmetadata: x\n---\nb\n", b"---\nmetadata:\n  keys: [a]\n---\nb\n"):
        assert parse(data).with_keys(KEYS).render() == data
    document = made(*KEYS)
    assert document.with_keys(()) is document
    assert document.with_keys(KEYS) is document


@given(st.lists(st.text(max_size=100), max_size=40))
def test_whatever_is_given_the_file_stays_a_memory_that_says_the_same(given_keys: list[str]) -> None:
    document = made(*given_keys)
    assert (document.problem, document.body, document.description) == (None, "c\n", "b")
    assert document.keys == keys_in(joined(given_keys))
    assert len(document.keys) <= MOST
    assert all(len(key) <= LONGEST and key.isprintable() for key in document.keys)
    assert parse(made().render()).with_keys(given_keys).keys == document.keys
