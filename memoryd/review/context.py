"""Context of a review: what a proposal is measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Evidence, UserMessage


def _never_refused(_: Evidence) -> bool:
    return False


class RepositoryReading(Protocol):
    """What the engine's own tools have read of the repository so far."""

    def text(self) -> str: ...

    def evidence(self, quote: str) -> Evidence | None:
        """The line that holds these words; None where none was read."""


class _Unread:
    def text(self) -> str:
        return ""

    def evidence(self, quote: str) -> Evidence | None:  # noqa: ARG002 - as a repository that was read
        return None


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
    repository: RepositoryReading = _Unread()
    """In a dream: what a statement about code may rest on."""


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
