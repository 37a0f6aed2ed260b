"""Lines of daily logs in the database: what each comes of, and up to where the logs have been distilled."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.model import Evidence, UserMessage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from memoryd.model import Group, MemoryType
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


def digest_of_line(line: str) -> str:
    """Digest of a line without the space around it."""
    return hashlib.blake2b(line.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()


def add(database: Database, change_id: int, number: int, memory_dir: str, group: Group) -> None:
    """Record the line of a group, with the commit that appends it."""
    (change,) = group.changes
    line = (change.after or b"").decode("utf-8", "replace")
    said = json.dumps([message._asdict() for message in group.said], ensure_ascii=False)
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
    return {
        row["digest"]: LogLine(
            row["type"],
            tuple(_message(values) for values in json.loads(row["said"])),
            _evidence_of(database, row["change_id"], row["group_number"]),
        )
        for row in rows
    }


def undistilled(database: Database, memory_dir: str) -> list[tuple[int, str, str, float]]:
    """Lines that were appended since the last distillation, in one query: a number for each, its log, the line, when said."""
    rows = database.query(
        "SELECT line.change_id * 1000 + line.group_number AS number, log, data, coalesce((SELECT max(said_at) FROM evidence"
        " WHERE change_id = line.change_id AND group_number = line.group_number), at) AS said_at FROM log_lines AS line"
        " JOIN changes ON changes.id = line.change_id JOIN change_files AS file ON file.change_id = line.change_id AND"
        " file.group_number = line.group_number JOIN blobs ON hash = after_hash AND dropped_at IS NULL"
        " WHERE line.memory_dir = ?1 AND type IS NOT NULL AND changes.state = 'applied' AND undone_by IS NULL AND line.change_id >"
        " (SELECT coalesce(max(change_id), 0) FROM change_logs JOIN changes AS night ON night.id = change_id"
        " WHERE night.memory_dir = ?1 AND night.state = 'applied') ORDER BY number",
        (memory_dir,),
    )
    return [(row["number"], row["log"], row["data"].decode().strip(), row["said_at"]) for row in rows]


def judged(database: Database, memory_dir: str, log: str) -> set[str]:
    """Digests of the lines of a log that extraction appended and a later dream has read, whatever came of them."""
    rows = database.query(
        "SELECT digest FROM log_lines AS line JOIN change_files AS file USING (change_id, group_number)"
        " WHERE line.memory_dir = ?1 AND log = ?2 AND EXISTS (SELECT 1 FROM change_logs AS reached JOIN changes AS dream"
        " ON dream.id = reached.change_id WHERE dream.memory_dir = ?1 AND reached.log = ?2 AND dream.state = 'applied'"
        " AND dream.id > line.change_id AND reached.end_offset > file.line_offset)",
        (memory_dir, log),
    )
    return {row["digest"] for row in rows}


def logs_with_lines(database: Database, memory_dir: str) -> set[str]:
    """The logs of a directory that extraction has appended to."""
    return {row[0] for row in database.query("SELECT DISTINCT log FROM log_lines WHERE memory_dir = ?", (memory_dir,))}


def cursors(database: Database, memory_dir: str) -> dict[str, LogCursor]:
    """Up to where each log of a directory has been distilled."""
    rows = database.query("SELECT log, end_offset, tail FROM log_cursors WHERE memory_dir = ?", (memory_dir,))
    return {row["log"]: LogCursor(row["end_offset"], row["tail"]) for row in rows}


def plan_cursors(database: Database, change_id: int, reached: Iterable[tuple[str, int, bytes]]) -> None:
    """Record with a commit how far the logs are distilled when it is closed."""
    database.execute_many("INSERT INTO change_logs VALUES (?, ?, ?, ?)", [(change_id, *cursor) for cursor in reached])


def reach_cursors(database: Database, change_id: int, memory_dir: str) -> None:
    """Move the cursors of a commit that is closed, whole."""
    database.execute(
        "INSERT INTO log_cursors SELECT ?2, log, end_offset, tail FROM change_logs WHERE change_id = ?1 ON CONFLICT DO UPDATE"
        " SET end_offset = excluded.end_offset, tail = excluded.tail",
        (change_id, memory_dir),
    )


def _evidence_of(database: Database, change_id: int, group: int) -> tuple[Evidence, ...]:
    rows = database.query(
        "SELECT * FROM evidence WHERE change_id = ? AND group_number = ? ORDER BY id", (change_id, group)
    )
    return tuple(
        Evidence(row["session_id"], row["message_id"], row["quote"], row["hash"], row["said_at"]) for row in rows
    )


def _message(values: dict[str, Any]) -> UserMessage:
    message = UserMessage(**values)
    return message._replace(after=tuple(message.after))
