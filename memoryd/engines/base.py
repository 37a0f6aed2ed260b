"""Contract of engines: a snapshot of the memories and a signal in, a proposal out. One suite tests all of them.

An engine decides nothing for good: review judges its proposal and a commit writes it. Jobs know engines by this contract alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from memoryd.model import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.memory.snapshot import Snapshot
    from memoryd.memory_types import MemoryType
    from memoryd.model import Evidence, Progress, Proposal, StoredMemory, UserMessage
    from memoryd.review.meaning import Ask
    from memoryd.review.review import Review


def _tell_nobody(_: Progress) -> None:
    """The listener of a job that nobody watches."""


class DreamSession(NamedTuple):
    """A session that changed since the last dream, and where its transcript is."""

    session_id: str
    client: str
    path: str
    at: float
    size: int


class LoggedFact(NamedTuple):
    """A line of a daily log that extraction appended: review has accepted it, and no memory says it yet."""

    text: str
    type: MemoryType | None
    """Of the memory that it shall become; None: it takes one back."""
    said: tuple[UserMessage, ...]
    """The messages that it comes of; they are among the signal's."""
    evidence: tuple[Evidence, ...]


class Signal(NamedTuple):
    """What a job hands to an engine beside the memories. All words in it are redacted."""

    job_id: int
    now: float
    exchanges: Sequence[Exchange] = ()
    """Turns that nobody has worked on, oldest first; for a dream also those that extraction read without result."""
    instructions: Sequence[str] = ()
    """The instruction files that the client loads."""
    logs: Sequence[UserMessage] = ()
    """Lines of daily logs, for a dream."""
    sessions: Sequence[DreamSession] = ()
    """Sessions that changed since the last dream."""
    changed: Sequence[str] = ()
    """Memories that changed since the last dream."""
    project_root: str = ""
    deadline: float | None = None
    """When the job ends itself; None: the engine's own limit alone."""
    tell: Callable[[Progress], None] = _tell_nobody
    """Takes the progress of a dream, and may raise to stop it."""
    unconfirmed: Sequence[StoredMemory] = ()
    """Memories that are likely and were said once, oldest first."""
    is_dream: bool = False
    logged: Sequence[LoggedFact] = ()
    """Lines that are to become memories. Where there are any, the dream does what extraction would have done."""

    @property
    def turns(self) -> list[Exchange]:
        """The turns, and the lines of daily logs as if they were turns, oldest first."""
        found = [*self.exchanges, *(Exchange(message) for message in self.logs)]
        return sorted(found, key=lambda exchange: exchange.said.said_at or 0.0) if self.logs else found

    @property
    def messages(self) -> list[UserMessage]:
        """All that the user said, oldest first: the turns, and the lines of daily logs."""
        said = [*(exchange.said for exchange in self.exchanges), *self.logs]
        return sorted(said, key=lambda message: message.said_at or 0.0) if self.logs else said


class Engine(Protocol):
    """One way to turn what was said into changes of the memories."""

    @property
    def name(self) -> str:
        """The name that jobs are recorded under: `offline`, or the model."""

    def extract(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:
        """What the turns of one session add to the memories or change in them.

        Raises RefusedError for turns that it will not work on; EngineStoppedError and EngineRestsError, which are about all
        sessions.
        """

    def dream(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:
        """The memories consolidated with what was said since the last dream. Raises like `extract`, and what `tell` raises."""

    def meaning_asker(self, signal: Signal, memory_dir: str) -> Ask | None:
        """The function that asks a model what review wants to know; None: this engine has no model."""

    def close(self) -> None:
        """Give back connections."""
