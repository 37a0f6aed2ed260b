"""What memories cost sessions: counted from what they were handed, by prompt and by session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.recall import shown
from memoryd.recall.outcomes import SessionCost, Use, session_costs, use_of, use_since
from memoryd.recall.shown import Shown

if TYPE_CHECKING:
    from memoryd.paths import Paths

NOW = 2_000_000_000.0
PLACE = "/memory"
A, B = Shown("a.md", 400), Shown("b.md", 201)


def hand_over(paths: Paths, session: str, at: float, *pieces: Shown, beside: int = 0, with_call: bool = False) -> None:
    text = "x" * (sum(piece.bytes for piece in pieces) + beside)
    shown.record(paths, session, PLACE, pieces, at, text=text, with_call=with_call)
    os.utime(paths.session_file("recalled", session, ".jsonl"), (at, at))


def test_what_comes_together_is_one_price_with_the_words_around_it(paths: Paths) -> None:
    hand_over(paths, "s", NOW, A, B, beside=199)
    hand_over(paths, "s", NOW + 1, A, with_call=True)
    hand_over(paths, "s", NOW + 2, B, beside=3)
    hand_over(paths, "t", NOW + 3, A)
    shown.record_use(paths, "s", {"a.md": "read"}, NOW + 4)
    assert session_costs(paths) == [
        SessionCost("t", NOW + 3, 1, 0, (100,), ()),
        SessionCost("s", NOW + 2, 4, 1, (200, 51), (100,)),
    ]
    assert use_since(paths, 0.0) == Use(5, 2, 1, tokens=451, prompts=3, prompt_tokens=100, session_tokens=100)
    assert [cost.session for cost in session_costs(paths, NOW + 2.5)] == ["t"]


def test_what_is_noted_beside_memories_is_no_part_of_their_budget(paths: Paths) -> None:
    hand_over(paths, "s", NOW, A, beside=500)
    assert shown.spent(paths, "s") == A.bytes


def test_the_price_in_words() -> None:
    assert Use(5, 2, 1, 4511, 3, 1000, 2000).in_words == (
        "4,511 tokens handed over: 1,000 a prompt and 2,000 a session (median)"
    )
    assert Use(1, 1, 0, 9, 0, 0, 9).in_words == "9 tokens handed over: 9 a session (median)"
    assert use_of([]) == Use()


def test_whoever_was_never_handed_anything_has_no_price(paths: Paths) -> None:
    assert session_costs(paths) == []
    assert use_since(paths, 0.0) is None
