"""Lines of daily logs in the database: what each comes of, and up to where the logs have been distilled."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.model import UserMessage

if TYPE_CHECKING:
    from collections.abc import Collection

    from memoryd.model import Group, MemoryType
    from memoryd.state.database import Database


class LogLine(NamedTuple):
    """A line that extraction appended."""

    change_id: int
    group_number: int
    type: MemoryType | None
    said: tuple[UserMessage, ...]


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
            row["change_id"],
            row["group_number"],
            row["type"],
            tuple(_message(values) for values in json.loads(row["said"])),
        )
        for row in rows
    }


def _message(values: dict[str, Any]) -> UserMessage:
    message = UserMessage(**values)
    return message._replace(after=tuple(message.after))
