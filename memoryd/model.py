"""Value types that all parts share; named tuples with real annotations, since those are made and imported fastest."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, SupportsBytes

from memoryd.memory_types import MemoryType
from memoryd.record import NamedTuple

# --- transcripts: what they say, their turns and sessions --------------------------------------------------------------


class Prompt(NamedTuple):
    """Words of the user, without what the client put around them."""

    ids: tuple[str, ...]
    """The message's own id first, then the ids it was copied from. Messages that share one are the same message."""
    session_id: str
    cwd: str
    said_at: float | None
    text: str
    branch: str = ""  # that was checked out then, where the client tells


class ToolCall(NamedTuple):
    """What the assistant asked of a tool. Only its client can tell what that means."""

    id: str
    name: str
    given: SupportsBytes
    """As it stands in the transcript: most calls are never looked into."""


class Reply(NamedTuple):
    """One piece of the assistant's answer: a client writes an entry for each block of a message."""

    cwd: str
    texts: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    ends_with_text: bool
    stop_reason: str | None
    session_id: str = ""
    said_at: float | None = None


class Results(NamedTuple):
    """What tools answered."""

    call_ids: tuple[str, ...]
    failed: tuple[str, ...] = ()
    """Those of the calls that were refused or failed, and so have changed nothing."""
    errors: tuple[str, ...] = ()  # those that ended with an error, whatever they have changed
    contents: tuple[SupportsBytes, ...] = ()  # of each call, as it stands in the transcript, where the client tells it


class Interrupt(NamedTuple):
    """The user pressed escape."""


EndReason = Literal["end_turn", "next_prompt", "interrupted", "quiet", "timeout"]


class TurnEnd(NamedTuple):
    """The client says that the turn is over, whatever it was waiting for."""

    reason: EndReason = "end_turn"


Entry = Prompt | Reply | Results | Interrupt | TurnEnd


class Turn(NamedTuple):
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


NoFile = Literal["directory", "fifo", "device", "socket", "symlink", "unreadable", "bad name"]
Oddity = NoFile | Literal["unknown tables", "may be shipped", "compressed"]


class Found(NamedTuple):
    """One transcript as the scan saw it, without opening it."""

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int


class Inventory(NamedTuple):
    """Everything below one root at one moment."""

    root: str
    found: tuple[Found, ...]
    odd: Mapping[str, Oddity] = MappingProxyType({})
    """What is named like a transcript and cannot be read as one, and folders that cannot be listed."""
    missing: bool = False


class Cursor(NamedTuple):
    """How far a transcript has been read, and how to know that it is still the same one."""

    offset: int = 0
    """Always just after a newline: half lines wait."""
    head_bytes: int = 0
    head_hash: bytes = b""
    tail_bytes: int = 0
    tail_hash: bytes = b""


class Reading(NamedTuple):
    """What one pass over a transcript brought."""

    cursor: Cursor
    turns: tuple[Turn, ...]
    """New turns and those that were open before and changed, in file order."""
    found: Found
    complete: bool
    """Everything up to the last newline has been read; False when the pass stopped at its budget."""
    rewritten: bool = False
    """What stood before the cursor is no longer there: this pass began at byte 0."""
    history_bytes: int = 0
    """Up to where a line of this transcript counts as history."""
    cwds: tuple[str, ...] = ()
    """Working directories named in what was read, in order of appearance."""
    opted_out: bool = False
    damage: Mapping[str, int] = MappingProxyType({})
    read_bytes: int = 0


class WaitingSession(NamedTuple):
    """A session that has turns nobody has worked on."""

    transcript_id: int
    session_id: str
    client: str
    path: str
    cwd: str
    project_root: str
    active_at: float
    """When its transcript last grew, never later than when that was noticed."""
    first_ended_at: float
    """When the first of its waiting turns was seen to have ended."""
    turn_ids: tuple[int, ...]
    memory_dir: str = ""
    failures: int = 0
    """Jobs in a row that failed."""
    retry_at: float | None = None
    has_grown: bool = True
    """Its transcript is not what it was when a job on it last failed: longer, or rewritten and shorter."""
    is_trailing: bool = False
    """A turn ended while a job on this session ran."""
    opted_out: bool = False
    is_gone: bool = False
    """Its transcript is no longer there."""
    collides_with: str | None = None
    """The root of the project that had this memory directory first."""
    is_released: bool = False
    """The client has ended or compacted it since the first of its waiting turns was begun."""


