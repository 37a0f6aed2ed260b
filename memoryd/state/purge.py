"""Removal of text from the state database: out of every column, out of freed pages, out of the WAL.

History stays usable: a content that held the text is replaced by the same content with the text masked, and every change that
needs it names the new one. So undo still finds the files as the last change left them, if they were masked alike.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import elapsed
from memoryd.state import settings
from memoryd.state.changes import INDEX_GROUP, digest
from memoryd.state.retention import compact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.security.unwanted import Unwanted
    from memoryd.state.database import Database

_DIGESTS = ("hash", "sha256", "digest", "fingerprint", "token", "request")
"""Ends of the names of columns that hold nobody's text."""
_PATHS = ("memory_dir", "path", "root", "cwd", "project_root", "about_file", "store")
"""Columns that hold the path of something that is there under this name."""
_NAMES = ("name", "key", "temporary", "files")
"""Columns that hold names of files, which other memories may have as well."""
_CHANGES = "JOIN changes ON changes.id = change_id WHERE true"
_ITS = "(memory_dir = ?1 AND name = ?2)"
_HASHES = " UNION ".join(
    f"SELECT {column} FROM {table} {_CHANGES} AND {column} IS NOT NULL AND {{which}}"  # noqa: S608 - ours
    for table, column in (("change_files", "before_hash"), ("change_files", "after_hash"), ("rescued", "hash"))
)
_WAIT_SECONDS = 5.0
_RETRY_SECONDS = 0.05


class _Table(NamedTuple):
    name: str
    key: tuple[str, ...]
    texts: tuple[str, ...]
    """Columns that may hold text."""


def found(database: Database, unwanted: Unwanted) -> set[bytes]:
    """The unwanted texts that the database holds."""
    return {
        text
        for table in _tables(database)
        for row in database.query(f"SELECT {', '.join(table.texts)} FROM {table.name}")  # noqa: S608 - ours
        for column, value in zip(table.texts, row, strict=True)
        if column not in _PATHS
        for text in unwanted.found_in(_bytes(value))
    }


def found_paths(database: Database, unwanted: Unwanted) -> list[str]:
    """Paths that hold an unwanted text: whoever has these directories has to rename them."""
    return sorted(
        {
            str(row[0])
            for table in _tables(database)
            for column in table.texts
            if column in _PATHS
            for row in database.query(f"SELECT DISTINCT {column} FROM {table.name}")  # noqa: S608 - ours
            if unwanted.is_in(_bytes(row[0]))
        }
    )


def mask(database: Database, unwanted: Unwanted, now: float, *, is_in_stores: bool) -> int:
    """Mask the text in every column, in one transaction; returns how many rows held it.

    While a store still has files with the text in their names, our record of these names stays: without it, the next exchange
    would take the files for new ones.
    """
    with database.transaction():
        database.execute("PRAGMA defer_foreign_keys = ON")
        settings.put(database, settings.PURGED, None, now)
        rows = _mask_contents(database, unwanted, "SELECT hash, data FROM blobs")
        for table in _tables(database):
            rows += _mask_rows(database, table, unwanted, without=(*_PATHS, "key") if is_in_stores else _PATHS)
    return rows


def remove_memory(
    database: Database, memory_dir: str, name: str, unwanted: Unwanted, link: bytes, index_dir: str, now: float
) -> int:
    """Delete every version of a memory, the words it rested on and its proposals; mask its texts where others wrote them down.

    What other memories say and rest on stays, also where it is the same sentence. That the words were refused stays, by hash.
    `link` leads to the memory from indexes of other directories, and the index of `index_dir` names it without one.
    """
    values = (memory_dir, name)
    database.execute(
        "PRAGMA secure_delete = ON"
    )  # what is freed is zeroed at once: a kill before `rewrite` leaves none of it
    with database.transaction():
        database.execute("PRAGMA defer_foreign_keys = ON")
        settings.put(database, settings.PURGED, None, now)
        its, others = (_HASHES.format(which=which) for which in (_ITS, f"NOT {_ITS}"))
        rows = database.execute(
            f"UPDATE blobs SET data = x'', dropped_at = ?3 WHERE hash IN ({its}) AND hash NOT IN ({others})",  # noqa: S608 - ours
            (*values, now),
        ).rowcount
        rows += _mask_contents(
            database,
            unwanted,
            f"SELECT DISTINCT blobs.hash, data FROM blobs JOIN change_files ON blobs.hash IN (before_hash, after_hash)"  # noqa: S608 - ours
            f" {_CHANGES} AND (memory_dir IN (?1, ?4) OR instr(data, ?3)) AND group_number = ?2",
            (memory_dir, INDEX_GROUP, link, index_dir),
        )
        rows += database.execute("DELETE FROM evidence WHERE memory_dir = ? AND name = ?", values).rowcount
        proposals = [
            row["id"]
            for row in database.query(
                "SELECT id FROM inbox WHERE memory_dir = ? AND id IN (SELECT inbox_id FROM inbox_files WHERE name = ?)",
                values,
            )
        ]
        for number in proposals:
            database.execute("UPDATE refused_evidence SET inbox_id = NULL WHERE inbox_id = ?", (number,))
            for where in ("inbox_files WHERE inbox_id", "inbox_evidence WHERE inbox_id", "inbox WHERE id"):
                rows += database.execute(f"DELETE FROM {where} = ?", (number,)).rowcount  # noqa: S608 - ours
        database.execute(
            "UPDATE change_files SET name = ?3 WHERE name = ?2 AND change_id IN (SELECT id FROM changes WHERE memory_dir = ?1)",
            (*values, "purged.md"),
        )
        for table in _tables(database):
            if table.name not in ("blobs", "evidence", "inbox_files", "inbox_evidence"):
                rows += _mask_rows(database, table, unwanted, without=(*_PATHS, *_NAMES))
    return rows


