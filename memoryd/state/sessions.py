"""Transcripts and turns in the database: every message once, whatever happens between two commits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from memoryd.model import Cursor, Found, Turn
from memoryd.state.projects import project_id_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from memoryd.model import Inventory, Reading
    from memoryd.projects import Project
    from memoryd.state.database import Database

VANISHED = "skipped(vanished)"
"""The outcome of a turn whose lines were taken out of the transcript before anybody worked on them."""


class KnownTranscript(NamedTuple):
    """Known state of a transcript file, as much as a scan needs."""

    id: int
    found: Found
    """As it was when last read; its size is -1 if it never was."""
    first_seen_at: float
    is_read_to_end: bool
    """Read up to its last newline, without an error."""
    has_unread_history: bool


class Position(NamedTuple):
    """Where to go on reading a transcript."""

    id: int
    path: str
    generation: int
    cursor: Cursor
    history_bytes: int
    last: tuple[Turn, ...]
    cwd: str
    project_id: int | None


class Step(NamedTuple):
    """One reading, to be stored."""

    position: Position
    reading: Reading
    project: Project | None
    cwd: str


class TurnEvent(NamedTuple):
    """Turn that appeared or ended, for the reporter."""

    turn_id: int
    session_id: str
    project_id: int | None
    is_new: bool
    has_ended: bool
    is_history: bool


# --- what is there ----------------------------------------------------------------------------------------------------


def odd_files(database: Database, root: str) -> dict[str, str]:
    return dict(map(tuple, database.query("SELECT path, kind FROM oddities WHERE root = ?", (root,))))


def has_files(database: Database) -> bool:
    """Whether any transcript was ever seen."""
    return bool(database.query("SELECT 1 FROM transcripts LIMIT 1"))


def last_scan(database: Database, root: str) -> float | None:
    rows = database.query("SELECT scanned_at FROM roots WHERE path = ?", (root,))
    return rows[0]["scanned_at"] if rows else None


def known_files(database: Database, root: str, only: Iterable[str] | None = None) -> dict[str, KnownTranscript]:
    """The files below a root that were there at the last look; with `only`, those in these folders."""
    sql = (
        "SELECT id, path, device, inode, size, mtime_ns, first_seen_at, is_complete AND error IS NULL AS is_read_to_end,"
        " offset < history_bytes AS has_unread_history FROM transcripts WHERE root = ? AND missing_at IS NULL"
    )
    if only is None:
        rows = database.query(sql, (root,))
    else:
        behind = chr(ord("/") + 1)
        within = sql + " AND path > ? AND path < ?"
        rows = [row for folder in only for row in database.query(within, (root, folder + "/", folder + behind))]
    return {
        path: KnownTranscript(number, Found(path, device, inode, size, mtime), seen, bool(is_read), bool(unread))
        for number, path, device, inode, size, mtime, seen, is_read, unread in rows
    }


def missing_file(database: Database, path: str) -> int | None:
    """The transcript that once stood at this path, if it was there before and went missing."""
    rows = database.query("SELECT id FROM transcripts WHERE path = ?", (path,))
    return rows[0]["id"] if rows else None


def record_inventory(
    database: Database,
    inventory: Inventory,
    *,
    client: str,
    new: Iterable[tuple[Found, str, int]],
    moved: Iterable[tuple[int, Found]],
    missing: Iterable[int],
    returned: Iterable[int],
    now: float,
    is_whole: bool = True,
) -> None:
    """Store what one scan found: new files with their session and the bytes that are history, moved, missing, returned ones.

    Only a scan of all folders counts as the last scan, which decides what is history, and replaces the odd files. A root
    that cannot be listed does not count as scanned.
    """
    root = inventory.root
    with database.transaction():
        if is_whole and root not in inventory.odd:
            database.execute(
                "INSERT INTO roots VALUES (?, ?, ?) ON CONFLICT (path) DO UPDATE SET scanned_at = excluded.scanned_at",
                (root, now, now),
            )
        if is_whole:
            database.execute("DELETE FROM oddities WHERE root = ?", (root,))
            database.execute_many(
                "INSERT OR REPLACE INTO oddities VALUES (?, ?, ?)",
                [(path, root, kind) for path, kind in inventory.odd.items()],
            )
        for number, found in moved:
            # Another process may have stored the new path first; then this row stays behind as missing.
            database.execute(
                "UPDATE OR IGNORE transcripts SET path = ?, root = ?, missing_at = NULL WHERE id = ?",
                (found.path, root, number),
            )
        database.execute_many(
            "INSERT INTO transcripts (client, root, path, session_id, first_seen_at, history_bytes, device, inode,"
            " mtime_ns, active_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO NOTHING",
            [
                (
                    client,
                    root,
                    found.path,
                    session_id,
                    now,
                    history_bytes,
                    found.device,
                    found.inode,
                    found.mtime_ns,
                    min(found.mtime_ns / 1e9, now),
                )
                for found, session_id, history_bytes in new
            ],
        )
        database.execute_many(
            "UPDATE transcripts SET missing_at = ? WHERE id = ? AND missing_at IS NULL", [(now, n) for n in missing]
        )
        database.execute_many("UPDATE transcripts SET missing_at = NULL WHERE id = ?", [(n,) for n in returned])


# --- reading ----------------------------------------------------------------------------------------------------------


def position_of(database: Database, transcript_id: int) -> Position:
    (row,) = database.query("SELECT * FROM transcripts WHERE id = ?", (transcript_id,))
    turns = database.query(
        "SELECT * FROM turns WHERE transcript_id = :id AND generation = :generation AND (start = (SELECT max(start)"
        " FROM turns WHERE transcript_id = :id AND generation = :generation) OR (outcome IS NULL AND end_reason IS NULL))"
        " ORDER BY start",
        {"id": transcript_id, "generation": row["generation"]},
    )
    return Position(
        transcript_id,
        row["path"],
        row["generation"],
        _cursor_of_row(row),
        row["history_bytes"],
        tuple(map(turn_of_row, turns)),
        row["cwd"],
        row["project_id"],
    )


def transcripts_of_session(database: Database, session_id: str) -> list[tuple[int, Found, Cursor]]:
    """All transcripts that were ever seen of a session."""
    rows = database.query("SELECT * FROM transcripts WHERE session_id = ? ORDER BY id", (session_id,))
    return [
        (
            row["id"],
            Found(row["path"], row["device"], row["inode"], row["size"], row["mtime_ns"]),
            _cursor_of_row(row),
        )
        for row in rows
    ]


def store_error(database: Database, transcript_id: int, error: str | None) -> None:
    """Record why a transcript could not be read; nothing is written if it is recorded already."""
    known = database.query("SELECT 1 FROM transcripts WHERE id = ? AND error IS ?", (transcript_id, error))
    if not known:
        database.execute("UPDATE transcripts SET error = ? WHERE id = ?", (error, transcript_id))


def store(database: Database, steps: list[Step], now: float) -> list[TurnEvent]:
    """Store readings in one transaction: turns, seen messages and cursors.

    A reading counts only if the cursor still is where the reading began: another process may have been faster.
    """
    events: list[TurnEvent] = []
    with database.transaction():
        for step in steps:
            position = step.position
            rows = database.query(
                "SELECT session_id FROM transcripts WHERE id = ? AND offset = ? AND generation = ?",
                (position.id, position.cursor.offset, position.generation),
            )
            if rows:
                _store_step(database, step, rows[0]["session_id"], now, events)
    return events


def _store_step(database: Database, step: Step, session_id: str, now: float, events: list[TurnEvent]) -> None:
    position, reading = step.position, step.reading
    generation = position.generation + reading.rewritten
    project_id = project_id_of(database, step.project, now) if step.project else position.project_id
    for turn in reading.turns:
        event = _store_turn(database, turn, position.id, generation, now)
        if event is not None:
            turn_id, is_new, has_ended, is_history = event
            events.append(TurnEvent(turn_id, session_id, project_id, is_new, has_ended, is_history))
    if reading.complete:
        database.execute(
            "UPDATE turns SET outcome = ? WHERE transcript_id = ? AND generation < ? AND outcome IS NULL",
            (VANISHED, position.id, generation),
        )
    cursor, found = reading.cursor, reading.found
    database.execute(
        "UPDATE transcripts SET device = ?, inode = ?, size = ?, mtime_ns = ?, generation = ?, offset = ?,"
        " head_bytes = ?, head_hash = ?, tail_bytes = ?, tail_hash = ?, is_complete = ?, active_at = ?,"
        " history_bytes = ?, cwd = ?, project_id = ?, opted_out = opted_out OR ?, damage = ?,"
        " error = NULL, missing_at = NULL WHERE id = ?",
        (
            found.device,
            found.inode,
            found.size,
            found.mtime_ns,
            generation,
            cursor.offset,
            cursor.head_bytes,
            cursor.head_hash,
            cursor.tail_bytes,
            cursor.tail_hash,
            reading.complete,
            min(found.mtime_ns / 1e9, now),
            reading.history_bytes,
            step.cwd,
            project_id,
            reading.opted_out,
            _damage(database, position.id, reading),
            position.id,
        ),
    )


_TURN_OF_MESSAGE = (
    "SELECT turns.*, transcripts.missing_at FROM seen_messages JOIN turns ON turns.id = turn_id"
    " JOIN transcripts ON transcripts.id = transcript_id WHERE seen_messages.id = ?"
)


def _store_turn(
    database: Database, turn: Turn, transcript_id: int, generation: int, now: float
) -> tuple[int, bool, bool, bool] | None:
    """Insert or update one turn; None where it is a copy of one that is known from elsewhere."""
    digests = [_digest(message_id) for message_id in turn.ids]
    known = [row for digest in digests for row in database.query(_TURN_OF_MESSAGE, (digest,))]
    calls = json.dumps(turn.pending_calls)
    if not known:
        ended_at = now if turn.end_reason else None
        number = database.insert(
            "INSERT INTO turns (transcript_id, generation, prompt_id, said_at, start, end, is_history, pending_calls,"
            " answered, end_reason, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                transcript_id,
                generation,
                turn.prompt_id,
                turn.said_at,
                turn.start,
                turn.end,
                turn.is_history,
                calls,
                turn.answered,
                turn.end_reason,
                ended_at,
            ),
        )
        _mark_seen(database, digests, number)
        return number, True, turn.end_reason is not None, turn.is_history
    row = known[0]
    _mark_seen(database, digests, row["id"])
    is_own = row["transcript_id"] == transcript_id
    if not is_own and not (row["missing_at"] is not None and row["outcome"] in (None, VANISHED)):
        return None
    # Its own lines again, or a copy whose original is gone: from now on the turn is read here.
    ends_now = row["end_reason"] is None and turn.end_reason is not None
    database.execute(
        "UPDATE turns SET transcript_id = ?, generation = ?, start = ?, end = ?, pending_calls = ?, answered = ?,"
        " end_reason = coalesce(end_reason, ?), ended_at = coalesce(ended_at, ?), outcome = nullif(outcome, ?)"
        " WHERE id = ?",
        (
            transcript_id,
            generation,
            turn.start,
            turn.end,
            calls,
            turn.answered,
            turn.end_reason,
            now if ends_now else None,
            VANISHED,
            row["id"],
        ),
    )
    return row["id"], False, ends_now, bool(row["is_history"])


def _mark_seen(database: Database, digests: list[bytes], turn_id: int) -> None:
    database.execute_many(
        "INSERT OR IGNORE INTO seen_messages VALUES (?, ?)", [(digest, turn_id) for digest in digests]
    )


def _digest(message_id: str) -> bytes:
    import hashlib  # noqa: PLC0415 - 5 ms that commands which only read need not pay

    return hashlib.blake2b(message_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _damage(database: Database, transcript_id: int, reading: Reading) -> str:
    counts: dict[str, int] = {}
    if not reading.rewritten:
        counts = json.loads(database.query("SELECT damage FROM transcripts WHERE id = ?", (transcript_id,))[0][0])
    for kind, number in reading.damage.items():
        counts[kind] = counts.get(kind, 0) + number
    return json.dumps(counts, sort_keys=True)


def turn_of_row(row: sqlite3.Row) -> Turn:
    return Turn(
        row["prompt_id"],
        (),
        row["said_at"],
        row["start"],
        row["end"],
        bool(row["is_history"]),
        tuple(json.loads(row["pending_calls"])),
        bool(row["answered"]),
        row["end_reason"],
    )


def _cursor_of_row(row: sqlite3.Row) -> Cursor:
    return Cursor(row["offset"], row["head_bytes"], row["head_hash"], row["tail_bytes"], row["tail_hash"])


class MessagePlace(NamedTuple):
    """Where the turn of a message stands in its transcript."""

    client: str
    path: str
    start: int
    end: int
    before: int | None
    """Where the turn before it begins."""


def place_of_message(database: Database, session_id: str, message_id: str) -> MessagePlace | None:
    """None where no turn of this session begins with the message."""
    rows = database.query(
        "SELECT client, path, start, end, (SELECT max(start) FROM turns AS earlier WHERE earlier.transcript_id = turns.transcript_id"
        " AND earlier.generation = turns.generation AND earlier.start < turns.start) FROM turns JOIN transcripts ON"
        " transcripts.id = transcript_id WHERE session_id = ? AND prompt_id = ? ORDER BY missing_at IS NOT NULL, turns.id"
        " DESC LIMIT 1",
        (session_id, message_id),
    )
    return MessagePlace(*rows[0]) if rows else None
