"""The database of recall: one file in the state directory, apart from the ledger.

Hooks read and write here while a dream commits there, and must not wait for its disk. Everything in it can be made anew or
done without: a file that is damaged, or of another version, is begun again.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from memoryd.clock import elapsed
from memoryd.errors import BusyError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from memoryd.paths import Paths

VERSION = 1
"""Of the tables and of what terms are made: another one, and the file is begun anew."""
BUSY_SECONDS = 2.0
_LOOK_SECONDS = 0.2
_AGAIN_SECONDS = 0.01
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

    def __init__(self, connection: sqlite3.Connection, own_file: str = "") -> None:
        """`own_file`: goes if it turns out to be damaged, so that whoever opens it next begins anew."""
        self._connection = connection
        self._own_file = own_file

    def close(self) -> None:
        self._connection.close()

    def transaction(self, *, wait: bool = True) -> AbstractContextManager[None]:
        """All or nothing; the write lock is taken first. Without `wait`, BusyError at once where another has it."""
        self.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000) if wait else 0}")
        return self._begun("BEGIN IMMEDIATE")

    def let_go_if_damaged(self) -> None:
        """Look the whole file over. Whoever opens it next begins anew if something is wrong with it."""
        if [row[0] for row in self.query("PRAGMA quick_check(1)")] != ["ok"]:
            _put_aside(self._own_file)

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
        with self._in_words():
            return self._connection.execute(sql, values)

    def query(self, sql: str, values: Any = ()) -> list[Any]:
        with self._in_words():
            return self._connection.execute(sql, values).fetchall()

    def execute_many(self, sql: str, rows: Iterable[Any]) -> None:
        with self._in_words():
            self._connection.executemany(sql, rows)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if self._own_file and _code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                _put_aside(self._own_file)
            raise _error(error) from error


def open_database(paths: Paths) -> Database:
    """Raises StateError, BusyError. Makes the file where there is none, and anew where it cannot be used."""
    try:
        return _opened(paths)
    except sqlite3.OperationalError as error:
        raise _error(error) from error
    except sqlite3.DatabaseError:
        _put_aside(paths.recall_file)
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
        # Nobody waits for the disk. A kill harms nothing; what a power cut may damage is found by `let_go_if_damaged`.
        connection.execute("PRAGMA synchronous = OFF")
    except BaseException:
        connection.close()
        raise
    return Database(connection, paths.recall_file)


def _begin(connection: sqlite3.Connection) -> None:
    _write_ahead(connection)
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (name,) in tables.fetchall():
            connection.execute(f'DROP TABLE IF EXISTS "{name}"')  # some go with another one
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Readers and a writer do not disturb each other. SQLite does not wait for others who begin the file at this moment."""
    until = elapsed() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code_of(error) != sqlite3.SQLITE_BUSY or elapsed() > until:
                raise
            threading.Event().wait(_AGAIN_SECONDS)
        else:
            return


def _put_aside(file: str) -> None:
    """What is damaged goes: all of it can be made anew."""
    for suffix in ("-shm", "-wal", ""):
        with suppress(FileNotFoundError):
            os.remove(file + suffix)


def _error(error: sqlite3.Error) -> StateError | BusyError:
    if _code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyError("Another process has kept the file of recall locked for seconds.", "memoryd doctor")
    return StateError(f"The file of recall failed: {error}.", "memoryd doctor")


def _code_of(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF
