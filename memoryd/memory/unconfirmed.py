"""Memories that were said once and wait to be confirmed: in the state database, outside directory and index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.memory.quick_parse import quick_parse
from memoryd.model import StoredMemory, UserMessage
from memoryd.state import inbox

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.state.database import Database


def unconfirmed_memories(database: Database, memory_dir: str) -> list[StoredMemory]:
    """Those that wait in one directory, oldest first."""
    found = []
    for row in inbox.waiting(database, memory_dir):
        if row.held.state != "unconfirmed" or row.first.after is None:
            continue
        parsed = quick_parse(row.first.after)
        evidence = tuple(piece for _, piece in row.group.evidence)
        said_at = evidence[-1].said_at if evidence else None
        memory = StoredMemory(
            row.first.name,
            parsed.type,
            parsed.description,
            parsed.body,
            evidence=evidence,
            written_at=row.at if said_at is None else said_at,
            row_id=row.id,
        )
        found.append(memory)
    return found


def words_of_unconfirmed(memories: Iterable[StoredMemory]) -> list[UserMessage]:
    """The words that unconfirmed memories rest on: they were the user's when they were stored, so they can be quoted."""
    return [
        UserMessage(piece.session_id, piece.message_id, piece.said_at, piece.quote)
        for memory in memories
        for piece in memory.evidence
    ]