def indexes_with(database: Database, link: bytes, memory_dir: str | None = None) -> list[bytes]:
    """Every index of the history, of one directory or of whichever, that has an entry with this link."""
    rows = database.query(
        "SELECT DISTINCT data FROM blobs JOIN change_files ON hash IN (before_hash, after_hash) JOIN changes ON changes.id"
        " = change_id WHERE group_number = ?1 AND instr(data, ?2) AND (?3 IS NULL OR memory_dir = ?3)",
        (INDEX_GROUP, link, memory_dir),
    )
    return [row["data"] for row in rows]


def memories_with(database: Database, unwanted: Unwanted) -> list[tuple[str, str]]:
    """Directory and name of memories whose history holds the text."""
    hashes = [row["hash"] for row in database.query("SELECT hash, data FROM blobs") if unwanted.is_in(row["data"])]
    found = {
        (row["memory_dir"], row["name"])
        for number in hashes
        for row in database.query(
            f"SELECT memory_dir, name FROM change_files {_CHANGES} AND ?1 IN (before_hash, after_hash) AND group_number <> ?2",  # noqa: S608 - ours
            (number, INDEX_GROUP),
        )
    }
    return sorted(found)


def has_namesake(database: Database, memory_dir: str, name: str) -> bool:
    """Whether a memory in another directory has or had the same name: then the name tells nothing of this one."""
    return bool(
        database.query(
            f"SELECT 1 FROM change_files {_CHANGES} AND name = ? AND memory_dir <> ? LIMIT 1",  # noqa: S608 - ours
            (name, memory_dir),
        )
    )


def rewrite(database: Database) -> None:
    """Write the file anew without freed pages, and empty the WAL. Others who read keep that back: it is tried for a while."""
    until = elapsed() + _WAIT_SECONDS
    compact(database)
    while (is_kept := database.query("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]) and elapsed() < until:
        threading.Event().wait(_RETRY_SECONDS)
    if not is_kept:
        settings.drop(database, settings.PURGED)


def is_unfinished(database: Database) -> bool:
    """Whether a purge was killed before `rewrite` was done: then its last step has to be made by the next one, or by the upkeep."""
    return settings.get(database, settings.PURGED) is not None


# --- rows -------------------------------------------------------------------------------------------------------------


def _tables(database: Database) -> Iterator[_Table]:
    for (name,) in database.query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
        columns = database.query(f"PRAGMA table_info({name})")
        texts = tuple(
            column["name"]
            for column in columns
            if column["type"] in ("TEXT", "BLOB") and not column["name"].endswith(_DIGESTS)
        )
        key = tuple(column["name"] for column in columns if column["pk"]) or ("rowid",)
        if texts:
            yield _Table(name, key, texts)


def _mask_rows(database: Database, table: _Table, unwanted: Unwanted, without: tuple[str, ...]) -> int:
    texts = [column for column in table.texts if column not in without and (table.name, column) != ("blobs", "data")]
    if not texts:
        return 0
    held = 0
    where = " AND ".join(f"{column} IS ?" for column in table.key)
    for row in database.query(f"SELECT {', '.join((*table.key, *texts))} FROM {table.name}"):  # noqa: S608 - ours
        new = {
            column: masked if isinstance(value, bytes) else masked.decode("utf-8", "surrogateescape")
            for column, value in zip(texts, row[len(table.key) :], strict=True)
            if value is not None and (masked := unwanted.masked(_bytes(value))) != _bytes(value)
        }
        if new:
            held += 1
            database.execute(
                f"UPDATE {table.name} SET {', '.join(f'{column} = ?' for column in new)} WHERE {where}",  # noqa: S608 - ours
                (*new.values(), *row[: len(table.key)]),
            )
    return held


def _mask_contents(
    database: Database, unwanted: Unwanted, query: str, values: tuple[str | int | bytes, ...] = ()
) -> int:
    """Replace contents by masked ones, under their own hash, and name these wherever the old ones were named."""
    held = 0
    for old, data in database.query(query, values):
        if not unwanted.is_in(data):
            continue
        held += 1
        masked = unwanted.masked(data)
        new = digest(masked)
        database.execute("INSERT OR IGNORE INTO blobs (hash, data) VALUES (?, ?)", (new, masked))
        for table, column in (("change_files", "before_hash"), ("change_files", "after_hash"), ("rescued", "hash")):
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, old))  # noqa: S608 - ours
        database.execute("DELETE FROM blobs WHERE hash = ?", (old,))
    return held


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return value if isinstance(value, bytes) else b""