class Due(NamedTuple):
    """It is time."""

    why: str


class Wait(NamedTuple):
    """It is not time yet, for a reason that has a name."""

    until: float | None
    """None: until its transcript grows, the settings change, or the user ends a pause."""
    reason: Literal[  # noqa: RUF041 - nested, so that what belongs together stands on a line
        Literal["session_active", "throttled", "backing_off", "breaker_open", "paused", "switched_off"],
        Literal["engine_stopped", "engine_busy", "budget_reached", "limit_reached", "claude_at_work"],
        Literal["engine_missing", "engine_logged_out", "engine_outdated", "engine_hung", "engine_replaced"],
        Literal["too_soon", "counted_recently", "too_few_sessions", "lock_held", "extraction_waits"],
        Literal["no_new_lines"],
    ]
    why: str


class Skip(NamedTuple):
    """It will not be done, for a reason that has a name."""

    reason: Literal["own_session", "excluded", "opted_out", "slug_collision", "transcript_gone"]
    why: str


class Evidence(NamedTuple):
    """Words of the user that a memory rests on; or a line of the repository (`language/evidence.py`)."""

    session_id: str
    message_id: str
    quote: str
    hash: str
    said_at: float | None = None


class UserMessage(NamedTuple):
    """One message of the user, as an engine sees it."""

    session_id: str
    message_id: str
    said_at: float | None
    text: str
    answer: str = ""
    """What the assistant had said just before: words like "that" point there."""
    cwd: str = ""
    after: tuple[str, ...] = ()
    """The messages before it in the session, the last one first; a few are enough."""
    reply: str = ""
    """The assistant's last words in the same turn: what is only told gets another reply than what is to be done."""


class Exchange(NamedTuple):
    """One turn, as an engine with a model sees it."""

    said: UserMessage
    calls: tuple[str, ...] = ()
    """What it did meanwhile, a few words for each tool call."""


class StoredMemory(NamedTuple):
    """A memory that is there already, as an engine sees it."""

    name: str
    """Its file."""
    type: MemoryType | None
    description: str
    body: str
    is_ours: bool = False
    """memoryd wrote it, and nobody has changed or pinned it since: it may be rewritten."""
    evidence: tuple[Evidence, ...] = ()
    written_at: float = 0.0
    """When it was said, as far as that is known; else when the file was written."""
    is_fixed: bool = False  # pinned, not understood or not ours to touch: not even a dream changes it
    is_hand_edited: bool = False  # memoryd wrote this file once, and somebody has changed it since
    is_time_known: bool = True  # else only the file has a time, which a copy changes
    row_id: int = 0  # of an unconfirmed one, which has no file yet: its row in the inbox


ChangeReason = Literal["learnt", "updated", "taken_back", "merged", "dated", "expired", "moved"]


class Revision(NamedTuple):
    """What an engine wants of memories that belong together, before it is rendered as files."""

    reason: ChangeReason
    line: str
    """What is told of it: "you said: …", "Merging two deploy notes"."""
    files: tuple[str, ...] = ()
    """The memories that it is about. The first one stays, and says what the others said; none: a new one is made."""
    type: MemoryType | None = None
    name: str = ""
    """Words joined by hyphens, the title; empty: the one that the first memory has."""
    description: str = ""
    body: str = ""
    """What the first one shall say; empty: all of them are taken away."""
    evidence: tuple[Evidence, ...] = ()
    """Words of the user that it newly rests on, oldest first."""
    from_index: tuple[str, ...] = ()
    """Passages of the index that are moved into it, each as it stands there, whole lines."""
    keys: tuple[str, ...] = ()
    """What the first one shall be found by; empty: what it is found by already. Those of the others join it."""
    file_name: str = ""
    """The file of a new memory; empty: made of type and name."""
    answers: tuple[int, ...] = ()  # rows of the inbox that it makes needless: what they ask has been said
    is_renamed: bool = False  # the file of a memory that is there is called by `name` from now on
    is_global: bool = False  # of a new memory: it is about the person, whatever the project


class Progress(NamedTuple):
    """How far a dream has come."""

    phase: str
    """orient, gather, consolidate, prune."""
    line: str
    """Three to five words in the present tense."""
    text: str = ""
    """What the model said, without secrets, cut."""
    tools: int = 0
    """Calls so far."""
    files: tuple[str, ...] = ()
    """Memories touched so far."""
    usd: float = 0.0


