"""What a dream works on: the memories, what was said since the last one and nobody has worked on, and the daily logs."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from memoryd import gates
from memoryd.clock import parse_iso
from memoryd.engines.offline.subjects import covered_by
from memoryd.engines.statements import statements_of
from memoryd.jobs.exclusion import covered_turns
from memoryd.jobs.extract import heard_in, redacted
from memoryd.jobs.interruption import LONGEST_SECONDS
from memoryd.memory import index as indexing
from memoryd.memory.commit import INDEX_BYTES
from memoryd.memory.document import parse
from memoryd.memory.logs import said_in_log
from memoryd.memory.shelf import shelf_of
from memoryd.model import DreamSession, Exchange
from memoryd.security.redact import redact
from memoryd.state import dreams, history
from memoryd.transcripts.follow import NotATranscriptError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from memoryd.config import Config
    from memoryd.memory.directory import FileState, MemoryDirectory
    from memoryd.model import Revision, Said, Shelved
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.dreams import Changed, DreamJob
    from memoryd.state.jobs import WaitingTurn

MOST_SESSIONS = 500
MOST_LOGS = 60
LOG_BYTES = 1 << 20
_SAID = 0.75
_NUMBER = re.compile(r"\d+(?:[.,:-]\d+)*")
_LOG = re.compile(r"(\d{4})-(\d\d)-(\d\d)\.md")


class Gathered(NamedTuple):
    shelf: tuple[Shelved, ...]
    files: Mapping[str, FileState]
    """The memories as they were read: whoever changes one after that wins."""
    odd: Mapping[str, str]
    index_text: str
    long_entries: tuple[str, ...]
    """Files whose line in the index is too long, and says nothing that the file does not."""
    exchanges: tuple[Exchange, ...]
    """Turns that nobody has worked on, in the order they were said."""
    logs: tuple[Said, ...]
    sessions: tuple[DreamSession, ...]
    changed: tuple[str, ...]
    """Memories that were written since the last dream."""
    message_of: Mapping[int, str]
    """Turns by their number in the database: the message they begin with."""
    covered: tuple[int, ...]
    """Turns for which the client has saved something itself."""

    @property
    def said(self) -> list[Said]:
        said = [*(exchange.said for exchange in self.exchanges), *self.logs]
        return sorted(said, key=lambda one: one.said_at or 0.0)

    @property
    def signal(self) -> list[Exchange]:
        """The turns, and lines of the logs as if they were turns, in the order they were said."""
        found = [*self.exchanges, *(Exchange(said) for said in self.logs)]
        return sorted(found, key=lambda exchange: exchange.said.said_at or 0.0)

    @property
    def turn_ids(self) -> tuple[int, ...]:
        return (*self.covered, *self.message_of)

    def turns_of(self, number: int) -> tuple[int, ...]:
        """The turns among the first so many of the signal."""
        shown = {exchange.said.message_id for exchange in self.signal[:number]}
        return tuple(turn for turn, message in self.message_of.items() if message in shown)


def gather(
    database: Database,
    paths: Paths,
    config: Config,
    directory: MemoryDirectory,
    job: DreamJob,
    since: float,
) -> Gathered:
    """Read everything; the turns are leased to this dream. What cannot be read is left to the next one."""
    listing = directory.listing()
    files = {name: state for name in listing.topics if (state := _read(directory, name)) is not None}
    sessions = [
        one
        for one in dreams.sessions_since(database, directory.path, since)
        if gates.left_alone(one.session, config, paths.state_dir) is None
    ]
    # The newest sessions; what is older than those is left to extraction, which reads one at a time.
    leased = dreams.lease(database, job, [one.session.transcript_id for one in sessions[-MOST_SESSIONS:]])
    exchanges: list[Exchange] = []
    message_of: dict[int, str] = {}
    covered: list[int] = []
    for one in sessions:
        turns = leased.get(one.session.transcript_id, ())
        for turn, exchange in _exchanges(database, directory.path, one, turns, covered):
            exchanges.append(exchange)
            message_of[turn.id] = exchange.said.message_id
    exchanges.sort(key=lambda exchange: exchange.said.said_at or 0.0)
    index = directory.read(indexing.NAME, INDEX_BYTES + 1)
    # One that the commit leaves alone is not taken apart either.
    text = index.data.decode("utf-8", "surrogateescape") if index and len(index.data) <= INDEX_BYTES else ""
    shelf = tuple(_dated(one, files, since) for one in shelf_of(database, directory))
    return Gathered(
        shelf,
        files,
        listing.odd,
        text,
        tuple(_long_entries(text, shelf, _put_back(database, directory.path))),
        tuple(exchanges),
        tuple(one for one in _logs(directory, since) if not _is_known(database, directory.path, one)),
        tuple(DreamSession(one.session.session_id, one.session.path, one.mtime, one.size) for one in sessions),
        tuple(name for name, mtime_ns in listing.topics.items() if mtime_ns / 1e9 > since),
        message_of,
        tuple(covered),
    )


def unsettled(database: Database, memory_dir: str, revisions: Iterable[Revision]) -> Iterator[Revision]:
    """Those that do not rest on words which the user has undone or forgotten a memory of."""
    for revision in revisions:
        if not any(history.is_refused(database, memory_dir, piece) for piece in revision.evidence):
            yield revision


def told_by_index_alone(revision: Revision, gathered: Gathered) -> str:
    """The line of a merged memory, where a person wrote a number or a name into it that stands nowhere else."""
    gone = revision.files[1:]
    texts = [f"{one.description}\n{one.body}" for one in gathered.shelf if one.name in revision.files]
    said = {
        form
        for text in (*texts, revision.description, revision.body)
        for one in statements_of(text)
        for form in one.forms
    }
    for line in gathered.index_text.split("\n") if gone else ():
        if indexing.entry_of(line) in gone:
            told = [value for one in statements_of(indexing.hook_of(line)) for value in one.values]
            if any(value not in said for value in told):
                return line.strip()
    return ""


def _exchanges(
    database: Database, memory_dir: str, changed: Changed, turns: tuple[WaitingTurn, ...], covered: list[int]
) -> Iterator[tuple[WaitingTurn, Exchange]]:
    """The turns of one session that are still where they were; those that the client has dealt with are put aside."""
    if not turns:
        return
    try:
        heard = heard_in(changed.session.path, turns, memory_dir, with_calls=True)
    except (OSError, NotATranscriptError):
        return
    present = [turn for turn in turns if turn.prompt_id in heard]
    passed_over = {
        one.turn_id for one in covered_turns(database, memory_dir, changed.session.session_id, present, heard)
    }
    covered += passed_over
    for turn in present:
        if turn.id not in passed_over:
            yield turn, redacted(heard[turn.prompt_id])


def _dated(memory: Shelved, files: Mapping[str, FileState], since: float) -> Shelved:
    """How old a memory is, as far as that can be known.

    Times of files are lost in checkouts, copies and backups. Where the memory itself tells none, and is not ours, it
    counts as no newer than the last dream: what was said since then may change it.
    """
    if memory.is_ours or memory.name not in files:
        return memory
    document = parse(files[memory.name].data)
    told = str(document.metadata.get("modified") or document.values.get("modified") or "")
    if (modified := parse_iso(told)) is not None:
        written_at = min(modified, memory.written_at)
        return memory._replace(written_at=written_at, as_of=written_at)
    return memory if document.origin_session_id else memory._replace(as_of=min(memory.written_at, since))


def _read(directory: MemoryDirectory, name: str) -> FileState | None:
    try:
        return directory.read(name)
    except PermissionError:
        return None


def _put_back(database: Database, memory_dir: str) -> set[str]:
    """Lines of the index that a dream had changed and the user has put back."""
    texts = [
        (file.before or b"").decode("utf-8", "surrogateescape") for file in history.undone_indexes(database, memory_dir)
    ]
    return {line for text in texts for line in text.split("\n")}


def _long_entries(index: str, shelf: Iterable[Shelved], put_back: Collection[str]) -> Iterator[str]:
    """Only what the file says as well may be cut off its line: nearly every word, and every number."""
    says = {one.name: f"{one.description}\n{one.body}" for one in shelf}
    for line in index.split("\n"):
        name = indexing.entry_of(line)
        if name not in says or not indexing.is_too_long(line) or line in put_back:
            continue
        hook = indexing.hook_of(line)
        if covered_by(hook, says[name]) >= _SAID and set(_NUMBER.findall(hook)) <= set(_NUMBER.findall(says[name])):
            yield name


def _logs(directory: MemoryDirectory, since: float) -> Iterator[Said]:
    """What the daily logs say that were written since then, oldest first. No link is followed."""
    try:
        found = sorted(_log_names(directory, since))[-MOST_LOGS:]
    except OSError:  # there are none
        return
    for name in found:
        try:
            descriptor = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory.descriptor
            )
        except OSError:
            continue
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                start = max(0, status.st_size - LOG_BYTES)  # the newest lines, from the first whole one on:
                data = os.pread(descriptor, LOG_BYTES, start)  # half a secret is not known as one
                data = data.partition(b"\n")[2] if start else data
                yield from said_in_log(name, redact(data.decode("utf-8", "replace")))
        finally:
            os.close(descriptor)


def _log_names(directory: MemoryDirectory, since: float) -> Iterator[str]:
    for place, folders, names, descriptor in os.fwalk("logs", dir_fd=directory.descriptor, follow_symlinks=False):
        folders.sort()
        for name in names:
            if _LOG.fullmatch(name) is None:
                continue
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            # A line may have been written while the last dream was at work.
            if stat.S_ISREG(status.st_mode) and status.st_mtime > since - LONGEST_SECONDS:
                yield f"{place}/{name}"


def _is_known(database: Database, memory_dir: str, said: Said) -> bool:
    """Whether a line of a log has led to a memory before."""
    return history.is_cited(database, memory_dir, said.message_id)
