"""Releases in the database: a client said that a session ends, or that it is about to forget what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.state.database import Database

_KEPT_SECONDS = 7 * 86_400.0
"""By then a session has been silent for longer than anybody waits."""


def release(database: Database, session_id: str, now: float) -> None:
    """What was said in the session until now need not wait for silence. The session need not be known yet."""
    with database.transaction():
        database.execute("INSERT OR REPLACE INTO releases VALUES (?, ?)", (session_id, now))
        database.execute("DELETE FROM releases WHERE at < ?", (now - _KEPT_SECONDS,))
