"""Context of a review: what a proposal is measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Evidence, UserMessage


def _never_refused(_: Evidence) -> bool:
    return False


def _nothing_read() -> str:
    return ""


class ReviewContext(NamedTuple):
    job: Literal["extract", "dream", "remember"]
    snapshot: Snapshot
    """The memories before the run."""
    messages: Sequence[UserMessage]
    """What the user said that can be quoted, oldest first; `answer` is what the agent had said just before each."""
    now: float
    instructions: Sequence[str] = ()
    is_refused: Callable[[Evidence], bool] = _never_refused
    """Whether the user has undone or forgotten a memory that rested on these words."""
    repository_text: Callable[[], str] = _nothing_read
    """In a dream: what the engine's own tools read of the repository so far."""


class Writing(NamedTuple):
    """What an Edit or Write of an agent is about to do; `after` is None for a removal."""

    name: str
    before: bytes | None
    after: bytes | None
    quote: str
    kept_in: str = ""
    """Of a removal: the memory that says all of it now."""
    from_index: str = ""
    """The passage of the index that moves into this memory."""
    is_whole: bool = False
    """It replaces all of the file, and with it the words that earlier writes of this run rested on; an edit adds to them."""
