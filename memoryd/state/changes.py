"""Commits in the database: planned changes, recorded before a file is touched, and their result."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import MemorydError
from memoryd.state import inbox_intake, log_lines, model_calls, refused_evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.model import Changeset
    from memoryd.state.database import Database

INDEX_GROUP = -1


class PlannedFile(NamedTuple):
    """One file of a commit, with the name of the temporary file that carries it."""

    change_id: int
    position: int
    group: int
    why: str
    name: str
    temporary: str
    before: bytes | None
    before_mtime_ns: int | None
    after: bytes | None
    after_mtime_ns: int | None
    mode: int
    state: str = "prepared"
    offset: int | None = None
    """Of a line in a daily log: where it stands, or stood. `before` and `after` are the line alone."""


class DroppedError(MemorydError):
    """The contents of a change are gone: it is older than history is kept."""

    def __init__(self, change_id: int) -> None:
        super().__init__(
            f"Change {change_id} is older than history is kept (`history.keep_days` and `history.keep_megabytes` in the"
            " config): what it did can no longer be shown, undone or restored.",
            "memoryd history",
        )


class Part(NamedTuple):
    """What a commit changes in one directory."""

    memory_dir: str
    changeset: Changeset
    files: Sequence[PlannedFile]


def prepare(database: Database, parts: Sequence[Part], now: float) -> tuple[int, ...]:
    """Record a commit and everything needed to finish or drop it. One transaction, before the first file is touched.

    It is a change for each directory; returns their numbers, in order.
    """
    with database.transaction():
        numbers = tuple(_prepare(database, part, now) for part in parts)
        if len(numbers) > 1:
            database.execute_many(
                "UPDATE changes SET commit_id = ? WHERE id = ?", [(numbers[0], number) for number in numbers]
            )
    return numbers


def _prepare(database: Database, part: Part, now: float) -> int:
    memory_dir, changeset = part.memory_dir, part.changeset
    change_id = database.insert(
        "INSERT INTO changes (memory_dir, kind, why, session_id, job_id, undoes, at, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 'prepared')",
        (
            memory_dir,
            changeset.kind,
            changeset.why,
            changeset.session_id,
            changeset.job_id,
            changeset.undoes,
            now,
        ),
    )
    for file in part.files:
        _store_file(database, change_id, file)
    database.execute_many(
        "INSERT INTO change_turns VALUES (?, ?)", [(change_id, turn_id) for turn_id in changeset.turn_ids]
    )
    for number, group in enumerate(changeset.groups):
        database.execute_many(
            "INSERT INTO evidence (change_id, group_number, memory_dir, name, session_id, message_id, said_at, quote,"
            " hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    change_id,
                    number,
                    memory_dir,
                    name,
                    piece.session_id,
                    piece.message_id,
                    piece.said_at,
                    piece.quote,
                    piece.hash,
                )
                for name, piece in group.evidence
            ],
        )
        if group.said:
            log_lines.add(database, change_id, number, memory_dir, group)
    log_lines.plan_cursors(database, change_id, changeset.log_cursors)
    for place, held in ((memory_dir, changeset.held), *((place, (row,)) for place, row in changeset.elsewhere)):
        inbox_intake.add(
            database, place, held, session_id=changeset.session_id, job_id=changeset.job_id, change_id=change_id
        )
    for row_id in changeset.accepts:
        inbox_intake.begin_acceptance(database, row_id, change_id)
    return change_id


def add_file(database: Database, file: PlannedFile) -> None:
    """Record one more file of a prepared commit: an index that has to be made again."""
    with database.transaction():
        _store_file(database, file.change_id, file)


def planned_files(database: Database, change_id: int) -> list[PlannedFile]:
    """Files of a change, before and after. Raises DroppedError, so that dropped contents are not taken for empty files."""
    rows = database.query(
        "SELECT change_files.*, before.data AS before, after.data AS after, before.dropped_at IS NOT NULL OR"
        " after.dropped_at IS NOT NULL AS is_dropped FROM change_files"
        " LEFT JOIN blobs AS before ON before.hash = before_hash LEFT JOIN blobs AS after ON after.hash = after_hash"
        " WHERE change_id = ? ORDER BY position",
        (change_id,),
    )
    if any(row["is_dropped"] for row in rows):
        raise DroppedError(change_id)
    return [
        PlannedFile(
            row["change_id"],
            row["position"],
            row["group_number"],
            row["why"],
            row["name"],
            row["temporary"],
            row["before"],
            row["before_mtime_ns"],
            row["after"],
            row["after_mtime_ns"],
            row["mode"],
            row["state"],
            row["line_offset"],
        )
        for row in rows
    ]


def prepared(database: Database, memory_dir: str) -> list[int]:
    """Commits that were begun and never closed, oldest first."""
    rows = database.query(
        "SELECT id FROM changes WHERE memory_dir = ? AND state = 'prepared' ORDER BY id", (memory_dir,)
    )
    return [row["id"] for row in rows]


def prepared_elsewhere(database: Database, change_id: int) -> list[tuple[str, int]]:
    """Directories that the same commit was to change and has not closed, each with its change."""
    rows = database.query(
        "SELECT other.memory_dir, other.id FROM changes AS this JOIN changes AS other USING (commit_id)"
        " WHERE this.id = ?1 AND other.id <> ?1 AND other.state = 'prepared' ORDER BY other.id",
        (change_id,),
    )
    return [(row[0], row[1]) for row in rows]


def kind_of(database: Database, change_id: int) -> str:
    return str(database.query("SELECT kind FROM changes WHERE id = ?", (change_id,))[0][0])


def makes_files(database: Database, change_id: int) -> bool:
    """Whether it has a file that was not there before."""
    return any(file.before is None and file.group != INDEX_GROUP for file in planned_files(database, change_id))


def is_unmade(database: Database, change_id: int) -> bool:
    """Whether another directory's part of the same commit is closed and has met an edit."""
    rows = database.query(
        "SELECT 1 FROM changes AS this JOIN changes AS other USING (commit_id) JOIN change_files ON change_id = other.id"
        " WHERE this.id = ?1 AND other.id <> ?1 AND other.state <> 'prepared' AND change_files.state = 'conflicted'"
        " AND group_number >= 0 LIMIT 1",
        (change_id,),
    )
    return bool(rows)


