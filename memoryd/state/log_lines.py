"""Lines of daily logs in the database: what each comes of, and up to where the logs have been distilled."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.model import Evidence, UserMessage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from memoryd.memory_types import MemoryType
    from memoryd.model import Group
    from memoryd.state.database import Database


class LogLine(NamedTuple):
    """A line that extraction appended."""

    type: MemoryType | None
    """Of the memory that it shall become; None: it takes one back."""
    said: tuple[UserMessage, ...]
    evidence: tuple[Evidence, ...]


class LogCursor(NamedTuple):
    """Up to where a log has been distilled."""

    end: int
    tail: bytes


class LogRead(NamedTuple):
    """A log, up to where a dream has read it."""

    log: str
    end: int
    tail: bytes
    """Digest of the bytes before that."""
    lines: tuple[str, ...] = ()
    """Digests of the lines in which somebody says something."""


def digest_of_line(line: str) -> str:
    """Digest of a line without the space around it."""
    return hashlib.blake2b(line.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()


def add(database: Database, change_id: int, number: int, memory_dir: str, group: Group) -> None:
    """Record the line of a group, with the commit that appends it."""
    (change,) = group.changes
    line = (change.after or b"").decode("utf-8", "replace")
    said = json.dumps([message._replace(reply="")._asdict() for message in group.said], ensure_ascii=False)
    database.execute(
        "INSERT INTO log_lines VALUES (?, ?, ?, ?, ?, ?, ?)",
        (change_id, number, memory_dir, change.name, digest_of_line(line), group.type, said),
    )


def drop(database: Database, change_id: int, groups: Collection[int]) -> None:
    """Forget lines that could not be appended."""
    database.execute_many(
        "DELETE FROM log_lines WHERE change_id = ? AND group_number = ?", [(change_id, group) for group in groups]
    )


def lines_of(database: Database, memory_dir: str, log: str) -> dict[str, LogLine]:
    """The lines of one log that extraction appended, by the digest of each."""
    rows = database.query(
        "SELECT log_lines.* FROM log_lines JOIN changes ON changes.id = change_id WHERE log_lines.memory_dir = ? AND log = ?"
        " AND state = 'applied' ORDER BY change_id, group_number",
        (memory_dir, log),
    )
    evidence = _evidence_of(database, memory_dir, log)
    return {
        row["digest"]: LogLine(
            row["type"],
            tuple(_message(values) for values in json.loads(row["said"])),
            tuple(evidence.get((row["change_id"], row["group_number"]), ())),
        )
        for row in rows
    }


def read_lines(database: Database, memory_dir: str, log: str) -> set[str]:
    """Digests of the lines of a log that a dream has read, whatever came of them."""
    rows = database.query(
        "SELECT digest FROM read_log_lines JOIN changes ON changes.id = change_id"
        " WHERE log = ? AND memory_dir = ? AND state = 'applied'",
        (log, memory_dir),
    )
    return {row["digest"] for row in rows}


def note_outdated(database: Database, memory_dir: str, lines: Iterable[tuple[str, str]]) -> None:
    """Note lines, by log and digest, that the user has taken back or told anew."""
    database.execute_many(
        "INSERT OR IGNORE INTO outdated_log_lines VALUES (?, ?, ?)", [(memory_dir, *line) for line in lines]
    )


def outdated(database: Database, memory_dir: str) -> set[tuple[str, str]]:
    """Lines, by log and digest, that the user has taken back or told anew."""
    rows = database.query("SELECT log, digest FROM outdated_log_lines WHERE memory_dir = ?", (memory_dir,))
    return {(row["log"], row["digest"]) for row in rows}


def cursors(database: Database, memory_dir: str) -> dict[str, LogCursor]:
    """Up to where each log of a directory has been distilled."""
    rows = database.query("SELECT log, end_offset, tail FROM log_cursors WHERE memory_dir = ?", (memory_dir,))
    return {row["log"]: LogCursor(row["end_offset"], row["tail"]) for row in rows}


def plan_cursors(database: Database, change_id: int, logs: Iterable[tuple[str, int, bytes, tuple[str, ...]]]) -> None:
    """Record with a commit how far the logs are distilled when it is closed, and which lines that are."""
    for log, end, tail, lines in logs:
        database.execute("INSERT INTO change_logs VALUES (?, ?, ?, ?)", (change_id, log, end, tail))
        database.execute_many(
            "INSERT OR IGNORE INTO read_log_lines VALUES (?, ?, ?)",
            [(log, change_id, digest) for digest in lines],
        )


def reach_cursors(database: Database, change_id: int, memory_dir: str) -> None:
    """Move the cursors of a commit that is closed, whole."""
    database.execute(
        "INSERT INTO log_cursors SELECT ?2, log, end_offset, tail FROM change_logs WHERE change_id = ?1 ON CONFLICT DO UPDATE"
        " SET end_offset = excluded.end_offset, tail = excluded.tail",
        (change_id, memory_dir),
    )


def _evidence_of(database: Database, memory_dir: str, log: str) -> dict[tuple[int, int], list[Evidence]]:
    """What the lines of a log rest on, by change and group, in one query: recall waits for it."""
    rows = database.query(
        "SELECT evidence.* FROM log_lines JOIN evidence USING (change_id, group_number)"
        " WHERE log_lines.memory_dir = ? AND log = ? ORDER BY evidence.id",
        (memory_dir, log),
    )
    found: dict[tuple[int, int], list[Evidence]] = {}
    for row in rows:
        piece = Evidence(row["session_id"], row["message_id"], row["quote"], row["hash"], row["said_at"])
        found.setdefault((row["change_id"], row["group_number"]), []).append(piece)
    return found


def _message(values: dict[str, Any]) -> UserMessage:
    message = UserMessage(**values)
    return message._replace(after=tuple(message.after))
