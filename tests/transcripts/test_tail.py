"""One transcript from its cursor on, also when its writer does not only append."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.registry import ALL
from memoryd.model import Cursor
from memoryd.sources import lines
from memoryd.sources.lines import LONGEST_LINE_BYTES
from memoryd.sources.session import NotATranscriptError
from memoryd.transcripts.tail import has_head, read_new_turns
from tests.transcript import Session, id_of

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.model import Reading, Turn


def ids(reading: Reading) -> list[str]:
    return [turn.prompt_id for turn in reading.turns]


def read(path: Path, cursor: Cursor | None = None, last: tuple[Turn, ...] = ()) -> Reading:
    return read_new_turns(ALL[0], str(path), cursor or Cursor(), last)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def test_only_what_was_appended_is_read(path: Path) -> None:
    session = Session()
    path.write_bytes(session.turn() * 1)
    first = read(path)
    more = session.turn()
    with path.open("ab") as file:
        file.write(more)
    second = read(path, first.cursor, first.turns)
    assert ids(second) == [id_of(more)]
    assert second.cursor.offset == path.stat().st_size
    assert not second.rewritten


def test_a_half_line_waits_for_its_end(path: Path) -> None:
    session = Session()
    whole, half = session.turn(), session.prompt()
    path.write_bytes(whole + half[:-5])
    first = read(path)
    assert first.cursor.offset == len(whole)
    path.write_bytes(whole + half)
    assert ids(read(path, first.cursor)) == [id_of(half)]


def test_a_shorter_file_is_read_again(path: Path) -> None:
    session = Session()
    one, two = session.turn(), session.turn()
    path.write_bytes(one + two)
    first = read(path)
    path.write_bytes(one)
    second = read(path, first.cursor, first.turns)
    assert (second.rewritten, ids(second), second.cursor.offset) == (True, [id_of(one)], len(one))


def test_a_rewritten_tail_is_noticed_even_if_the_file_grew(path: Path) -> None:
    session = Session()
    one, two, three = session.turn(), session.turn(), session.turn("a longer one" * 100)
    path.write_bytes(one + two)
    first = read(path)
    path.write_bytes(one + three)
    assert ids(read(path, first.cursor, first.turns)) == [id_of(one), id_of(three)]


def test_a_rewritten_head_is_noticed(path: Path) -> None:
    """Further back than the tail that is looked at, and with the same size: only the head tells."""
    session, other = Session(), Session("other")
    rest = b"".join(session.turn() for _ in range(40))
    path.write_bytes(session.turn() + rest)
    first = read(path)
    head = other.turn()
    path.write_bytes(head + rest)
    second = read(path, first.cursor)
    assert second.rewritten
    assert ids(second)[0] == id_of(head)


def test_a_file_rewritten_while_it_is_read_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client shortens and rewrites the file just after the cursor was checked: nothing may be lost by it."""
    session = Session()
    begin = b"".join(session.turn() for _ in range(10))
    path.write_bytes(begin)
    first = read(path)
    appended = session.turn()
    new = b"".join(session.turn() for _ in range(12))

    def rewriting(descriptor: int, start: int) -> object:
        path.write_bytes(new)
        return lines.whole_lines(descriptor, start)

    path.write_bytes(begin + appended)
    with monkeypatch.context() as patch:
        patch.setattr("memoryd.sources.session.whole_lines", rewriting)
        second = read(path, first.cursor, first.turns)
    third = read(path, second.cursor, second.turns)
    expected = [id_of(turn) for turn in new.splitlines(keepends=True)[::2]]
    assert third.rewritten
    assert ids(third) == expected


def test_a_budget_stops_behind_a_line_and_the_next_pass_goes_on(path: Path) -> None:
    session = Session()
    turns = [session.turn() for _ in range(50)]
    path.write_bytes(b"".join(turns))
    seen: list[str] = []
    cursor, passes = Cursor(), 0
    last: tuple[Turn, ...] = ()
    while True:
        reading = read_new_turns(ALL[0], str(path), cursor, last, budget_bytes=1000)
        seen += [message_id for message_id in ids(reading) if message_id not in seen]
        cursor, last, passes = reading.cursor, reading.turns[-1:], passes + 1
        if reading.complete:
            break
    assert seen == [id_of(turn) for turn in turns]
    assert passes > 10


def test_a_fifo_in_the_place_of_a_transcript_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    done = threading.Event()

    def attempt() -> None:
        with pytest.raises(NotATranscriptError):
            read(path)
        done.set()

    threading.Thread(target=attempt, daemon=True).start()
    assert done.wait(60)


def test_a_symlink_is_not_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(Session().turn())
    path.symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic"):
        read(path)


def test_the_working_directories_are_collected_in_order(path: Path) -> None:
    session = Session()
    data = session.prompt()
    session.cwd = "/code/acme/sub"
    path.write_bytes(data + session.reply())
    assert read(path).cwds == ("/code/acme", "/code/acme/sub")


@pytest.mark.parametrize("mark", ["<memoryd-off>", "DO NOT INDEX THIS CHAT"])
def test_a_prompt_opts_the_session_out_and_a_tool_does_not(path: Path, mark: str) -> None:
    session = Session()
    path.write_bytes(session.prompt() + session.call("t") + session.result("t", mark) + session.reply(mark))
    assert not read(path).opted_out
    path.write_bytes(session.prompt(f"hello {mark}"))
    assert read(path).opted_out


def test_one_long_line_is_counted_and_the_rest_is_read(path: Path) -> None:
    session = Session()
    turn = session.turn()
    path.write_bytes(session.prompt("x" * (LONGEST_LINE_BYTES + 1)) + turn)
    reading = read(path)
    assert ids(reading) == [id_of(turn)]
    assert reading.damage == {"too_long": 1}


def test_a_moved_transcript_is_known_by_its_head(path: Path, tmp_path: Path) -> None:
    path.write_bytes(Session().turn())
    cursor = read(path).cursor
    other = tmp_path / "other.jsonl"
    other.write_bytes(Session("other").turn())
    assert has_head(ALL[0], str(path), cursor)
    assert not has_head(ALL[0], str(other), cursor)
    assert not has_head(ALL[0], str(tmp_path / "none"), cursor)
