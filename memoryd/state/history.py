"""Queries of `history`, `diff`, `why`, `undo` and `restore`: what was changed, by whom and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.model import Evidence
from memoryd.state.changes import INDEX_GROUP, planned_files
from memoryd.state.kept_changes import names_in

if TYPE_CHECKING:
    import sqlite3

    from memoryd.state.changes import PlannedFile
    from memoryd.state.database import Database


class Change(NamedTuple):
    id: int
    memory_dir: str
    kind: str
    why: str
    session_id: str
    undoes: int | None
    undone_by: int | None
    at: float
    state: str
    names: tuple[str, ...]
    """The memories it touched, without the index."""
    job_id: int | None = None
    is_kept: bool = True
    """What it did can still be shown and taken back."""


_CHANGES = (
    "SELECT *, NOT EXISTS (SELECT 1 FROM change_files JOIN blobs ON hash IN (before_hash, after_hash)"
    " WHERE change_id = memory_changes.id AND dropped_at IS NOT NULL) AS is_kept FROM memory_changes"
)


def recent(database: Database, memory_dir: str | None = None, name: str | None = None, limit: int = 50) -> list[Change]:
    """The last changes, newest first: of one directory, of one file, or of all."""
    rows = database.query(
        f"{_CHANGES} WHERE (?1 IS NULL OR memory_dir = ?1) AND (?2 IS NULL OR id IN"  # noqa: S608 - ours
        " (SELECT change_id FROM change_files WHERE name = ?2)) ORDER BY id DESC LIMIT ?3",
        (memory_dir, name, limit),
    )
    return [_change(row) for row in rows]


def find(database: Database, change_id: int) -> Change | None:
    rows = database.query(f"{_CHANGES} WHERE id = ?", (change_id,))
    return _change(rows[0]) if rows else None


def of_same_commit(database: Database, change_id: int) -> list[Change]:
    """The changes of other directories that were made with one, and are not undone."""
    rows = database.query(
        f"{_CHANGES} WHERE id <> ?1 AND state = 'applied' AND undone_by IS NULL"  # noqa: S608 - ours
        " AND commit_id = (SELECT commit_id FROM changes WHERE id = ?1) ORDER BY id",
        (change_id,),
    )
    return [_change(row) for row in rows]


def last_undoable(database: Database, memory_dir: str | None) -> Change | None:
    """Newest change that is applied, not undone, and no undo itself."""
    return next(
        (
            change
            for change in recent(database, memory_dir, limit=1000)
            if change.state == "applied" and change.kind != "undo" and change.undone_by is None
            if change.names or change.kind == "dream"  # which may have changed the index alone
        ),
        None,
    )


def files_of(database: Database, change_id: int) -> list[PlannedFile]:
    """The memories of a change, before and after, without the index. Raises DroppedError."""
    return [file for file in planned_files(database, change_id) if file.group != INDEX_GROUP]


class Heir(NamedTuple):
    """What a file became when a change took it away."""

    name: str
    is_renamed: bool
    """The change made it anew, of this one file."""


def heir_of(database: Database, change_id: int, name: str) -> Heir | None:
    """File that a file was merged into or renamed to, also where the contents of the change are no longer kept."""
    rows = database.query(
        "SELECT heir.name, heir.before_hash IS NULL AND (SELECT count(*) FROM change_files AS file WHERE file.change_id ="
        " heir.change_id AND file.group_number = heir.group_number) = 2 AS is_renamed"
        " FROM change_files AS merged JOIN change_files AS heir USING (change_id, group_number)"
        " WHERE change_id = ? AND merged.name = ? AND heir.after_hash IS NOT NULL ORDER BY heir.position LIMIT 1",
        (change_id, name),
    )
    return Heir(rows[0]["name"], bool(rows[0]["is_renamed"])) if rows else None


def evidence_of(database: Database, memory_dir: str, name: str) -> list[Evidence]:
    """What a memory rests on, oldest first; evidence of undone changes does not count."""
    return evidence_in(database, memory_dir, name).get(name, [])


def evidence_in(database: Database, memory_dir: str, name: str | None = None) -> dict[str, list[Evidence]]:
    """What the memories of a directory rest on, or one of them."""
    rows = database.query(
        "SELECT evidence.* FROM evidence JOIN changes ON changes.id = change_id WHERE evidence.memory_dir = ?1"
        " AND (?2 IS NULL OR name = ?2) AND state = 'applied' AND NOT EXISTS (SELECT 1 FROM change_files AS back WHERE"
        " back.change_id = undone_by AND back.name = evidence.name AND back.state = 'applied') AND NOT EXISTS (SELECT 1 FROM refused_evidence AS refused"
        " WHERE refused.memory_dir = evidence.memory_dir AND refused.message_id = evidence.message_id"
        " AND refused.hash = evidence.hash) ORDER BY evidence.id",
        (memory_dir, name),
    )
    found: dict[str, list[Evidence]] = {}
    for row in rows:
        piece = Evidence(row["session_id"], row["message_id"], row["quote"], row["hash"], row["said_at"])
        found.setdefault(row["name"], []).append(piece)
    return found


def changed_directories(database: Database) -> list[str]:
    """Every memory directory in which memoryd ever changed something."""
    rows = database.query("SELECT DISTINCT memory_dir FROM changes ORDER BY memory_dir")
    return [row["memory_dir"] for row in rows]


def made(database: Database, memory_dir: str) -> set[tuple[str, bytes]]:
    """Name and digest of every file version that memoryd made; versions that it only put back are left out."""
    rows = database.query(
        "SELECT DISTINCT name, after_hash FROM change_files JOIN changes ON changes.id = change_id WHERE memory_dir = ?1"
        " AND change_files.state = 'applied' AND group_number >= 0 AND after_hash IS NOT NULL AND (kind IN ('extract',"
        # A memory of somebody else stays theirs after a dream, or an accepted proposal, changed it.
        " 'remember') OR (kind IN ('dream', 'review') AND name IN (SELECT name FROM change_files JOIN changes ON changes.id ="
        " change_id WHERE memory_dir = ?1 AND kind IN ('extract', 'remember', 'dream', 'review') AND before_hash IS NULL AND"
        " change_files.state = 'applied')))",
        (memory_dir,),
    )
    return {(row["name"], row["after_hash"]) for row in rows}


def names_written(database: Database, memory_dir: str) -> set[str]:
    """Every file of a directory that memoryd ever wrote."""
    rows = database.query(
        "SELECT DISTINCT name FROM change_files JOIN changes ON changes.id = change_id WHERE memory_dir = ?"
        " AND change_files.state = 'applied' AND after_hash IS NOT NULL",
        (memory_dir,),
    )
    return {row["name"] for row in rows}


class Removal(NamedTuple):
    """What took a memory away."""

    change: Change
    why: str
    """Of this file: the words that took it back, if they did."""


def removal_of(database: Database, memory_dir: str, name: str) -> Removal | None:
    """The last change of a file, if that took it away."""
    rows = database.query(
        "SELECT change_id, change_files.why, after_hash FROM change_files JOIN changes ON changes.id = change_id"
        " WHERE memory_dir = ? AND name = ? AND change_files.state = 'applied' ORDER BY change_id DESC LIMIT 1",
        (memory_dir, name),
    )
    change = find(database, rows[0]["change_id"]) if rows and rows[0]["after_hash"] is None else None
    return Removal(change, rows[0]["why"]) if change else None


def evidence_by_hash(database: Database, session_id: str, digest: str) -> list[tuple[str, Evidence]]:
    """Evidence that a file names by itself, under whatever name and directory it was recorded; with that name."""
    rows = database.query(
        "SELECT * FROM evidence WHERE hash = ?1 AND (?2 = '' OR session_id = ?2) ORDER BY id LIMIT 1",
        (digest, session_id),
    )
    return [
        (row["name"], Evidence(row["session_id"], row["message_id"], row["quote"], row["hash"], row["said_at"]))
        for row in rows
    ]


def names_changed(database: Database, memory_dir: str) -> set[str]:
    """Every file of a directory that a change was about, also one that only took it away."""
    rows = database.query(
        "SELECT DISTINCT name FROM change_files JOIN changes ON changes.id = change_id WHERE memory_dir = ?"
        " AND group_number >= 0",
        (memory_dir,),
    )
    return {row["name"] for row in rows}


def change_counts(database: Database) -> dict[str, int]:
    """How many changes that still stand each memory directory has."""
    rows = database.query(
        "SELECT memory_dir, count(*) AS number FROM changes WHERE state = 'applied' AND undone_by IS NULL GROUP BY memory_dir"
    )
    return {row["memory_dir"]: row["number"] for row in rows}


def is_refused(database: Database, memory_dir: str, evidence: Evidence) -> bool:
    return bool(
        database.query(
            "SELECT 1 FROM refused_evidence WHERE memory_dir = ? AND message_id = ? AND hash = ?",
            (memory_dir, evidence.message_id, evidence.hash),
        )
    )


def refused_quotes(database: Database, memory_dir: str, message_id: str) -> list[str]:
    """The words of a message that led to memories which the user undid, forgot or said no to."""
    rows = database.query(
        "SELECT quote FROM refused_evidence JOIN evidence USING (memory_dir, message_id, hash)"
        " WHERE memory_dir = ?1 AND message_id = ?2 UNION SELECT quote FROM refused_evidence JOIN inbox_evidence"
        " USING (inbox_id, message_id, hash) WHERE memory_dir = ?1 AND message_id = ?2",
        (memory_dir, message_id),
    )
    return [row["quote"] for row in rows]


def rests_on(database: Database, memory_dir: str, evidence: Evidence) -> bool:
    """Whether these words have led to a memory before, in a change that was applied."""
    return bool(
        database.query(
            "SELECT 1 FROM evidence JOIN changes ON changes.id = change_id WHERE evidence.memory_dir = ?"
            " AND message_id = ? AND hash = ? AND state = 'applied'",
            (memory_dir, evidence.message_id, evidence.hash),
        )
    )


def remembered_quotes(database: Database, memory_dir: str, message_id: str) -> list[str]:
    """The words of a message that somebody asked to be remembered, and that a memory rests on since."""
    rows = database.query(
        "SELECT quote FROM evidence JOIN changes ON changes.id = change_id WHERE evidence.memory_dir = ?"
        " AND message_id = ? AND kind = 'remember' AND state = 'applied'",
        (memory_dir, message_id),
    )
    return [row["quote"] for row in rows]


def undone_dreams(database: Database, memory_dir: str) -> list[list[PlannedFile]]:
    """Files of each group that a dream changed and the user undid."""
    groups: dict[tuple[int, int], list[PlannedFile]] = {}
    for change_id in _undone_dreams(database, memory_dir):
        for file in files_of(database, change_id):
            if file.state == "applied":
                groups.setdefault((change_id, file.group), []).append(file)
    return list(groups.values())


def undone_indexes(database: Database, memory_dir: str) -> list[PlannedFile]:
    """Index before and after each dream that the user undid."""
    undone = _undone_dreams(database, memory_dir)
    return [file for change_id in undone if (file := index_of(database, change_id)) is not None]


def _undone_dreams(database: Database, memory_dir: str) -> list[int]:
    """Changes of undone dreams whose contents are all kept; part of one may be dropped by retention."""
    rows = database.query(
        f"{_CHANGES} WHERE memory_dir = ? AND kind = 'dream' AND undone_by IS NOT NULL AND is_kept", (memory_dir,)
    )
    return [row["id"] for row in rows]


def index_of(database: Database, change_id: int) -> PlannedFile | None:
    """Index before and after a change; None where it was not changed. Raises DroppedError."""
    files = [file for file in planned_files(database, change_id) if file.group == INDEX_GROUP]
    return next((file for file in reversed(files) if file.state == "applied"), None)


def is_cited(database: Database, memory_dir: str, message_id: str) -> bool:
    """Whether anything of a message has led to a memory, in a change that was applied. A line of a daily log is none."""
    return bool(
        database.query(
            "SELECT 1 FROM evidence JOIN changes ON changes.id = change_id WHERE evidence.memory_dir = ? AND message_id = ?"
            " AND state = 'applied' AND name NOT LIKE 'logs/%' LIMIT 1",
            (memory_dir, message_id),
        )
    )


def rescued(database: Database, change_id: int) -> list[tuple[str, bytes]]:
    rows = database.query(
        "SELECT name, data FROM rescued JOIN blobs USING (hash) WHERE change_id = ? AND dropped_at IS NULL",
        (change_id,),
    )
    return [(row["name"], row["data"]) for row in rows]


def _change(row: sqlite3.Row) -> Change:
    return Change(
        row["id"],
        row["memory_dir"],
        row["kind"],
        row["why"],
        row["session_id"],
        row["undoes"],
        row["undone_by"],
        row["at"],
        row["state"],
        names_in(row["names"]),
        row["job_id"],
        bool(row["is_kept"]),
    )
