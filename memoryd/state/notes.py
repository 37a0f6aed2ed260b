"""Session notes in the database: what they are made of, and which are due."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING

from memoryd.model import Cursor
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from memoryd.state.database import Database

LIVE_SECONDS = 86_400.0
"""A session that was silent for longer is not noted by itself."""
NOTED_TOKENS = 10_000
"""A shorter session is not noted by itself."""
LEAST_BYTES = 30_000
"""A shorter transcript cannot hold so many; where offsets are numbers of rows that says nothing."""
MOST_FAILURES = 3
_AGAIN_TOKENS = 5_000
_AGAIN_CALLS = 3


class KeptNotes(NamedTuple):
    """What the notes of one session are made of."""

    session_id: str
    client: str
    path: str
    cursor: Cursor
    facts: str
    tokens: int
    calls: int
    last_calls: int
    """Calls in the last turn."""
    active_at: float
    written: Mapping[str, str] = MappingProxyType({})
    """What a model wrote, by section."""
    written_offset: int = 0
    """How far it has read."""
    written_tokens: int = 0
    written_calls: int = 0
    failures: int = 0
    """Runs of a model in a row that failed."""
    file: str = ""
    """Empty while the session is too short for notes."""
    revision: int = 0
    """0: none is stored."""
    branch: str = ""
    """That was checked out last; empty: not known."""
    parts: tuple[str, ...] = ()
    """The texts that recall searches."""


class NotedSession(NamedTuple):
    """A session and where its transcript is."""

    session_id: str
    client: str
    path: str
    cwd: str = ""
    project_root: str = ""
    memory_dir: str = ""
    active_at: float = 0.0
    offset: int = 0
    """How far it has been ingested."""


_PLACE = (
    "SELECT session_id, client, path, cwd, coalesce(projects.root, ''), coalesce(projects.memory_dir, ''), active_at, offset"
    " FROM transcripts LEFT JOIN projects ON projects.id = project_id WHERE missing_at IS NULL AND NOT opted_out"
)


def notes_of(database: Database, session_id: str) -> KeptNotes | None:
    rows = database.query("SELECT * FROM session_notes WHERE session_id = ?", (session_id,))
    return _of_row(rows[0]) if rows else None


def all_notes(database: Database) -> list[KeptNotes]:
    """The last active one first."""
    return [_of_row(row) for row in database.query("SELECT * FROM session_notes ORDER BY active_at DESC, session_id")]


def store(database: Database, notes: KeptNotes, write: Callable[[], None]) -> bool:
    """Write the file and store what it is made of; False where another process has stored something since.

    The file is written inside of the transaction: a kill in between leaves a file that is ahead of its row, and the next
    one makes the same file again.
    """
    with database.transaction():
        rows = database.query("SELECT revision FROM session_notes WHERE session_id = ?", (notes.session_id,))
        if (rows[0]["revision"] if rows else 0) != notes.revision:
            return False
        write()
        cursor = notes.cursor
        database.execute(
            "INSERT INTO session_notes (session_id, revision, client, path, offset, head_bytes, head_hash, tail_bytes,"
            " tail_hash, facts, tokens, calls, last_calls, written, written_offset, written_tokens, written_calls, failures, file,"
            " active_at, branch, parts)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET"
            " revision = excluded.revision, client = excluded.client, path = excluded.path, offset = excluded.offset,"
            " head_bytes = excluded.head_bytes, head_hash = excluded.head_hash, tail_bytes = excluded.tail_bytes,"
            " tail_hash = excluded.tail_hash, facts = excluded.facts, tokens = excluded.tokens, calls = excluded.calls,"
            " last_calls = excluded.last_calls, written = excluded.written,"
            " written_offset = excluded.written_offset, written_tokens = excluded.written_tokens,"
            " written_calls = excluded.written_calls, failures = excluded.failures, file = excluded.file,"
            " active_at = excluded.active_at, branch = excluded.branch, parts = excluded.parts, failed_offset = -1",
            (
                notes.session_id,
                notes.revision + 1,
                notes.client,
                notes.path,
                *cursor,
                notes.facts,
                notes.tokens,
                notes.calls,
                notes.last_calls,
                json.dumps(dict(notes.written), ensure_ascii=False),
                notes.written_offset,
                notes.written_tokens,
                notes.written_calls,
                notes.failures,
                notes.file,
                notes.active_at,
                notes.branch,
                json.dumps(notes.parts, ensure_ascii=False),
            ),
        )
    return True


def note_failure(database: Database, place: NotedSession, now: float) -> None:
    """The notes of a session cannot be made of what it holds now: they are tried again when it has grown."""
    empty = Cursor()
    database.execute(
        "INSERT INTO session_notes (session_id, revision, client, path, offset, head_bytes, head_hash, tail_bytes, tail_hash,"
        " facts, active_at, failed_offset) VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, '', ?, ?)"
        " ON CONFLICT (session_id) DO UPDATE SET failed_offset = excluded.failed_offset",
        (place.session_id, place.client, place.path, *empty, now, place.offset),
    )


def claim_hand_back(database: Database, session_id: str, size: int) -> bool:
    """Whether the notes are to be handed back: once for what the transcript is now."""
    with database.transaction():
        done = database.execute(
            "UPDATE session_notes SET handed_back = ? WHERE session_id = ? AND handed_back <> ?",
            (size, session_id, size),
        )
    return done.rowcount > 0


def due(database: Database, now: float, counting_rows: Sequence[str]) -> list[NotedSession]:
    """Live sessions with an ended turn that their notes do not know yet; of two transcripts of a session the last active.

    `counting_rows`: the clients whose offsets are numbers of rows.
    """
    rows = database.query(
        f"{_PLACE} AND error IS NULL AND is_complete AND (offset >= ? OR client IN (SELECT value FROM json_each(?)))"  # noqa: S608 - ours
        " AND active_at >= ?"
        " AND NOT EXISTS (SELECT 1 FROM turns WHERE transcript_id = transcripts.id AND outcome IS NULL AND end_reason IS NULL) AND NOT EXISTS (SELECT 1 FROM"
        " session_notes AS known WHERE known.session_id = transcripts.session_id AND (known.failed_offset ="
        " transcripts.offset OR (known.offset = transcripts.offset AND known.path = transcripts.path)))"
        " ORDER BY active_at DESC",
        (LEAST_BYTES, json.dumps(counting_rows), now - LIVE_SECONDS),
    )
    found: dict[str, NotedSession] = {}
    for row in rows:
        place = NotedSession(*row)
        found.setdefault(place.session_id, place)
    return list(found.values())


def due_by_model(database: Database, now: float) -> list[KeptNotes]:
    """Notes of live sessions to which a model has something to add: the first time, and after more of everything.

    A run that failed counts as one: the next is tried when there is more to say, and none after three failures.
    """
    rows = database.query(
        "SELECT * FROM session_notes WHERE file <> '' AND tokens >= ? AND active_at >= ? AND failures < ? AND"
        " (written_tokens = 0 OR (tokens - written_tokens >= ? AND (calls - written_calls >= ? OR last_calls = 0)))"
        " ORDER BY active_at",
        (NOTED_TOKENS, now - LIVE_SECONDS, MOST_FAILURES, _AGAIN_TOKENS, _AGAIN_CALLS),
    )
    return [_of_row(row) for row in rows]


def place_of(database: Database, session_id: str) -> NotedSession | None:
    """Where the transcript of a session is; the last active one, if there are several."""
    rows = database.query(f"{_PLACE} AND session_id = ? ORDER BY active_at DESC LIMIT 1", (session_id,))
    return NotedSession(*rows[0]) if rows else None


def expired(database: Database, since: float, now: float) -> list[tuple[str, str]]:
    """Sessions that were not active since then, with their notes. Activity in the future, by a clock that was set, ends now."""
    database.execute("UPDATE session_notes SET active_at = ? WHERE active_at > ?", (now, now))
    rows = database.query("SELECT session_id, file FROM session_notes WHERE active_at < ?", (since,))
    return [(row["session_id"], row["file"]) for row in rows]


def drop(database: Database, session_id: str) -> None:
    database.execute("DELETE FROM session_notes WHERE session_id = ?", (session_id,))


def _of_row(row: sqlite3.Row) -> KeptNotes:
    return KeptNotes(
        session_id=row["session_id"],
        client=row["client"],
        path=row["path"],
        cursor=Cursor(row["offset"], row["head_bytes"], row["head_hash"], row["tail_bytes"], row["tail_hash"]),
        facts=row["facts"],
        tokens=row["tokens"],
        calls=row["calls"],
        last_calls=row["last_calls"],
        active_at=row["active_at"],
        written=json.loads(row["written"]),
        written_offset=row["written_offset"],
        written_tokens=row["written_tokens"],
        written_calls=row["written_calls"],
        failures=row["failures"],
        file=row["file"],
        revision=row["revision"],
        branch=row["branch"],
        parts=tuple(json.loads(row["parts"])),
    )
