"""Tail of one transcript: reads from a cursor on; returns turns and the next cursor."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.model import Cursor, Prompt, Reading, Reply
from memoryd.transcripts.lines import whole_lines
from memoryd.transcripts.opt_out import is_opt_out
from memoryd.transcripts.scan import found_of
from memoryd.transcripts.turns import TurnFold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.clients.base import CodingClient
    from memoryd.model import Entry, Turn
    from memoryd.transcripts.lines import Line

WINDOW_BYTES = 4096
"""How much of the head, and of what stands before the cursor, is hashed to recognise a transcript."""

_MOST_CWDS = 16


class NotATranscriptError(Exception):
    """What the scan saw as a file is something else by now."""


def open_transcript(path: str) -> int:
    """Open for reading; never through a symlink, never waiting for the writer of a fifo.

    Raises OSError, or NotATranscriptError where the file was exchanged for something else since the scan.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotATranscriptError(path)
    return descriptor


def read_new_turns(
    client: CodingClient,
    path: str,
    cursor: Cursor,
    last: Iterable[Turn],
    *,
    history_bytes: int = 0,
    budget_bytes: int = 64 << 20,
) -> Reading:
    """Read what came after the cursor, at most about `budget_bytes`.

    1. If what stood before the cursor is no longer there (a shorter file, another head, another tail), begin at byte
       0; the database knows by id which messages it has already.
    2. Cut into lines, lines into entries, entries into turns, going on from the turns in `last`.
    3. Stop behind the last whole line, and remember head and tail for the next time.

    Raises OSError and NotATranscriptError like `open_transcript`.
    """
    with opened_tail(client, path, cursor) as tail:
        if tail.rewritten:
            # If history had been read to its end, every message of it is known by its id: what is not known is new,
            # wherever it stands now.
            history_bytes = 0 if cursor.offset >= history_bytes else min(history_bytes, tail.found.size)
        fold = TurnFold(() if tail.rewritten else last, history_bytes=history_bytes)
        notes = _Notes()
        for line, entry in tail.entries(budget_bytes):
            fold.feed(line.start, line.end, entry)
            notes.take(entry)
        return Reading(
            cursor=tail.cursor(),
            turns=fold.turns(),
            found=tail.found,
            complete=tail.is_complete,
            rewritten=tail.rewritten,
            history_bytes=history_bytes,
            cwds=tuple(filter(None, notes.cwds)),
            opted_out=notes.opted_out,
            damage=dict(tail.damage),
        )


@contextmanager
def opened_tail(client: CodingClient, path: str, cursor: Cursor) -> Iterator[TranscriptTail]:
    """What came after the cursor. Raises OSError and NotATranscriptError like `open_transcript`."""
    descriptor = open_transcript(path)
    try:
        yield TranscriptTail(client, path, descriptor, cursor)
    finally:
        os.close(descriptor)


class TranscriptTail:
    """What stands in a transcript behind a cursor; all of it, where what stood before the cursor is no longer there."""

    def __init__(self, client: CodingClient, path: str, descriptor: int, cursor: Cursor) -> None:
        self.found = found_of(path, os.fstat(descriptor))
        self.rewritten = cursor.offset > 0 and not _is_same(descriptor, cursor)
        self.is_complete = True
        """Everything up to the last newline has been read."""
        self.damage: Counter[str] = Counter()
        self._decode = client.decoder()
        self._descriptor = descriptor
        self._last: Line | None = None
        self._cursor = Cursor() if self.rewritten else cursor
        if self._cursor.head_bytes < WINDOW_BYTES:
            head = os.pread(descriptor, WINDOW_BYTES, 0)
            self._cursor = self._cursor._replace(head_bytes=len(head), head_hash=_digest(head))

    def entries(self, budget_bytes: int) -> Iterator[tuple[Line, Entry]]:
        """The entries of about so many bytes, each with its line. To be called once."""
        for line in whole_lines(self._descriptor, self._cursor.offset):
            self._last = line
            if line.data is None:
                self.damage["too_long"] += 1
            else:
                for entry in self._decode(line.data, self.damage):
                    yield line, entry
            if line.end - self._cursor.offset >= budget_bytes:
                self.is_complete = False
                return

    def cursor(self) -> Cursor:
        """Where to go on after the entries that were read."""
        return self._cursor if self._last is None else _advanced(self._descriptor, self._cursor, self._last)


class _Notes:
    """Facts about the session as a whole."""

    def __init__(self) -> None:
        self.cwds: dict[str, None] = {}
        self.opted_out = False

    def take(self, entry: Entry) -> None:
        if isinstance(entry, Prompt):
            self.opted_out |= is_opt_out(entry.text)
        elif not isinstance(entry, Reply):
            return
        if entry.cwd not in self.cwds and len(self.cwds) < _MOST_CWDS:
            self.cwds[entry.cwd] = None


def has_head(path: str, cursor: Cursor) -> bool:
    """Whether the file begins as the transcript of this cursor did: how one that moved is recognised."""
    try:
        descriptor = open_transcript(path)
    except (OSError, NotATranscriptError):
        return False
    try:
        return _hash(descriptor, 0, cursor.head_bytes) == cursor.head_hash
    finally:
        os.close(descriptor)


def _is_same(descriptor: int, cursor: Cursor) -> bool:
    tail_start = cursor.offset - cursor.tail_bytes
    return (
        os.fstat(descriptor).st_size >= cursor.offset
        and _hash(descriptor, 0, cursor.head_bytes) == cursor.head_hash
        and _hash(descriptor, tail_start, cursor.tail_bytes) == cursor.tail_hash
    )


def _advanced(descriptor: int, cursor: Cursor, line: Line) -> Cursor:
    """The cursor behind `line`, the last that was read.

    A client may rewrite the file while it is being read. The new tail is hashed from the file, so it only stands if
    the file still holds the line that was read and what the pass began behind; otherwise no tail will match, and the
    next pass begins at byte 0.
    """
    tail_bytes = min(line.end, WINDOW_BYTES)
    tail = os.pread(descriptor, tail_bytes, line.end - tail_bytes)
    last_bytes = (line.data or b"\n")[-tail_bytes:]
    is_what_was_read = tail.endswith(last_bytes) and (cursor.offset == 0 or _is_same(descriptor, cursor))
    return Cursor(
        line.end, cursor.head_bytes, cursor.head_hash, tail_bytes, _digest(tail) if is_what_was_read else b"rewritten"
    )


def _hash(descriptor: int, start: int, length: int) -> bytes:
    return _digest(os.pread(descriptor, length, start))


def _digest(data: bytes) -> bytes:
    """A digest of the bytes and of how many there are, so that a short head never passes for a longer one."""
    return hashlib.blake2b(data, digest_size=16, salt=len(data).to_bytes(8, "big")).digest()
