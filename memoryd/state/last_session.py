"""The last session on a branch, as recall searches it: apart from the rest of the notes, since every prompt waits for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from memoryd.state.database import Database


class LastSession(NamedTuple):
    """What recall searches of the last session on a branch."""

    session_id: str
    active_at: float
    parts: tuple[str, ...]


def last_on_branch(database: Database, root: str, branch: str, session_id: str) -> LastSession | None:
    """The last other session of a project on a branch that has notes; projects may share a memory directory, not these."""
    rows = database.query(
        "SELECT known.session_id, known.active_at, parts FROM session_notes AS known"
        " JOIN transcripts USING (session_id) JOIN projects ON projects.id = project_id"
        " WHERE branch = ? AND projects.root = ? AND known.session_id <> ? AND file <> ''"
        " AND NOT EXISTS (SELECT 1 FROM transcripts AS copy WHERE copy.session_id = known.session_id AND copy.opted_out)"
        " ORDER BY known.active_at DESC LIMIT 1",
        (branch, root, session_id),
    )
    return LastSession(rows[0][0], rows[0][1], tuple(json.loads(rows[0][2]))) if rows else None
