"""The author of a proposal: an agent that edits a private copy of the memories, and repairs what review finds wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memoryd.engines.model import agent
from memoryd.engines.model.client import PromptTooLongError
from memoryd.memory.guards import RefusedError
from memoryd.memory.staging import changes_in
from memoryd.model import Proposal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.engines.model.proposal import StagedWrites
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Group
    from memoryd.review.review import Review

T = TypeVar("T")

REPAIR_ROUNDS = 2
_TRIES = 3
_LESS = 0.6
_SAFE = 0.9


class StagedDraft(NamedTuple):
    """The private copy of one run, and what the agent said beside its writes."""

    place: str
    snapshot: Snapshot
    writes: StagedWrites
    now: float
    is_dream: bool

    def groups(self) -> tuple[Group, ...]:
        """What the copy differs by. Raises RefusedError for what no memory can be."""
        return self.writes.groups(changes_in(self.place, self.snapshot), self.now, is_dream=self.is_dream)

    def proposal(self, taken: int) -> Proposal:
        return Proposal(self.groups(), taken)


class Repairs:
    """Review of what the agent has staged so far; called when it thinks that it is done."""

    def __init__(self, draft: StagedDraft, review: Review) -> None:
        self._draft = draft
        self._review = review
        self._rounds_left = REPAIR_ROUNDS
        self._told: tuple[Group, ...] | None = None

    def __call__(self) -> str:
        """What the agent shall repair, in words for it.

        Empty: nothing, or it has tried often enough, or was told and has left everything as it was.
        """
        groups = self._draft.groups()
        if groups == self._told:
            return ""
        verdicts = self._review.judge(groups)
        wrong = [
            (group, verdict.reason)
            for group, verdict in zip(groups, verdicts, strict=True)
            if verdict.state == "repairable"
        ]
        if not wrong or not self._rounds_left:
            return ""
        self._rounds_left -= 1
        self._told = groups
        return _told(wrong, is_last=not self._rounds_left)


def _told(wrong: Sequence[tuple[Group, str]], *, is_last: bool) -> str:
    lines = [f"- {', '.join(change.name for change in group.changes)}: {reason}" for group, reason in wrong]
    last = " This is the last time that you can." if is_last else ""
    return (
        "A reviewer who saw only the conversation and your changes does not accept these. The others are fine: leave them.\n"
        + "\n".join(lines)
        + "\nRepair each in one reply, or take it back: Write with empty content removes a new file, and Write with the old"
        f" text restores one that was there. If the reviewer is right that nothing should be kept, take it back.{last}"
    )


def with_fewer(work: Callable[[int], T], taken: int, has_changes: Callable[[], bool]) -> tuple[T, int]:
    """Let the agent work on so many turns; where they do not fit, or it declines, on fewer, while nothing is changed.

    What came of it, and how many it were. Raises RunFailedError and RefusedError where that does not help.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            return work(taken), taken
        except PromptTooLongError as error:
            if taken <= 1 or not tries_left or has_changes():
                break
            share = error.limit / error.tokens * _SAFE if error.limit and error.tokens else _LESS
            taken = max(1, min(taken - 1, int(taken * share)))
        except agent.DeclinedError as error:
            if taken <= 1 or not tries_left or has_changes():
                sentence = "The model does not want to work on this conversation."
                raise RefusedError("model", sentence, turns=taken) from error
            taken = taken // 2  # it may be about one of them only
    raise agent.RunFailedError("what was said does not fit into the model's window")
