"""A session retold: the words of both speakers, bounded, without secrets, and nothing else."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.registry import ALL
from memoryd.sources.session import NotATranscriptError
from memoryd.transcripts import digest as module
from memoryd.transcripts.digest import LINE_CHARACTERS, MOST_BYTES, digest_of
from tests.transcript import Session, write

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def lines_of(tmp_path: Path, session: Session, data: bytes) -> list[str]:
    told = digest_of(ALL[0], str(write(tmp_path, session, data)))
    assert told is not None
    return told.text.splitlines()


def test_a_message_is_a_line_with_its_time_and_speaker(tmp_path: Path) -> None:
    session = Session()
    data = session.prompt("look at\nthe  parser") + session.call("t") + session.result("t", "a tool's answer")
    data += session.reply("I looked.") + session.bulk() + session.turn("thanks")
    told = digest_of(ALL[0], str(write(tmp_path, session, data)))
    assert told is not None
    assert [re.sub(r"^2026-10-18 \d\d:\d\d ", "", line) for line in told.text.splitlines()] == [
        "user: look at the parser",
        "agent: I looked.",
        "user: thanks",
        "agent: I looked.",
    ]
    assert [(message.session_id, message.text, message.answer) for message in told.said] == [
        (session.id, "look at\nthe  parser", ""),
        (session.id, "thanks", "I looked."),
    ]
    assert told.cwd == "/code/acme"


def test_a_long_message_goes_on_in_the_next_line(tmp_path: Path) -> None:
    session = Session()
    words = " ".join(f"word{number}" for number in range(300))
    first, *others = lines_of(tmp_path, session, session.prompt(words))
    assert max(map(len, (first, *others))) <= LINE_CHARACTERS + 24
    assert all(line.startswith("user … ") for line in others)
    assert " ".join([first.partition("user: ")[2], *(line.removeprefix("user … ") for line in others)]) == words


@pytest.mark.parametrize("before", range(11_950, 12_010, 7))
def test_no_secret_is_told_not_even_where_a_cut_goes_through_it(tmp_path: Path, before: int) -> None:
    session = Session()
    words = f"{'x' * before} {TOKEN} {'y' * 40_000}"
    text = "\n".join(lines_of(tmp_path, session, session.prompt(words) + session.reply(words[before - 1_490 :])))
    assert "a1B2" not in text


def test_of_a_long_session_the_middle_is_left_out(tmp_path: Path) -> None:
    session = Session()
    data = b"".join(session.turn(f"part {number} " + "x " * 300) for number in range(1_000))
    told = digest_of(ALL[0], str(write(tmp_path, session, data)))
    assert told is not None
    assert MOST_BYTES * 0.95 < len(told.text.encode()) <= MOST_BYTES + 100
    assert "part 0 " in told.text
    assert "part 999 " in told.text
    assert "part 400 " not in told.text
    assert len(re.findall(r"^\[\d+ lines are left out here\]$", told.text, re.MULTILINE)) == 1
    assert len(told.said) == 1_000


def test_of_a_transcript_without_end_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    data = b"".join(session.turn(f"part {number}") for number in range(100))
    monkeypatch.setattr(module, "_READ_BYTES", len(data) // 4)
    lines = lines_of(tmp_path, session, data)
    assert 40 < len(lines) < 51
    assert lines[-2].endswith("user: part 99")


@pytest.mark.parametrize("marker", ["<memoryd-off>", "please: DO NOT INDEX THIS CHAT"])
def test_a_session_whose_user_wants_it_left_out_is(tmp_path: Path, marker: str) -> None:
    session = Session()
    assert digest_of(ALL[0], str(write(tmp_path, session, session.turn("a") + session.turn(marker)))) is None


def test_what_is_no_transcript_is_not_read(tmp_path: Path) -> None:
    target = write(tmp_path, Session(), b"")
    assert digest_of(ALL[0], str(target)) == ("", (), "")
    os.symlink(target, tmp_path / "link")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="symbolic"):
        digest_of(ALL[0], str(tmp_path / "link"))
    with pytest.raises(NotATranscriptError):
        digest_of(ALL[0], str(tmp_path / "fifo"))


def test_damage_is_passed_over(tmp_path: Path) -> None:
    session = Session()
    data = b"\0\0{broken\n" + session.turn("one") + b'{"type":"user"\n' + b"\xff\xfe\n" + session.turn("two")
    assert [line.rpartition(": ")[2] for line in lines_of(tmp_path, session, data)] == [
        "one",
        "I looked.",
        "two",
        "I looked.",
    ]
