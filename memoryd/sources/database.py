"""SQLite databases of other programs: read only, for milliseconds at a time, and nothing is left beside them.

The state database is opened by `memoryd/state/database.py`, which migrates and writes; these belong to somebody else, who may
be writing. So a connection never stays open, and no query holds a read transaction for longer than READ_SECONDS and one row:
a reader hinders nobody who writes into a WAL, but it keeps that from being emptied.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from typing import TYPE_CHECKING, Any, Self

from memoryd.clock import elapsed, rest
from memoryd.sources.session import UNKNOWN_TABLES, NotATranscriptError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

READ_SECONDS = 0.002
"""How long rows are fetched before the transaction ends; the next one goes on behind the last row."""
READ_BYTES = 1 << 20
REST_SECONDS = 0.0005
"""How long nothing is read after transactions of as long together, where somebody may be writing.

A process that never sleeps is interrupted by others on a busy machine wherever it is, for 50 ms and more in the middle of a
transaction. One that has just slept may first go on.
"""
_BUSY_SECONDS = 1.0


class UnknownTablesError(NotATranscriptError):
    """The tables are not those that this memoryd knows."""


class ForeignDatabase:
    """A connection for a few queries; to be closed soon, since the last one that is closed tidies up the WAL."""

    def __init__(self, path: str) -> None:
        """Raises OSError, and NotATranscriptError where the file is no database."""
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._state = _state_without_writer(path)
        self._read_seconds = REST_SECONDS  # who opens it may have been at work for long
        self._connect()

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> tuple[list[tuple[Any, ...]], bool]:
        """The first rows of a query, as many as there is time for, and whether these are all.

        Raises OSError, and UnknownTablesError where a table or a column is missing.
        """
        while True:
            self._rest()
            began = elapsed()
            found = self._fetch(sql, values)
            self._read_seconds += elapsed() - began
            if self._state is None or self._state == _state_without_writer(self._path):
                return found
            # Somebody opened it meanwhile, and may have changed what was read without a lock.
            self._state = _state_without_writer(self._path)
            self._connect()

    def all_rows(self, sql: str, values: tuple[Any, ...], first: Any, key: int = 0) -> Iterator[tuple[Any, ...]]:
        """All rows of a query whose last parameter is the key to begin behind; `key` is the column that holds it.

        A key that is text is bound as the bytes that were read: the query has to say `CAST(? AS TEXT)`, since SQLite sorts
        all bytes behind all texts.
        """
        is_all = False
        while not is_all:
            rows, is_all = self.rows(sql, (*values, first))
            yield from rows
            first = rows[-1][key] if rows else first

    def refuse_other_tables(self, known: Collection[str]) -> None:
        """Raise UnknownTablesError where rows are in tables that this memoryd does not know."""
        names, _ = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) != 'sqlite_'")
        for name in (row[0].decode("utf-8", "replace") for row in names):
            quoted = name.replace('"', '""')
            if name not in known and self.rows(f'SELECT 1 FROM "{quoted}" LIMIT 1')[0]:  # noqa: S608 - quoted
                raise UnknownTablesError(UNKNOWN_TABLES)

    def _rest(self) -> None:
        if self._state is None and self._read_seconds >= REST_SECONDS:
            self._read_seconds = 0.0
            rest(REST_SECONDS)

    def _fetch(self, sql: str, values: tuple[Any, ...]) -> tuple[list[tuple[Any, ...]], bool]:
        assert self._connection is not None  # noqa: S101 - nobody asks behind close
        until = elapsed() + READ_SECONDS
        found: list[tuple[Any, ...]] = []
        size = 0
        try:
            cursor = self._connection.execute(sql, values)
            try:
                for row in cursor:
                    found.append(row)
                    size += sum(len(value) for value in row if isinstance(value, str | bytes))
                    if size > READ_BYTES or elapsed() > until:
                        return found, False
            finally:
                cursor.close()
        except sqlite3.Error as error:
            raise _in_words(error) from error
        return found, True

    def _connect(self) -> None:
        from urllib.parse import quote  # noqa: PLC0415 - 3 ms that a hook need not pay

        self.close()
        # Opened for reading, SQLite would leave a WAL and its shared memory beside a database that nobody has open.
        address = f"file:{quote(self._path)}?mode=ro" + ("&immutable=1" if self._state is not None else "")
        try:
            self._connection = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        except sqlite3.Error as error:
            raise _in_words(error) from error
        self._connection.text_factory = bytes

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _state_without_writer(path: str) -> tuple[int, int, int] | None:
    """Size, time and inode of a database that nobody is writing; None where a writer may live.

    Whoever writes makes a `-wal` or a `-journal` file before the database itself is changed. The file is not opened for this:
    closing it again would take away the locks that SQLite holds on it in this process.
    """
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise NotATranscriptError("no regular file")
    if os.path.lexists(path + "-wal") or os.path.lexists(path + "-journal"):
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _in_words(error: sqlite3.Error) -> OSError | NotATranscriptError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return NotATranscriptError("no SQLite database, or a damaged one")
    if code == sqlite3.SQLITE_ERROR:
        return UnknownTablesError(f"{UNKNOWN_TABLES} ({error})")
    return OSError(errno.EIO, str(error))
