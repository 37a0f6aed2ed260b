"""What a client without a memory of its own is given: the guide, and the index as clients load it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.memory.limits import MOST_BYTES, MOST_LINES
from memoryd.recall.context import LoadedIndex, context_of, index_of

if TYPE_CHECKING:
    from pathlib import Path

WARNING = "Only a part of the index was loaded"


def index(tmp_path: Path, text: str | bytes, most_characters: int = 0) -> LoadedIndex:
    (tmp_path / "MEMORY.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return index_of(str(tmp_path), most_characters)


def test_a_short_index_is_given_as_it_is(tmp_path: Path) -> None:
    assert index(tmp_path, "# Memory\n- [a](a.md) — b\n") == LoadedIndex("# Memory\n- [a](a.md) — b\n", is_cut=False)


@pytest.mark.parametrize("text", ["", "\n\n  \n"])
def test_an_empty_one_is_empty(tmp_path: Path, text: str) -> None:
    assert index(tmp_path, text) == LoadedIndex("", is_cut=False)


def test_too_many_lines_or_bytes_are_cut_with_a_word_about_it(tmp_path: Path) -> None:
    for text in (
        "".join(f"- line {number}\n" for number in range(MOST_LINES + 1)),
        "- é日本\n" * 190 + "é" * MOST_BYTES,
    ):
        found = index(tmp_path, text)
        assert found.is_cut
        assert WARNING in found.text
        assert "- line 200" not in found.text
        kept = found.text.partition("\n\n>")[0]
        assert text.startswith(kept)
        assert len(kept.encode()) <= MOST_BYTES


def test_a_client_that_takes_less_gets_whole_lines(tmp_path: Path) -> None:
    found = index(tmp_path, "- one\n- two\n- three\n", 14)
    assert found.is_cut
    assert found.text.startswith("- one\n- two\n\n>")


def test_what_is_no_file_is_empty_and_not_waited_for(tmp_path: Path) -> None:
    assert index_of(str(tmp_path / "none")) == LoadedIndex("", is_cut=False)
    os.mkfifo(tmp_path / "MEMORY.md")
    assert index_of(str(tmp_path)) == LoadedIndex("", is_cut=False)
    os.remove(tmp_path / "MEMORY.md")
    (tmp_path / "secret").write_text("words of somebody")
    (tmp_path / "MEMORY.md").symlink_to(tmp_path / "secret")
    assert index_of(str(tmp_path)) == LoadedIndex("", is_cut=False)


def test_the_guide_tells_the_types_what_to_save_and_how_to_doubt(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- [a](a.md) — b\n")
    text = context_of(str(tmp_path))
    for word in ("user:", "feedback:", "project:", "reference:", "git log", "Never save", "act as if there were none"):
        assert word in text
    assert f"`{tmp_path}`" in text
    assert text.endswith("## MEMORY.md\n- [a](a.md) — b")


def test_without_memories_it_says_so(tmp_path: Path) -> None:
    assert context_of(str(tmp_path)).endswith("There are no memories yet.")
    assert context_of("/a{b}/memory").count("/a{b}/memory") == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.integers(0, 50))
def test_any_bytes_give_text_that_can_be_written(tmp_path: Path, data: bytes, most: int) -> None:
    index(tmp_path, data, most).text.encode()
