"""Tail of one transcript: reads from a cursor on; returns turns and the next cursor."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.model import Cursor, Prompt, Reading, Reply
from memoryd.sources.session import NotATranscriptError, digest
from memoryd.transcripts.opt_out import is_opt_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.clients.base import CodingClient, Decoder
    from memoryd.model import Entry, Turn
    from memoryd.sources.lines import Line
    from memoryd.sources.session import OpenSession

WINDOW_BYTES = 4096
"""How much of the head, and of what stands before the cursor, is hashed to recognise a transcript."""

_MOST_CWDS = 16


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

    Raises OSError and NotATranscriptError like the client's `open_session`.
    """
    from memoryd.transcripts.turns import TurnFold  # noqa: PLC0415 - 10 ms that a hook, for which somebody waits, need not pay

    with opened_tail(client, path, cursor) as tail:
        if tail.rewritten:
            # If history had been read to its end, every message of it is known by its id: what is not known is new,
            # wherever it stands now.
            history_bytes = 0 if cursor.offset >= history_bytes else min(history_bytes, tail.end)
        elif cursor.offset == 0 and history_bytes > 0 and tail.end != tail.found.size:
            history_bytes = tail.end  # the scan knows how long a file is, not how long the text that is made of it
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
            read_bytes=tail.read_bytes,
        )


@contextmanager
def opened_tail(client: CodingClient, path: str, cursor: Cursor) -> Iterator[TranscriptTail]:
    """What came after the cursor. Raises OSError and NotATranscriptError like the client's `open_session`."""
    with client.open_session(path) as session:
        yield TranscriptTail(session, client.decoder(path), cursor)


class TranscriptTail:
    """What stands in a transcript behind a cursor; all of it, where what stood before the cursor is no longer there."""

    def __init__(self, session: OpenSession, decode: Decoder, cursor: Cursor) -> None:
        self.found = session.found
        self.end = session.end
        self.rewritten = cursor.offset > 0 and not _is_same(session, cursor)
        self.is_complete = True
        """Everything up to the last newline has been read."""
        self.read_bytes = 0
        self.damage: Counter[str] = Counter()
        self._session = session
        self._decode = decode
        self._last: Line | None = None
        self._cursor = Cursor() if self.rewritten else cursor
        if self._cursor.head_bytes < WINDOW_BYTES:
            head = session.head(WINDOW_BYTES)
            self._cursor = self._cursor._replace(head_bytes=len(head), head_hash=digest(head))

    def entries(self, budget_bytes: int) -> Iterator[tuple[Line, Entry]]:
        """The entries of about so many bytes, each with its line. To be called once."""
        for line in self._session.lines(self._cursor.offset):
            self._last = line
            if line.data is None:
                self.damage["too_long"] += 1
                self.read_bytes += line.end - line.start
            else:
                self.read_bytes += len(line.data)
                for entry in self._decode(line.data, self.damage):
                    yield line, entry
            if self.read_bytes >= budget_bytes:
                self.is_complete = False
                return

    def cursor(self) -> Cursor:
        """Where to go on after the entries that were read."""
        return self._cursor if self._last is None else _advanced(self._session, self._cursor, self._last)


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


def has_head(client: CodingClient, path: str, cursor: Cursor) -> bool:
    """Whether the session begins as that of this cursor did: how one that moved is recognised."""
    try:
        with client.open_session(path) as session:
            return digest(session.head(cursor.head_bytes)) == cursor.head_hash
    except (OSError, NotATranscriptError):
        return False


def _is_same(session: OpenSession, cursor: Cursor) -> bool:
    return (
        digest(session.head(cursor.head_bytes)) == cursor.head_hash
        and digest(session.bytes_before(cursor.offset, cursor.tail_bytes)) == cursor.tail_hash
    )


def _advanced(session: OpenSession, cursor: Cursor, line: Line) -> Cursor:
    """The cursor behind `line`, the last that was read.

    A client may rewrite a file while it is being read. The new tail is hashed from the file, so it only stands if the file
    still holds the line that was read and what the pass began behind; otherwise no tail will match, and the next pass begins
    at the first line.
    """
    tail = session.bytes_before(line.end, WINDOW_BYTES)
    last_bytes = (line.data or b"\n")[-WINDOW_BYTES:]
    is_what_was_read = tail.endswith(last_bytes) and (cursor.offset == 0 or _is_same(session, cursor))
    return Cursor(
        line.end, cursor.head_bytes, cursor.head_hash, len(tail), digest(tail) if is_what_was_read else b"rewritten"
    )
