"""The database of recall: one file in the state directory, apart from the ledger.

Hooks read and write here while a dream commits there, and must not wait for its disk. Everything in it can be made anew or
done without: a file that is damaged, or of another version, is begun again.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from memoryd.errors import BusyError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from memoryd.paths import Paths

VERSION = 1
"""Of the tables and of what terms are made: another one, and the file is begun anew."""
BUSY_SECONDS = 2.0
_LOOK_SECONDS = 0.2
_SCHEMA = """
CREATE TABLE directories (
    id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,               -- as the system has it: a path need not be text
    mtime_ns INTEGER NOT NULL DEFAULT 0,     -- of the directory itself, when its files were last looked at,
    checked_at REAL NOT NULL DEFAULT 0,      -- and when that was
    dead INTEGER NOT NULL DEFAULT 0          -- memories that have gone and whose postings are still there
) STRICT;
CREATE TABLE memories (                      -- as they were when their terms were taken
    id INTEGER PRIMARY KEY AUTOINCREMENT,    -- never given twice: what is left of a dead one is nobody's
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    name TEXT NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    type TEXT NOT NULL,
    has_secret INTEGER NOT NULL,             -- somebody wrote one there: it is not handed over
    UNIQUE (directory_id, name)
) STRICT;
CREATE TABLE postings (                      -- which memories have a term, and how much it weighs in them
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    term TEXT NOT NULL,
    entries BLOB NOT NULL,                   -- unsigned 32-bit numbers: the memory's id, then eight bits of weight
    PRIMARY KEY (directory_id, term)
) STRICT, WITHOUT ROWID;
CREATE TABLE surfaced (                      -- what a session was shown
    session_id TEXT NOT NULL,
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    name TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    at REAL NOT NULL,
    is_forgotten INTEGER NOT NULL DEFAULT 0, -- the session was compacted since
    used TEXT NOT NULL DEFAULT ''            -- read or quoted: what the session did with it
) STRICT;
CREATE INDEX surfaced_by_session ON surfaced (session_id);
CREATE INDEX surfaced_by_memory ON surfaced (directory_id, name);
CREATE TABLE rot (                           -- what a memory names and its repository no longer has
    directory_id INTEGER NOT NULL REFERENCES directories (id),
    name TEXT NOT NULL,
    ctime_ns INTEGER NOT NULL,               -- of the memory that was looked at
    gone TEXT NOT NULL,                      -- JSON: a list of what and why, in words
    PRIMARY KEY (directory_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE rot_checks (
    directory_id INTEGER PRIMARY KEY REFERENCES directories (id),
    stamp TEXT NOT NULL,                     -- of the repository
    at REAL NOT NULL
) STRICT;
"""


class Database:
    """A connection whose failures are MemorydErrors."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def close(self) -> None:
        self._connection.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing; the write lock is taken first."""
        return self._begun("BEGIN IMMEDIATE")

    def snapshot(self) -> AbstractContextManager[None]:
        """What is read inside is of one moment, whatever others write meanwhile."""
        return self._begun("BEGIN")

    @contextmanager
    def _begun(self, how: str) -> Iterator[None]:
        self.execute(how)
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        with _in_words():
            return self._connection.execute(sql, values)

    def query(self, sql: str, values: Any = ()) -> list[Any]:
        with _in_words():
            return self._connection.execute(sql, values).fetchall()

    def execute_many(self, sql: str, rows: Iterable[Any]) -> None:
        with _in_words():
            self._connection.executemany(sql, rows)


def open_database(paths: Paths) -> Database:
    """Raises StateError, BusyError. Makes the file where there is none, and anew where it cannot be used."""
    try:
        return _opened(paths)
    except sqlite3.OperationalError as error:
        raise _error(error) from error
    except sqlite3.DatabaseError:
        _put_aside(paths)
    try:
        return _opened(paths)
    except sqlite3.Error as error:
        raise _error(error) from error


def open_to_look(paths: Paths) -> Database | None:
    """Without ever writing; None where there is nothing that this memoryd could read."""
    from urllib.parse import quote  # noqa: PLC0415 - 3 ms that a hook need not pay

    try:
        connection = sqlite3.connect(f"file:{quote(paths.recall_file)}?mode=ro", uri=True, timeout=_LOOK_SECONDS)
    except sqlite3.Error:
        return None
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return Database(connection)
    except sqlite3.Error:
        pass
    connection.close()
    return None


def _opened(paths: Paths) -> Database:
    try:
        os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
        os.close(os.open(paths.recall_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StateError(
            f"{paths.recall_file} cannot be opened: {error.strerror}.", f"ls -ld {paths.state_dir}"
        ) from error
    connection = sqlite3.connect(paths.recall_file, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            _begin(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # with a WAL: no wait for the disk, and never half a commit
    except BaseException:
        connection.close()
        raise
    return Database(connection)


def _begin(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (name,) in tables.fetchall():
            connection.execute(f'DROP TABLE "{name}"')
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _put_aside(paths: Paths) -> None:
    """What is damaged goes: all of it can be made anew."""
    for suffix in ("-shm", "-wal", ""):
        with suppress(FileNotFoundError):
            os.remove(paths.recall_file + suffix)


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _error(error) from error


def _error(error: sqlite3.Error) -> StateError | BusyError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyError("Another process has kept the file of recall locked for seconds.", "memoryd doctor")
    return StateError(f"The file of recall failed: {error}.", "memoryd doctor")