def prepared_beside(database: Database, change_id: int) -> dict[str, bytes | None]:
    """Files of other directories that the same commit will change and has not closed, by path, as they will be."""
    others = database.query(
        "SELECT other.id, other.memory_dir FROM changes AS this JOIN changes AS other USING (commit_id)"
        " WHERE this.id = ?1 AND other.id <> ?1 AND other.state = 'prepared'",
        (change_id,),
    )
    return {
        os.path.join(other["memory_dir"], file.name): file.after
        for other in others
        for file in planned_files(database, other["id"])
        if file.group != INDEX_GROUP
    }


def directories(database: Database) -> list[str]:
    """The memory directories in which something was committed, as far as the history goes back."""
    return [row[0] for row in database.query("SELECT DISTINCT memory_dir FROM changes")]


def last_closed(database: Database, memory_dir: str) -> int:
    """The last commit in a directory that came to its end; 0 where there is none."""
    rows = database.query(
        "SELECT id FROM changes WHERE memory_dir = ? AND state <> 'prepared' ORDER BY id DESC LIMIT 1", (memory_dir,)
    )
    return rows[0]["id"] if rows else 0


def directories_with_prepared(database: Database) -> list[str]:
    return [row[0] for row in database.query("SELECT DISTINCT memory_dir FROM changes WHERE state = 'prepared'")]


def close(database: Database, conflicted: Mapping[int, set[int]], now: float, *, is_failed: bool = False) -> None:
    """Close the changes of a commit in one transaction: files, change, turns, refused evidence, job and inbox together.

    `conflicted` maps each change to the groups that were not applied because their files were edited. If there are any, the
    turns stay as they are and the work is done again; what was applied is known by its evidence. Groups that review held
    come into the inbox with that next run, those of a dream now, since its job closes the turns of the other groups.
    `is_failed`: no group could be written to the disk.

    Recovery closes the changes of a commit over several directories one by one: the last one closes the turns.
    """
    with database.transaction():
        for change_id, groups in conflicted.items():
            _close(database, change_id, groups, now, is_failed=is_failed)


def _close(database: Database, change_id: int, conflicted: set[int], now: float, *, is_failed: bool) -> None:
    groups = {row[0] for row in database.query(_GROUPS_OF_CHANGE, (change_id,))}
    has_failed = bool(groups) and groups <= conflicted
    database.execute(
        "UPDATE change_files SET state = 'applied' WHERE change_id = ? AND state = 'prepared'", (change_id,)
    )
    database.execute_many(
        "UPDATE change_files SET state = 'conflicted' WHERE change_id = ? AND group_number = ?",
        [(change_id, group) for group in conflicted],
    )
    database.execute_many(
        "DELETE FROM evidence WHERE change_id = ? AND group_number = ?",
        [(change_id, group) for group in conflicted],
    )
    log_lines.drop(database, change_id, conflicted)
    database.execute(
        "UPDATE changes SET state = ? WHERE id = ?", ("conflicted" if has_failed else "applied", change_id)
    )
    if not has_failed:
        _finish(database, change_id, now, is_whole=not conflicted and not database.query(_UNFINISHED, (change_id,)))
    (kind,) = database.query("SELECT kind FROM changes WHERE id = ?", (change_id,))[0]
    is_held_kept = not conflicted or (kind == "dream" and not is_failed)
    inbox_intake.close_commit(database, change_id, now, is_applied=not conflicted, is_held_kept=is_held_kept)