class FileChange(NamedTuple):
    """One file of the memory directory: what stood there when it was read, and what shall stand there."""

    name: str
    before: bytes | None
    after: bytes | None
    before_mtime_ns: int | None = None
    after_mtime_ns: int | None = None
    """None: the time of the commit."""
    mode: int = 0o600
    offset: int | None = None  # of a line in a daily log, all that `before` and `after` then hold: where it stands


AT_THE_END = -1  # offset of a line that is to be appended


class Group(NamedTuple):
    """Files that change together or not at all."""

    changes: tuple[FileChange, ...]
    why: str
    evidence: tuple[tuple[str, Evidence], ...] = ()
    """File name and what it rests on."""
    reason: ChangeReason = "learnt"
    """What an engine says that it does: a dream's merge, expiry, date or index move needs no quote."""
    from_index: tuple[str, ...] = ()
    """Passages of the index that move into these files, each as it stands there, whole lines."""
    answers: tuple[int, ...] = ()  # rows of the inbox that are closed with its commit: what they ask has been said
    said: tuple[UserMessage, ...] = ()  # of a line in a daily log: the messages that the next dream makes a memory of
    type: MemoryType | None = None  # and what kind of memory that is


class HeldGroup(NamedTuple):
    """A group that is not committed now: it waits in the inbox, or is only listed there as not done."""

    group: Group
    state: Literal["held", "unconfirmed", "refused", "dropped"]
    """`held` and `unconfirmed` wait for the user; `refused` and `dropped` are kept for `history` alone."""
    reason: str


class Proposal(NamedTuple):
    """What an engine wants to change: the only thing that it returns. Review judges it, a commit writes it."""

    groups: tuple[Group, ...] = ()
    taken: int | None = None
    """How many of the signal's turns, from the first on, the engine has looked at; None: all of them."""
    unused: frozenset[str] = frozenset()
    """Messages in which it found something that the groups do not use: their turns are not done."""
    held: tuple[HeldGroup, ...] = ()
    """What it would have in the inbox: memories that were said once, older ones that newer words may contradict."""
    withdrawn: frozenset[int] = frozenset()  # rows of unconfirmed memories that the user took back or told anew


class Verdict(NamedTuple):
    """What review says of one group."""

    state: Literal["accepted", "repairable", "held", "refused"]
    """`repairable`: the author may try again; whoever cannot is held. `refused`: a hard rule is broken."""
    reason: str = ""
    """A sentence for the author and for the user."""


class IndexEdit(NamedTuple):
    """What a commit does to the index beside making it right."""

    without: tuple[str, ...] = ()
    """Passages that have become memories, each as it stands there."""
    shortened: tuple[str, ...] = ()  # files whose line is cut to its length
    global_names: tuple[str, ...] | None = None  # those that get a line; None: those that have one
    was: bytes | None = None
    shall_be: bytes | None = None
    """The index as a change left it that is taken back now, and as that change had found it; None: there was none."""
    shall_be_mtime_ns: int | None = None


class Changeset(NamedTuple):
    """What an engine or a command wants to change. Nothing is written any other way."""

    kind: Literal[  # noqa: RUF041 - nested, so that what belongs together stands on a line
        Literal["extract", "remember", "forget", "purge", "enforce", "dream", "review"],
        Literal["undo", "redo", "restore", "reindex", "adopt", "sync", "share"],
    ]
    why: str
    groups: tuple[Group, ...]
    session_id: str = ""
    turn_ids: tuple[int, ...] = ()  # turns that count as done when this is closed, also if it changes nothing
    job_id: int | None = None
    undoes: int | None = None
    index_edit: IndexEdit = IndexEdit()
    held: tuple[HeldGroup, ...] = ()
    """What review kept from being changed: it goes into the inbox in the transaction that closes this."""
    elsewhere: tuple[tuple[str, HeldGroup], ...] = ()  # what this makes us ask about another directory, by its path
    accepts: tuple[int, ...] = ()  # rows of the inbox that this answers, by a yes or because it was said again
    log_cursors: tuple[tuple[str, int, bytes, tuple[str, ...]], ...] = ()  # how far daily logs are distilled: `LogRead`
