"""Intake of the inbox: rows come in, and are accepted, with the commit or the job that they belong to.

All of it happens inside the caller's transaction: `add` writes rows that nobody sees yet, `publish` shows them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from memoryd.state.inbox import IS_UNANSWERED, IS_WAITING, check_waited

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.model import Group, HeldGroup
    from memoryd.state.database import Database

MOST_WAITING = 200
"""Rows that may wait in one project; beyond that the oldest unconfirmed leave, then the oldest held."""
_CLOSED_AT_ONCE = ("refused", "dropped")
_MODIFIED = re.compile(rb"^\s*modified:.*\n", re.MULTILINE)


def add(
    database: Database,
    memory_dir: str,
    held: Sequence[HeldGroup],
    *,
    session_id: str = "",
    job_id: int | None = None,
    change_id: int | None = None,
) -> list[int]:
    """Write rows that are not to be seen yet; return their numbers."""
    return [_insert(database, memory_dir, row, session_id, job_id, change_id) for row in held if row.group.changes]


def publish(database: Database, row_ids: Sequence[int], now: float) -> None:
    """Show rows that were added. What waits there already, or got a no, is not stored a second time."""
    directories = set()
    for row_id in row_ids:
        if _is_known(database, row_id):
            _delete(database, row_id)
            continue
        database.execute(
            "UPDATE inbox SET at = ?1, closed_at = iif(state IN ('refused', 'dropped'), ?1, NULL) WHERE id = ?2",
            (now, row_id),
        )
        directories |= {row[0] for row in database.query("SELECT memory_dir FROM inbox WHERE id = ?", (row_id,))}
    for memory_dir in directories:
        _make_room(database, memory_dir, now)


def store_for_job(database: Database, job_id: int, held: Mapping[str, Sequence[HeldGroup]], now: float) -> None:
    """Put what review held, by directory, into the inbox with the end of a job that changes no file."""
    for memory_dir, rows in held.items():
        (job,) = database.query("SELECT session_id FROM jobs WHERE id = ?", (job_id,))
        publish(database, add(database, memory_dir, rows, session_id=job["session_id"], job_id=job_id), now)


def close_commit(database: Database, change_id: int, now: float, *, is_applied: bool, is_held_kept: bool) -> None:
    """Update the inbox at the end of a commit: close the row that it accepts, show the rows that it brings."""
    if is_applied:
        database.execute("UPDATE inbox SET closed_at = ?, outcome = 'accepted' WHERE accepted_by = ?", (now, change_id))
    else:  # the row goes on waiting
        database.execute("UPDATE inbox SET accepted_by = NULL WHERE accepted_by = ?", (change_id,))
    brought = [
        row["id"]
        for row in database.query("SELECT id FROM inbox WHERE brought_by = ? AND at IS NULL ORDER BY id", (change_id,))
    ]
    if is_held_kept:
        publish(database, brought, now)
    else:
        for row_id in brought:
            _delete(database, row_id)


def begin_acceptance(database: Database, row_id: int, change_id: int) -> None:
    """Bind a waiting row to the commit that makes its change. Raises AnsweredError."""
    begun = database.execute(
        f"UPDATE inbox SET accepted_by = ? WHERE id = ? AND {IS_UNANSWERED}",  # noqa: S608 - ours
        (change_id, row_id),
    )
    check_waited(database, row_id, begun)


def _insert(
    database: Database, memory_dir: str, held: HeldGroup, session_id: str, job_id: int | None, change_id: int | None
) -> int:
    group = held.group
    newest = group.evidence[-1][1].session_id if group.evidence else ""
    row_id = database.execute(
        "INSERT INTO inbox (memory_dir, state, reason, why, change_reason, from_index, fingerprint, session_id, job_id,"
        " brought_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            memory_dir,
            held.state,
            held.reason,
            group.why,
            group.reason,
            json.dumps(group.from_index),
            _fingerprint(group),
            session_id or newest,
            job_id,
            change_id,
        ),
    ).lastrowid
    assert row_id is not None  # noqa: S101 - an INSERT without an error has a row
    database.execute_many(
        "INSERT INTO inbox_files VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                row_id,
                position,
                change.name,
                "remove" if change.after is None else "write",
                change.before,
                _kept_text(change.after, held.state),
                change.after_mtime_ns,
                change.mode,
            )
            for position, change in enumerate(group.changes)
        ],
    )
    database.execute_many(
        "INSERT INTO inbox_evidence VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (row_id, position, name, piece.session_id, piece.message_id, piece.said_at, piece.quote, piece.hash)
            for position, (name, piece) in enumerate(group.evidence)
        ],
    )
    return row_id


def _kept_text(after: bytes | None, state: str) -> bytes | None:
    """Text to store; without secrets where it was refused, perhaps because of one."""
    if after is None or state not in _CLOSED_AT_ONCE:
        return after
    from memoryd.security.redact import redact  # noqa: PLC0415 - `status`, which only reads, need not pay for it

    return redact(after.decode("utf-8", "replace")).encode()


def _fingerprint(group: Group) -> bytes:
    """Digest of files, new text and evidence, without the time at which the text was made."""
    import hashlib  # noqa: PLC0415 - likewise

    files = [(change.name, change.after and _MODIFIED.sub(b"", change.after)) for change in group.changes]
    words = [(piece.message_id, piece.hash) for _, piece in group.evidence]
    return hashlib.blake2b(repr((files, words)).encode(), digest_size=32).digest()


def _is_known(database: Database, row_id: int) -> bool:
    """Whether the same change waits already or got a no, or rests on refused words alone."""
    return bool(
        database.query(
            "SELECT 1 FROM inbox AS new JOIN inbox AS other USING (memory_dir, fingerprint) WHERE new.id = ?1"
            " AND other.id <> ?1 AND other.at IS NOT NULL AND (other.closed_at IS NULL OR other.outcome = 'rejected'"
            " OR (other.state = new.state AND other.outcome IS NULL))"
            " UNION ALL SELECT 1 FROM inbox WHERE id = ?1 AND state IN ('held', 'unconfirmed')"
            " AND EXISTS (SELECT 1 FROM inbox_evidence WHERE inbox_id = ?1)"
            " AND NOT EXISTS (SELECT 1 FROM inbox_evidence AS words WHERE inbox_id = ?1 AND NOT EXISTS"
            " (SELECT 1 FROM refused_evidence AS refused WHERE refused.memory_dir = inbox.memory_dir"
            " AND refused.message_id = words.message_id AND refused.hash = words.hash)) LIMIT 1",
            (row_id,),
        )
    )


def _delete(database: Database, row_id: int) -> None:
    for table in ("inbox_evidence", "inbox_files"):
        database.execute(f"DELETE FROM {table} WHERE inbox_id = ?", (row_id,))  # noqa: S608 - ours
    database.execute("DELETE FROM inbox WHERE id = ?", (row_id,))


def _make_room(database: Database, memory_dir: str, now: float) -> None:
    (number,) = database.query(
        f"SELECT count(*) FROM inbox WHERE memory_dir = ? AND {IS_WAITING}",  # noqa: S608 - ours
        (memory_dir,),
    )[0]
    if number > MOST_WAITING:
        database.execute(
            f"UPDATE inbox SET closed_at = ?, outcome = 'displaced' WHERE id IN (SELECT id FROM inbox WHERE {IS_UNANSWERED}"  # noqa: S608 - ours
            " AND memory_dir = ? ORDER BY state <> 'unconfirmed', id LIMIT ?)",
            (now, memory_dir, number - MOST_WAITING),
        )
