"""Searching sessions: no line that holds the words is passed over by the search in bytes."""

from __future__ import annotations

import json
import os
import unicodedata
from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.registry import ALL
from memoryd.sources.lines import line_blocks, whole_lines
from memoryd.transcripts.search import SearchWords, said_with
from tests.transcript import Session

if TYPE_CHECKING:
    from pathlib import Path

CLIENT = ALL[0]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)


@given(TEXTS, st.data(), st.booleans(), st.sampled_from(["NFC", "NFD"]), st.sampled_from([str, str.upper, str.lower]))
def test_every_line_with_the_words_is_found_however_it_is_written(
    text: str, data: st.DataObject, escaped: bool, form: Literal["NFC", "NFD"], spelt: type[str]
) -> None:
    words = data.draw(st.lists(st.sampled_from(text.split()), max_size=3)) if text.split() else []
    pieces = [word[data.draw(st.integers(0, len(word) - 1)) :] for word in words]
    searched = SearchWords(pieces)
    said = unicodedata.normalize(form, spelt(text))
    if not searched or searched.place_in(said) is None:  # in capitals some letters become two
        return
    line = json.dumps({"text": said}, ensure_ascii=escaped).encode("utf-8", "surrogatepass") + b"\n"
    assert list(searched.lines_in(b"\n" + line + b"\n")) == [line]


@given(st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), max_size=12), st.booleans())
def test_blocks_hold_the_lines(lines: list[bytes], is_ended: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if is_ended else b"")
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    blocks = b"".join(line_blocks(reader, longest_line_bytes=20))
    os.close(reader)
    assert blocks == data[: data.rfind(b"\n") + 1]


def test_a_line_that_is_too_long_is_passed_over_and_the_next_is_not(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"a\n" + b"x" * (5 << 20) + b"\nb\nhalf")
    with path.open("rb") as file:
        blocks = list(line_blocks(file.fileno(), longest_line_bytes=2 << 20))
        kept = [line.data for line in whole_lines(file.fileno(), 0, longest_line_bytes=2 << 20) if line.data]
    assert b"".join(blocks) == b"".join(kept) == b"a\nb\n"


@pytest.fixture
def session() -> Session:
    return Session()


def found(path: Path, *words: str) -> list[tuple[str, str]]:
    return [(said.who, said.text) for said in said_with(CLIENT, str(path), SearchWords(words))]


def test_words_of_both_are_found_and_nothing_that_a_tool_said(tmp_path: Path, session: Session) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        session.prompt("Deploy with Postgres 16, please")
        + session.call("t1")
        + session.result("t1", "postgres is installed")
        + session.bulk()
        + session.reply("PostgreSQL it is.")
        + session.prompt("postgres", isMeta=True)
    )
    assert found(path, "gres") == [("user", "Deploy with Postgres 16, please"), ("agent", "PostgreSQL it is.")]
    assert found(path, "gres", "DEPLOY") == [("user", "Deploy with Postgres 16, please")]
    assert found(path, "mysql") == []


def test_a_secret_is_neither_shown_nor_found_by_a_piece_of_it(tmp_path: Path, session: Session) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session.prompt("the token is ghp_abcdefghijklmnopqrstuvwxyz0123456789, use it"))
    assert found(path, "token") == [("user", "the token is [redacted: github token], use it")]
    assert found(path, "ghp_abcdef") == []


def test_a_very_long_message_is_shown_around_the_words(tmp_path: Path, session: Session) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session.prompt("word " * 40_000 + "needle" + " word" * 40_000))
    ((_, text),) = found(path, "needle")
    assert "needle" in text
    assert len(text) < 70_000


def test_a_session_that_opted_out_holds_nothing(tmp_path: Path, session: Session) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session.turn("use pnpm") + session.turn("DO NOT INDEX THIS CHAT"))
    assert found(path, "pnpm") == []
    assert found(tmp_path / "gone.jsonl", "pnpm") == []