_UNFINISHED = (  # of the same commit: what is not applied yet, or met an edit
    "SELECT 1 FROM changes AS this JOIN changes AS other USING (commit_id) WHERE this.id = ?1 AND other.id <> ?1 AND"
    " (other.state <> 'applied' OR EXISTS (SELECT 1 FROM change_files WHERE change_id = other.id AND state = 'conflicted'"
    " AND group_number >= 0)) LIMIT 1"
)
_GROUPS_OF_CHANGE = "SELECT DISTINCT group_number FROM change_files WHERE change_id = ? AND group_number >= 0"


def _finish(database: Database, change_id: int, now: float, *, is_whole: bool) -> None:
    (change,) = database.query("SELECT * FROM changes WHERE id = ?", (change_id,))
    if is_whole:
        log_lines.reach_cursors(database, change_id, change["memory_dir"])
        database.execute(  # turns that had an outcome without a result were read again by a dream
            "UPDATE turns SET outcome = CASE WHEN outcome IS NULL THEN 'succeeded' ELSE 'seen_by_dream' END WHERE"
            " (outcome IS NULL OR outcome = 'succeeded_no_output') AND id IN"
            " (SELECT turn_id FROM change_turns WHERE change_id = ?)",
            (change_id,),
        )
    if is_whole and change["job_id"] is not None:
        database.execute(
            "UPDATE jobs SET outcome = 'succeeded', ended_at = ? WHERE id = ? AND outcome IS NULL",
            (now, change["job_id"]),
        )
        model_calls.forget_replies(database, change["job_id"])
        database.execute(  # the session no longer counts as failing
            "UPDATE transcripts SET failures = 0, retry_at = NULL WHERE id IN (SELECT transcript_id FROM turns JOIN"
            " change_turns ON turn_id = turns.id WHERE change_id = ?)",
            (change_id,),
        )
    _mark_undone(database, change_id, change["undoes"])
    refused_evidence.refuse(database, change_id, change)


def _mark_undone(database: Database, change_id: int, undone: int | None) -> None:
    """Mark the change that this one undoes as undone; the change before it in the chain is no longer undone, and so on."""
    by: int | None = change_id
    while undone is not None:
        database.execute("UPDATE changes SET undone_by = ? WHERE id = ?", (by, undone))
        below = database.query("SELECT undoes FROM changes WHERE id = ?", (undone,))[0][0]
        by = None if by is not None else undone
        undone = below


def record_lost(
    database: Database, memory_dir: str, why: str, name: str, lost: bytes, kept: bytes | None, now: float
) -> int | None:
    """Record a version of a file that lost against the one that is here, as a change that replaced it; nothing is written.

    So it is listed by `history`, and `undo` or `restore` bring it back. `kept` is None where the file was deleted here.
    None where the same is recorded already, as after a round that was cut off.
    """
    with database.transaction():
        if database.query(
            "SELECT 1 FROM change_files JOIN changes ON changes.id = change_id WHERE kind = 'sync' AND memory_dir = ?"
            " AND name = ? AND before_hash = ? AND after_hash IS ?",
            (memory_dir, name, digest(lost), None if kept is None else digest(kept)),
        ):
            return None
        change_id = database.insert(
            "INSERT INTO changes (memory_dir, kind, why, session_id, at, state) VALUES (?, 'sync', ?, '', ?, 'applied')",
            (memory_dir, why, now),
        )
        file = PlannedFile(change_id, 0, 0, why, name, "", lost, None, kept, None, 0o600, "applied")
        _store_file(database, change_id, file)
    return change_id


def rescue(database: Database, change_id: int, name: str, data: bytes) -> None:
    """Keep an edit that cannot be left in place; `history` shows it."""
    with database.transaction():
        database.execute(
            "INSERT INTO rescued (change_id, name, hash) VALUES (?, ?, ?)",
            (change_id, name, _store_blob(database, data)),
        )


def _store_file(database: Database, change_id: int, file: PlannedFile) -> None:
    database.execute(
        "INSERT INTO change_files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            change_id,
            file.position,
            file.group,
            file.why,
            file.name,
            file.temporary,
            _store_blob(database, file.before),
            file.before_mtime_ns,
            _store_blob(database, file.after),
            file.after_mtime_ns,
            file.mode,
            file.state,
            file.offset,
        ),
    )


def _store_blob(database: Database, data: bytes | None) -> bytes | None:
    if data is None:
        return None
    name = digest(data)
    database.execute(
        "INSERT INTO blobs (hash, data) VALUES (?, ?) ON CONFLICT (hash) DO UPDATE"
        " SET data = excluded.data, dropped_at = NULL WHERE dropped_at IS NOT NULL",
        (name, data),
    )
    return name


def digest(data: bytes) -> bytes:
    """Digest under which a content is stored."""
    return hashlib.blake2b(data, digest_size=32).digest()
