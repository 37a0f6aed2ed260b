"""Entries to turns: where a prompt of the user begins and what belongs to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryd.model import Prompt, Reply, Results, Turn, TurnEnd

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.model import EndReason, Entry


@dataclass(slots=True)
class _Draft:
    """A turn while its lines come in."""

    prompt_id: str
    copied_from: tuple[str, ...]
    said_at: float | None
    start: int
    end: int
    is_history: bool
    pending_calls: dict[str, None]
    answered: bool
    end_reason: EndReason | None
    changed: bool

    def finished(self) -> Turn:
        return Turn(
            self.prompt_id,
            self.copied_from,
            self.said_at,
            self.start,
            self.end,
            self.is_history,
            tuple(self.pending_calls),
            self.answered,
            self.end_reason,
        )


class TurnFold:
    """Takes entries in file order, from where the turns in `last` left off.

    File order, not the chain of parents: clients fork and break that chain, and parallel tool calls branch it. So a
    turn is everything between two prompts. A prompt or an interrupt ends the turn before it, except while that one
    waits for a tool: two terminals may write into one file, and its results will tell.
    """

    def __init__(self, last: Iterable[Turn] = (), *, history_bytes: int = 0) -> None:
        self._history_bytes = history_bytes
        self._drafts = [
            _Draft(
                turn.prompt_id,
                turn.copied_from,
                turn.said_at,
                turn.start,
                turn.end,
                turn.is_history,
                dict.fromkeys(turn.pending_calls),
                turn.answered,
                turn.end_reason,
                changed=False,
            )
            for turn in last
        ]
        self._current = self._drafts[-1] if self._drafts else None

    def feed(self, start: int, end: int, entry: Entry) -> None:
        """Add the entry that stands between the byte offsets `start` and `end`."""
        if isinstance(entry, Prompt):
            self._begin(start, end, entry)
            return
        if isinstance(entry, Results):
            for draft in self._waiting(entry.call_ids):
                self._answer_calls(draft, entry.call_ids)
        current = self._current
        if current is None:
            return  # an answer to a prompt before our time, or to none
        current.end = end
        current.changed = True
        if isinstance(entry, Reply):
            for call in entry.calls:
                current.pending_calls[call.id] = None
            if entry.calls or entry.texts:
                current.answered = entry.ends_with_text and entry.stop_reason != "tool_use"
            if current.answered and not current.pending_calls and entry.stop_reason == "end_turn":
                current.end_reason = current.end_reason or "end_turn"
        elif isinstance(entry, Results):
            current.answered = False
        elif isinstance(entry, TurnEnd):
            current.pending_calls.clear()
            current.end_reason = current.end_reason or entry.reason
        elif not current.pending_calls:  # an interrupt
            current.end_reason = current.end_reason or "interrupted"

    def turns(self) -> tuple[Turn, ...]:
        """The turns that are new or changed since the start, in file order."""
        return tuple(draft.finished() for draft in self._drafts if draft.changed)

    def _begin(self, start: int, end: int, prompt: Prompt) -> None:
        before = self._current
        if before is not None and before.end_reason is None and not before.pending_calls:
            before.end_reason = "next_prompt"
            before.changed = True
        self._current = _Draft(
            prompt.ids[0],
            prompt.ids[1:],
            prompt.said_at,
            start,
            end,
            is_history=end <= self._history_bytes,
            pending_calls={},
            answered=False,
            end_reason=None,
            changed=True,
        )
        self._drafts.append(self._current)

    def _waiting(self, call_ids: tuple[str, ...]) -> list[_Draft]:
        return [
            draft
            for draft in self._drafts[-8:]
            if draft.pending_calls and not draft.pending_calls.keys().isdisjoint(call_ids)
        ]

    def _answer_calls(self, draft: _Draft, call_ids: tuple[str, ...]) -> None:
        for call in call_ids:
            draft.pending_calls.pop(call, None)
        draft.changed = True
        if draft is not self._current and not draft.pending_calls:
            draft.end_reason = draft.end_reason or "next_prompt"


def end_by_time(turn: Turn, *, silent_seconds: float, quiet_seconds: float, give_up_seconds: float) -> EndReason | None:
    """Why a turn is over although nothing says so, after a silence in its transcript; None while it is open."""
    if silent_seconds >= give_up_seconds:
        return "timeout"
    if silent_seconds >= quiet_seconds and turn.answered and not turn.pending_calls:
        return "quiet"
    return None
