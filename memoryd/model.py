"""The value types that the parts of memoryd speak in. They know nothing of files, databases or clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

# --- what a transcript says -------------------------------------------------------------------------------------------
# Named tuples, not dataclasses: one is made for every line of every transcript.


class Prompt(NamedTuple):
    """Words of the user, without what the client put around them."""

    ids: tuple[str, ...]
    """The message's own id first, then the ids it was copied from. Messages that share one are the same message."""
    session_id: str
    cwd: str
    said_at: float | None
    text: str


class Reply(NamedTuple):
    """One piece of the assistant's answer: a client writes an entry for each block of a message."""

    cwd: str
    texts: tuple[str, ...]
    call_ids: tuple[str, ...]
    ends_with_text: bool
    stop_reason: str | None


class Results(NamedTuple):
    """What tools answered."""

    call_ids: tuple[str, ...]


class Interrupt(NamedTuple):
    """The user pressed escape."""


Entry = Prompt | Reply | Results | Interrupt

# --- turns ------------------------------------------------------------------------------------------------------------

EndReason = Literal["end_turn", "next_prompt", "interrupted", "quiet", "timeout"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and all that follows up to its end; the byte range is where its lines stand in the transcript."""

    prompt_id: str
    copied_from: tuple[str, ...]
    said_at: float | None
    start: int
    end: int
    is_history: bool = False
    """It was already there when memoryd first saw the transcript."""
    pending_calls: tuple[str, ...] = ()
    answered: bool = False
    """The last block of the assistant is text, and it did not announce a tool call."""
    end_reason: EndReason | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.prompt_id, *self.copied_from)


# --- transcripts ------------------------------------------------------------------------------------------------------

Oddity = Literal["directory", "fifo", "device", "socket", "symlink", "unreadable", "bad name"]


@dataclass(frozen=True, slots=True)
class Found:
    """One transcript as the scan saw it, without opening it."""

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything below one root at one moment."""

    root: str
    found: tuple[Found, ...]
    odd: dict[str, Oddity] = field(default_factory=dict)
    """What is named like a transcript and cannot be read as one, and folders that cannot be listed."""
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a transcript has been read, and how to know that it is still the same one."""

    offset: int = 0
    """Always just after a newline: half lines wait."""
    head_bytes: int = 0
    head_hash: bytes = b""
    tail_bytes: int = 0
    tail_hash: bytes = b""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one pass over a transcript brought."""

    cursor: Cursor
    turns: tuple[Turn, ...]
    """New turns and those that were open before and changed, in file order."""
    found: Found
    complete: bool
    """Everything up to the last newline has been read; False when the pass stopped at its budget."""
    rewritten: bool = False
    """What stood before the cursor is no longer there: this pass began at byte 0."""
    cwds: tuple[str, ...] = ()
    """Working directories named in what was read, in order of appearance."""
    opted_out: bool = False
    damage: dict[str, int] = field(default_factory=dict)


# --- projects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Project:
    """One canonical git root, or a working directory outside git, and where its memory is kept."""

    root: str
    slug: str
    memory_dir: str
    is_shared: bool = False
    """The user named one memory directory for several projects: sharing it is no collision."""


@dataclass(frozen=True, slots=True)
class WaitingSession:
    """A session that has turns nobody has worked on."""

    transcript_id: int
    session_id: str
    path: str
    cwd: str
    project_root: str
    active_at: float
    """When its transcript last grew, never later than when that was noticed."""
    first_ended_at: float
    """When the first of its waiting turns was seen to have ended."""
    turn_ids: tuple[int, ...]
    opted_out: bool = False
    collides_with: str | None = None
    """The root of the project that had this memory directory first."""


# --- decisions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """It is time."""

    why: str


@dataclass(frozen=True, slots=True)
class Wait:
    """It is not time yet."""

    until: float
    why: str


@dataclass(frozen=True, slots=True)
class Skip:
    """It will not be done, for a reason that has a name."""

    reason: Literal["own_session", "excluded", "opted_out", "slug_collision"]
    why: str
