"""Tail of one transcript: reads from a cursor on; returns turns and the next cursor."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memoryd.model import Cursor, Prompt, Reading, Reply
from memoryd.sources.session import NotATranscriptError, digest
from memoryd.transcripts.opt_out import is_opt_out
from memoryd.transcripts.turns import TurnFold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.clients.base import CodingClient
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
    with client.open_session(path) as session:
        rewritten = cursor.offset > 0 and not _is_same(session, cursor)
        if rewritten:
            # If history had been read to its end, every message of it is known by its id: what is not known is new,
            # wherever it stands now.
            history_bytes = 0 if cursor.offset >= history_bytes else min(history_bytes, session.end)
            cursor = Cursor()
        elif cursor.offset == 0 and history_bytes > 0 and session.end != session.found.size:
            history_bytes = session.end  # the scan knows how long a file is, not how long the text that is made of it
        if cursor.head_bytes < WINDOW_BYTES:
            head = session.head(WINDOW_BYTES)
            cursor = cursor._replace(head_bytes=len(head), head_hash=digest(head))
        fold = TurnFold(() if rewritten else last, history_bytes=history_bytes)
        notes = _Notes()
        decode = client.decoder(path)
        line = None
        read_bytes = 0
        complete = True
        for line in session.lines(cursor.offset):
            if line.data is None:
                notes.damage["too_long"] += 1
                read_bytes += line.end - line.start
            else:
                read_bytes += len(line.data)
                for entry in decode(line.data, notes.damage):
                    fold.feed(line.start, line.end, entry)
                    notes.take(entry)
            if read_bytes >= budget_bytes:
                complete = False
                break
        return Reading(
            cursor=cursor if line is None else _advanced(session, cursor, line),
            turns=fold.turns(),
            found=session.found,
            complete=complete,
            rewritten=rewritten,
            history_bytes=history_bytes,
            cwds=tuple(filter(None, notes.cwds)),
            opted_out=notes.opted_out,
            damage=dict(notes.damage),
            read_bytes=read_bytes,
        )


class _Notes:
    """Facts about the session as a whole."""

    def __init__(self) -> None:
        self.damage: Counter[str] = Counter()
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
