"""Inputs of a dream: the memories, the index, unread turns and daily logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.base import DreamSession, Signal
from memoryd.jobs import gates
from memoryd.jobs.exclusion import covered_turns
from memoryd.jobs.extract import read_job_turns, redacted_exchange
from memoryd.jobs.new_log_lines import new_lines
from memoryd.language.lexicon import small
from memoryd.language.tokens import words_of
from memoryd.memory import index as indexing
from memoryd.memory.document import body_of
from memoryd.memory.tiers import tiers_of
from memoryd.sources.session import NotATranscriptError
from memoryd.state import dreams, history
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from memoryd.config import Config
    from memoryd.jobs.new_log_lines import NewLines
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import (
        Exchange,
        FileChange,
        Group,
        HeldGroup,
        Progress,
        Proposal,
        StoredMemory,
    )
    from memoryd.paths import Paths
    from memoryd.state.changes import PlannedFile
    from memoryd.state.database import Database
    from memoryd.state.dreams import ChangedSession, DreamJob
    from memoryd.state.jobs import WaitingTurn
    from memoryd.state.log_lines import LogRead

MOST_SESSIONS = 500
Signature = frozenset[tuple[str, bytes]]
"""Files of a group: names and digests of their former content."""


class DreamInputs(NamedTuple):
    snapshot: Snapshot
    """Memories as they were read; an edit made after that wins."""
    long_entries: tuple[str, ...]
    """Files whose line in the index is too long, and says nothing that the file does not."""
    exchanges: tuple[Exchange, ...]
    """Turns that nobody has worked on, or that extraction read without result, in the order they were said."""
    logs: NewLines
    sessions: tuple[DreamSession, ...]
    changed: tuple[str, ...]
    """Memories that were written since the last dream."""
    message_of: Mapping[int, str]
    """First message of each turn, by the number of the turn in the database."""
    fruitless: frozenset[int]
    """Turns that extraction read without result."""
    covered: tuple[int, ...]
    """Turns for which the client has saved something itself."""

    def signal(
        self,
        job_id: int,
        now: float,
        instructions: Sequence[str],
        project_root: str,
        deadline: float,
        tell: Callable[[Progress], None],
        unconfirmed: Sequence[StoredMemory],
    ) -> Signal:
        return Signal(
            job_id,
            now,
            self.exchanges,
            instructions,
            self.logs.messages,
            self.sessions,
            self.changed,
            project_root,
            deadline,
            tell,
            unconfirmed,
            is_dream=True,
            logged=self.logs.facts,
        )

    def turns_done(self, signal: Signal, proposal: Proposal, held: Sequence[HeldGroup]) -> tuple[int, ...]:
        """Turns that the engine has read, without those that had no result: extraction reads them.

        Turns that extraction has read already are done.
        """
        shown = {exchange.said.message_id for exchange in signal.turns[: proposal.taken]}
        refused = [group.group for group in held if group.state == "refused"]
        unused = proposal.unused.union(piece.message_id for group in refused for _, piece in group.evidence)
        done = (
            turn
            for turn, message in self.message_of.items()
            if message in shown and (message not in unused or turn in self.fruitless)
        )
        return (*self.covered, *done)

    def logs_done(self, signal: Signal, proposal: Proposal) -> tuple[LogRead, ...]:
        """How far the daily logs have been read."""
        return self.logs.cursors({exchange.said.message_id for exchange in signal.turns[: proposal.taken]})


def read_inputs(
    database: Database,
    paths: Paths,
    config: Config,
    directory: MemoryDirectory,
    job: DreamJob,
    since: float,
    now: float,
) -> DreamInputs:
    """Read all inputs and lease the turns to this dream. Unreadable ones are left to the next dream."""
    snapshot = tiers_of(database, directory.path).snapshot(database)
    sessions = [
        changed
        for changed in dreams.sessions_since(database, directory.path, since)
        if gates.left_alone(changed.session, config, paths.state_dir) is None
    ]
    # The newest sessions; older ones are left to extraction, which reads one at a time.
    leased = dreams.lease(database, job, [changed.session.transcript_id for changed in sessions[-MOST_SESSIONS:]])
    exchanges: list[Exchange] = []
    message_of: dict[int, str] = {}
    covered: list[int] = []
    for changed in sessions[-MOST_SESSIONS:]:
        unread, fruitless = leased[changed.session.transcript_id]
        turns = tuple(sorted((*unread, *fruitless), key=lambda turn: turn.start))
        for turn, exchange in _exchanges(database, snapshot, changed, turns, covered):
            exchanges.append(exchange)
            message_of[turn.id] = exchange.said.message_id
    exchanges.sort(key=lambda exchange: exchange.said.said_at or 0.0)
    put_back = _put_back(database, directory.path)
    return DreamInputs(
        snapshot,
        tuple(_long_entries(snapshot.index_text, snapshot.memories, put_back)),
        tuple(exchanges),
        new_lines(database, directory, since, now),
        tuple(
            DreamSession(
                changed.session.session_id, changed.session.client, changed.session.path, changed.mtime, changed.size
            )
            for changed in sessions
        ),
        tuple(name for name, state in snapshot.files.items() if state.mtime_ns / 1e9 > since),
        message_of,
        frozenset(turn.id for turns in leased.values() for turn in turns.fruitless),
        tuple(covered),
    )


def undone_signatures(database: Database, memory_dir: str) -> set[Signature]:
    """Signatures of groups that dreams changed and the user has undone."""
    return {_signature(files) for files in history.undone_dreams(database, memory_dir)}


def is_undone(group: Group, undone: Collection[Signature]) -> bool:
    """Whether the user has undone this group, or a merge that is part of it. New words about one memory do not count."""
    signature = _signature(group.changes)
    if len(signature) == 1:
        return not group.evidence and signature in undone
    return any(len(earlier) > 1 and earlier <= signature for earlier in undone)


def _signature(changes: Sequence[FileChange | PlannedFile]) -> Signature:
    """Files of a group as they were before; a new file by its content, whatever its name."""
    return frozenset(
        (change.name, digest(change.before))
        if change.before is not None
        else ("", digest(body_of(change.after or b"").encode()))
        for change in changes
    )


def _exchanges(
    database: Database, snapshot: Snapshot, changed: ChangedSession, turns: tuple[WaitingTurn, ...], covered: list[int]
) -> Iterator[tuple[WaitingTurn, Exchange]]:
    """Turns of one session that are still in its transcript; those that the client saved itself go into `covered`."""
    if not turns:
        return
    try:
        read = read_job_turns(changed.session.client, changed.session.path, turns, snapshot.path)
    except (OSError, NotATranscriptError):
        return
    present = [turn for turn in turns if turn.prompt_id in read]
    passed_over = {
        turn.turn_id for turn in covered_turns(database, snapshot, changed.session.session_id, present, read)
    }
    covered += passed_over
    for turn in present:
        if turn.id not in passed_over:
            yield turn, redacted_exchange(read[turn.prompt_id])


def _put_back(database: Database, memory_dir: str) -> set[str]:
    """Lines of the index that a dream had changed and the user has put back."""
    texts = [
        (file.before or b"").decode("utf-8", "surrogateescape") for file in history.undone_indexes(database, memory_dir)
    ]
    return {line for text in texts for line in text.split("\n")}


def _long_entries(index: str, memories: Iterable[StoredMemory], put_back: Collection[str]) -> Iterator[str]:
    """Entries whose line is too long, and whose file has every meaningful word of it: these may be shortened."""
    says = {memory.name: f"{memory.description}\n{memory.body}" for memory in memories}
    for line in index.split("\n"):
        name = indexing.entry_of(line)
        if name not in says or not indexing.is_too_long(line) or line in put_back:
            continue
        if set(words_of(indexing.hook_of(line))) - small("subjects") - small("names") <= set(words_of(says[name])):
            yield name
