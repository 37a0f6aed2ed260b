"""Words of the user that must not bring a memory back: what they led to was undone, forgotten or taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from memoryd.state.database import Database


def refuse(database: Database, change_id: int, change: sqlite3.Row) -> None:
    """Refuse the evidence of an undone or forgotten memory, so that the same words do not bring it back; until that is undone.

    An undo or redo is about the change at the root of its chain.
    """
    root = change
    while root["undoes"] is not None:
        (root,) = database.query("SELECT * FROM changes WHERE id = ?", (root["undoes"],))
        database.execute("DELETE FROM refused_evidence WHERE change_id = ?", (root["id"],))
    if change["kind"] == "restore":
        database.execute(
            "DELETE FROM refused_evidence WHERE memory_dir = ?2 AND (message_id, hash) IN (SELECT message_id, hash FROM"
            " evidence JOIN change_files ON change_files.change_id = ?1 AND change_files.name = evidence.name"
            " WHERE evidence.memory_dir = ?2)",
            (change_id, change["memory_dir"]),
        )
    if change["kind"] == "review":
        _apply_yes_to_evidence(database, change_id, change["memory_dir"])
    if root["kind"] == "extract" and change["kind"] != "undo":
        # A memory that the user withdrew in a session is refused with all its evidence, but for what the memory has under
        # another name now.
        database.execute(
            "INSERT OR IGNORE INTO refused_evidence (memory_dir, message_id, hash, change_id)"
            " SELECT DISTINCT evidence.memory_dir, message_id, hash, ?1 FROM"
            " evidence JOIN change_files ON change_files.change_id = ?1 AND change_files.name = evidence.name"
            " AND change_files.state = 'applied' AND after_hash IS NULL WHERE evidence.memory_dir = ?2 AND NOT EXISTS"
            " (SELECT 1 FROM evidence AS kept JOIN change_files AS written ON written.change_id = ?1 AND written.name ="
            " kept.name AND written.state = 'applied' AND written.after_hash IS NOT NULL WHERE kept.memory_dir = ?2 AND"
            " kept.message_id = evidence.message_id AND kept.hash = evidence.hash)",
            (change_id, change["memory_dir"]),
        )
    if (root["kind"] == "forget") == (change["kind"] == "undo"):
        return
    # All evidence of a forgotten file; of an undone change its own evidence, for the files that were put back.
    database.execute(
        "INSERT OR IGNORE INTO refused_evidence (memory_dir, message_id, hash, change_id)"
        " SELECT DISTINCT evidence.memory_dir, message_id, hash, ?1 FROM evidence"
        " JOIN change_files ON change_files.change_id = ?1 AND change_files.name = evidence.name"
        " AND change_files.state = 'applied' WHERE evidence.memory_dir = ?2 AND (?3 OR evidence.change_id = ?4)"
        # Without the evidence that a merge brought which was undone.
        " AND NOT (?3 AND EXISTS (SELECT 1 FROM changes AS own JOIN change_files AS back ON back.change_id = own.undone_by AND"
        " back.name = evidence.name AND back.state = 'applied' WHERE own.id = evidence.change_id))"
        # Without the evidence that a merge, another name or a move took from its sources: they have it again. The source of
        # a move is another directory of its commit.
        # And without that of a line in a daily log which has become a memory.
        " AND NOT ((?5 OR evidence.name LIKE 'logs/%') AND EXISTS (SELECT 1 FROM evidence AS other JOIN changes ON changes.id = other.change_id WHERE"
        " (other.memory_dir = ?2 OR (?6 AND other.memory_dir IN (SELECT beside.memory_dir FROM changes AS beside JOIN changes"
        " AS own USING (commit_id) WHERE own.id = ?4))) AND other.message_id = evidence.message_id AND"
        " other.hash = evidence.hash AND other.change_id <> ?4 AND changes.state = 'applied' AND changes.undone_by IS NULL))",
        (
            change_id,
            change["memory_dir"],
            root["kind"] == "forget",
            root["id"],
            root["kind"] in ("dream", "review", "extract", "adopt"),
            root["kind"] == "adopt",
        ),
    )


def _apply_yes_to_evidence(database: Database, change_id: int, memory_dir: str) -> None:
    """Accept evidence that was refused before; for a removal, refuse the evidence that only that memory had."""
    database.execute(
        "DELETE FROM refused_evidence WHERE memory_dir = ?2 AND (message_id, hash) IN"
        " (SELECT message_id, hash FROM evidence WHERE change_id = ?1)",
        (change_id, memory_dir),
    )
    database.execute(
        "INSERT OR IGNORE INTO refused_evidence (memory_dir, message_id, hash, change_id)"
        " SELECT DISTINCT evidence.memory_dir, message_id, hash, ?1 FROM evidence JOIN change_files ON"
        " change_files.change_id = ?1 AND change_files.name = evidence.name AND change_files.state = 'applied'"
        " AND after_hash IS NULL WHERE evidence.memory_dir = ?2 AND evidence.change_id <> ?1"
        # A memory that the same change writes has taken the evidence over.
        " AND NOT EXISTS (SELECT 1 FROM change_files AS written WHERE written.change_id = ?1 AND group_number >= 0"
        " AND written.after_hash IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM evidence AS other JOIN changes ON changes.id ="
        " other.change_id WHERE other.memory_dir = ?2 AND other.message_id = evidence.message_id AND other.hash ="
        " evidence.hash AND other.name <> evidence.name AND changes.state = 'applied' AND changes.undone_by IS NULL)",
        (change_id, memory_dir),
    )
