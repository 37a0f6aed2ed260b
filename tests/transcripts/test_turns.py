"""Entries to turns: where they begin, what belongs to them, when they have ended."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.claude_code.entries import entries_of
from memoryd.model import Turn
from memoryd.transcripts.turns import TurnFold, end_by_time
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Callable


def fold(data: bytes, last: tuple[Turn, ...] = (), start: int = 0) -> tuple[Turn, ...]:
    folding = TurnFold(last)
    position = start
    for line in data.splitlines(keepends=True):
        for entry in entries_of(line.rstrip(b"\n"), Counter()):
            folding.feed(position, position + len(line), entry)
        position += len(line)
    return folding.turns()


def ends(data: bytes) -> list[str | None]:
    return [turn.end_reason for turn in fold(data)]


def test_end_turn_ends_a_turn() -> None:
    session = Session()
    data = session.prompt() + session.call("t") + session.result("t") + session.reply()
    (turn,) = fold(data)
    assert (turn.start, turn.end, turn.end_reason) == (0, len(data), "end_turn")


def test_an_open_tool_call_keeps_a_turn_open() -> None:
    session = Session()
    (turn,) = fold(session.prompt() + session.reply("Let me look.", stop_reason="tool_use") + session.call("t"))
    assert (turn.end_reason, turn.pending_calls, turn.answered) == (None, ("t",), False)


def test_text_that_announces_a_call_is_no_answer() -> None:
    session = Session()
    (turn,) = fold(session.prompt() + session.reply("Let me look.", stop_reason="tool_use"))
    assert (turn.end_reason, turn.answered) == (None, False)


def test_a_result_without_an_answer_keeps_a_turn_open() -> None:
    session = Session()
    (turn,) = fold(session.prompt() + session.call("t") + session.result("t"))
    assert (turn.end_reason, turn.pending_calls, turn.answered) == (None, (), False)


def test_the_next_prompt_ends_a_turn_without_a_stop_mark() -> None:
    session = Session()
    data = session.prompt() + session.reply(stop_reason=None) + session.prompt()
    assert ends(data) == ["next_prompt", None]


def test_an_interrupt_ends_a_turn() -> None:
    session = Session()
    assert ends(session.prompt() + session.reply(stop_reason=None) + session.interrupt()) == ["interrupted"]


def test_two_terminals_in_one_file_do_not_end_each_others_turns() -> None:
    """The first turn waits for its tool while a second prompt arrives; its result ends it."""
    one, two = Session("one"), Session("two")
    begin = one.prompt("first") + one.call("t") + two.prompt("second")
    assert ends(begin) == [None, None]
    assert ends(begin + one.result("t")) == ["next_prompt", None]


def test_what_follows_the_end_still_belongs_to_the_turn() -> None:
    """A stop hook makes the assistant go on: the turn grows and does not end twice."""
    session = Session()
    data = session.prompt() + session.reply() + session.reply("All done, again.")
    (turn,) = fold(data)
    assert (turn.end, turn.end_reason) == (len(data), "end_turn")


def test_an_answer_before_any_prompt_is_nobodys() -> None:
    session = Session()
    assert fold(session.reply() + session.result("t")) == ()


def test_history_is_what_stood_whole_at_first_sight() -> None:
    session = Session()
    old, half = session.prompt("old"), session.prompt("half written at first sight")
    folding = TurnFold(history_bytes=len(old) + 10)
    position = 0
    for line in (old, half):
        (entry,) = entries_of(line.rstrip(b"\n"), Counter())
        folding.feed(position, position + len(line), entry)
        position += len(line)
    assert [turn.is_history for turn in folding.turns()] == [True, False]


@pytest.mark.parametrize(
    ("answered", "pending", "silent", "reason"),
    [
        (True, (), 19.9, None),
        (True, (), 20.0, "quiet"),
        (True, ("t",), 599.0, None),
        (False, (), 599.0, None),
        (False, (), 600.0, "timeout"),
        (True, ("t",), 600.0, "timeout"),
    ],
)
def test_silence_ends_a_turn(answered: bool, pending: tuple[str, ...], silent: float, reason: str | None) -> None:
    turn = Turn("p", (), None, 0, 1, pending_calls=pending, answered=answered)
    assert end_by_time(turn, silent_seconds=silent, quiet_seconds=20, give_up_seconds=600) == reason


@given(
    st.lists(st.sampled_from(["prompt", "call", "result", "reply", "open reply", "interrupt"]), max_size=14), st.data()
)
def test_reading_in_pieces_gives_the_same_turns(kinds: list[str], data: st.DataObject) -> None:
    """Wherever a reading stops and goes on from stored turns, the turns come out the same."""
    session = Session()
    made: dict[str, Callable[[int], bytes]] = {
        "prompt": lambda _: session.prompt(),
        "call": lambda number: session.call(f"t{number}"),
        "result": lambda number: session.result(f"t{number - 1}"),
        "reply": lambda _: session.reply(),
        "open reply": lambda _: session.reply(stop_reason=None),
        "interrupt": lambda _: session.interrupt(),
    }
    lines = [made[kind](number) for number, kind in enumerate(kinds)]
    whole = {turn.prompt_id: turn for turn in fold(b"".join(lines))}
    cut = data.draw(st.integers(0, len(lines)))
    head, tail = b"".join(lines[:cut]), b"".join(lines[cut:])
    stored = {turn.prompt_id: turn for turn in fold(head)}
    last = tuple(stored.values())
    stored |= {turn.prompt_id: turn for turn in fold(tail, last, len(head))}
    assert stored == whole
