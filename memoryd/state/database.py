"""Opens the state database and says in words what is wrong with it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memoryd.errors import BusyError, CorruptStateError, NewerStateError, StateError
from memoryd.state.schema import MIGRATIONS, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths

SQLITE_VERSION = sqlite3.sqlite_version
BUSY_SECONDS = 10.0
READING_SECONDS = 2.0
"""A command that only looks waits no longer than a person would."""


class Database:
    """A connection whose failures are MemorydErrors. Open it with `open_database` or `open_for_reading`."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self.path = path
        self._identity = _identity(path)

    def query(self, sql: str, values: Any = ()) -> list[sqlite3.Row]:
        with self._translated():
            return self._connection.execute(sql, values).fetchall()

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        with self._translated():
            return self._connection.execute(sql, values)

    def execute_many(self, sql: str, rows: list[Any]) -> None:
        with self._translated():
            self._connection.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, against every other process: the write lock is taken first, not at the first write."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise

    def is_in_place(self) -> bool:
        """Whether the file that was opened is still the one under its name."""
        try:
            return self._identity == _identity(self.path)
        except FileNotFoundError:
            return False

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _in_words(error, self.path) from error


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def open_database(paths: Paths) -> Database:
    """Open for writing: create the state directory and the database where there is none, migrate an older one.

    Raises StateError with the reason; CorruptStateError where `set_aside` helps.
    """
    try:
        os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
        # SQLite gives its side files the mode of the main file, so that one is made first, private from the start.
        os.close(os.open(paths.database, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StateError(
            f"The state database {paths.database} cannot be opened: {error.strerror}.",
            f"ls -ld {_last_there(paths.database)}",
        ) from error
    database = _connect(paths.database, "rw")
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        _migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def open_for_reading(paths: Paths) -> Database | None:
    """Open an existing database without ever writing to it; None where there is none."""
    try:
        os.stat(paths.database)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(
            f"The state database {paths.database} cannot be read: {error.strerror}.",
            f"ls -ld {_last_there(paths.database)}",
        ) from error
    try:
        database = _connect(paths.database, "ro", timeout=READING_SECONDS)
        version = _version(database)
    except StateError:
        if os.access(paths.state_dir, os.W_OK):
            raise
        # On a read-only disk SQLite cannot make the shared memory that a WAL needs; then nobody writes either.
        database = _connect(paths.database, "ro&immutable=1")
        version = _version(database)
    if version < VERSION:
        database.close()
        raise StateError(
            f"The state database {paths.database} was written by an older memoryd and has not been brought up to date.",
            "memoryd run",
        )
    return database


def set_aside(paths: Paths, now: float) -> str:
    """Move a damaged database out of the way and return its new name. The caller holds the daemon's lock.

    The side files go first: a WAL left beside a new database could be played into it.
    """
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = f"{paths.database}.damaged-{stamp}"
    for suffix in ("-shm", "-wal", ""):
        try:
            os.rename(paths.database + suffix, kept + suffix)
        except FileNotFoundError:
            continue
    return kept


def check(database: Database) -> None:
    """Look the whole database over. Raises CorruptStateError."""
    problems = [row[0] for row in database.query("PRAGMA quick_check(1)")]
    if problems != ["ok"]:
        raise CorruptStateError(f"The state database {database.path} is damaged: {problems[0]}.", "memoryd run")


def _connect(path: str, mode: str, timeout: float = 0.0) -> Database:
    from urllib.parse import quote  # noqa: PLC0415 - 3 ms that commands without a database need not pay

    try:
        connection = sqlite3.connect(
            f"file:{quote(path)}?mode={mode}", uri=True, timeout=timeout or BUSY_SECONDS, isolation_level=None
        )
    except sqlite3.Error as error:
        raise _in_words(error, path) from error
    connection.row_factory = sqlite3.Row
    return Database(connection, path)


def _last_there(path: str) -> str:
    """The path itself, or the first folder above it that can be seen: where a person has to look."""
    while not os.access(os.path.dirname(path), os.X_OK) or not os.path.lexists(path):
        above = os.path.dirname(path)
        if above == path:
            break
        path = above
    return path


def _version(database: Database) -> int:
    version: int = database.query("PRAGMA user_version")[0][0]
    if version > VERSION:
        raise NewerStateError(
            f"The state database {database.path} was written by a newer memoryd"
            f" (its format is {version}, this program knows {VERSION}).",
            "pip install --upgrade memoryd",
        )
    return version


def _migrate(database: Database) -> None:
    if _version(database) == VERSION:
        return
    with database.transaction():
        # Asked again under the lock: another process may have migrated meanwhile.
        for number, step in enumerate(MIGRATIONS[_version(database) :], _version(database) + 1):
            for statement in _statements(step):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {number}")


def _statements(script: str) -> list[str]:
    """The statements of a script; `executescript` would commit the transaction around them."""
    statements = []
    begun = ""
    for line in script.splitlines():
        begun += line + "\n"
        if sqlite3.complete_statement(begun):
            statements.append(begun)
            begun = ""
    return statements


def _in_words(error: sqlite3.Error, path: str) -> StateError | BusyError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyError(
            f"Another process has kept the state database {path} locked for seconds.",
            f"fuser -v {path}",
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return CorruptStateError(f"The state database {path} is damaged ({error}).", "memoryd run")
    if code == sqlite3.SQLITE_FULL:
        return StateError(
            f"The disk is full: {path} cannot grow. Nothing is lost; memoryd goes on when there is room.",
            f"df -h {os.path.dirname(path)}",
        )
    if code == sqlite3.SQLITE_READONLY or (code == sqlite3.SQLITE_CANTOPEN and not os.access(path, os.W_OK)):
        return StateError(f"The state database {path} cannot be written.", f"ls -l {path}")
    return StateError(f"The state database {path} failed: {error}.", f"ls -l {path}")
