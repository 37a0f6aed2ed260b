"""`Database`, the only class that opens, migrates and checks SQLite files; its errors are sentences with a fix.

Two files are opened with it: the state database, whose functions are here, and that of recall (`memoryd/recall/store.py`).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memoryd.clock import elapsed, rest
from memoryd.errors import BusyError, CorruptStateError, NewerStateError, StateError
from memoryd.record import NamedTuple
from memoryd.state.database_file import identity_of, unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from memoryd.paths import Paths

SQLITE_VERSION = sqlite3.sqlite_version
VERSION = 16
"""Of the state database: how many steps its schema has. A hook compares it with the file's without reading them."""
BUSY_SECONDS = 10.0
READING_SECONDS = 2.0
"""Wait of commands that only read: a person looks at the terminal."""
_NO_WAIT_SECONDS = 10.0
_waited_at: dict[str, float] = {}  # when this process waited for a database in vain
_RETRY_SECONDS = 0.01
_SUFFIXES = ("-shm", "-wal", "")
"""Side files are removed first: a WAL left beside a new database could be replayed into it."""


class DatabaseFile(NamedTuple):
    """Description of one database file: path, tables, version, how long to wait."""

    path: str
    title: str
    """Name in messages."""
    steps: Callable[[], tuple[str, ...]]
    """Gives the scripts that make its tables, in order; asked only where a file is made or brought up to date."""
    version: int
    """Version of the file after all steps."""
    busy_seconds: float
    """How long a process waits for others."""
    is_disposable: bool = False
    """Everything in it can be made anew. Then nobody waits for the disk, and a file that is damaged or has another version is
    begun again. A kill harms nothing; what a power cut may damage is found by `Database.check`."""


class Database:
    """A connection whose failures are MemorydErrors: BusyError, StateError, and CorruptStateError where it is damaged."""

    def __init__(self, connection: sqlite3.Connection, file: DatabaseFile, *, is_writable: bool) -> None:
        self._connection = connection
        self._file = file
        self.is_writable = is_writable
        self._may_begin_anew = is_writable
        self._identity = identity_of(file.path)
        self.path = file.path
        self.paths: Paths | None = None
        """Where memoryd keeps its files; of the state database alone."""

    @classmethod
    def open(cls, file: DatabaseFile) -> Self:
        """Open for writing: make the folder and the file where there is none, bring an older one up to date.

        A disposable file that is damaged is begun anew; another one is left for `set_aside`.
        """
        try:
            return cls._open(file)
        except CorruptStateError:
            if not file.is_disposable:
                raise
        return cls._open(file)  # the damaged one was removed

    @classmethod
    def _open(cls, file: DatabaseFile) -> Self:
        try:
            os.makedirs(os.path.dirname(file.path), mode=0o700, exist_ok=True)
            _make_private(file.path)
        except OSError as error:
            raise unusable(file, "opened", error) from error
        database = cls._connect(file, file.path, file.busy_seconds, is_writable=True)
        try:
            database.execute(f"PRAGMA synchronous = {'OFF' if file.is_disposable else 'FULL'}")
            database.migrate()
            database.execute(f"PRAGMA foreign_keys = {'OFF' if file.is_disposable else 'ON'}")
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def open_for_reading(cls, file: DatabaseFile, wait_seconds: float, *, is_left_open: bool = False) -> Self | None:
        """Open an existing file without ever changing what it holds; None where there is none.

        A disposable one is opened as a writer opens it: SQLite removes its side files when the last connection is closed, but not
        if that one could only read. `is_left_open`: they stay, as to remove them takes longer than to read.
        """
        try:
            if is_left_open and not stat.S_ISREG(os.lstat(file.path).st_mode):
                return None  # `open` tells why
            os.stat(file.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unusable(file, "read", error) from error
        path = file.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")  # all that ends a path for SQLite
        address = f"file:{path}?mode={'rw' if file.is_disposable and not is_left_open else 'ro'}"
        try:
            database = cls._connect(file, address, wait_seconds)
            database._may_begin_anew = is_left_open  # noqa: SLF001 - of this class
            database.execute("PRAGMA query_only = ON")
            version = database.version()
        except StateError:
            if os.access(os.path.dirname(file.path), os.W_OK):
                raise
            # On a read-only disk SQLite cannot make the shared memory that a WAL needs; then nobody writes either.
            database = cls._connect(file, f"{address}&immutable=1", wait_seconds)
            version = database.version()
        if version != file.version:
            database.close()
            raise StateError(
                f"The {file.title} {file.path} was written by an older memoryd and has not been brought up to date.",
                "memoryd run",
            )
        return database

    @classmethod
    def _connect(cls, file: DatabaseFile, address: str, wait_seconds: float, *, is_writable: bool = False) -> Self:
        try:
            connection = sqlite3.connect(address, uri=not is_writable, timeout=wait_seconds, isolation_level=None)
        except sqlite3.Error as error:
            raise _in_words(error, file) from error
        connection.row_factory = sqlite3.Row
        return cls(connection, file, is_writable=is_writable)

    def query(self, sql: str, values: Any = ()) -> list[sqlite3.Row]:
        with self._translated():
            return self._connection.execute(sql, values).fetchall()

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        with self._translated():
            return self._connection.execute(sql, values)

    def execute_many(self, sql: str, rows: Iterable[Any]) -> None:
        with self._translated():
            self._connection.executemany(sql, rows)

    def insert(self, sql: str, values: Any = ()) -> int:
        """The number of the row that was made."""
        number = self.execute(sql, values).lastrowid
        assert number is not None  # noqa: S101 - an INSERT without an error has a row
        return number

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[None]:
        """Write transaction. The write lock is taken at its begin, not at the first write, so no other process writes between.

        Without `wait`, BusyError at once where another process has it.
        """
        if wait:
            self.execute("BEGIN IMMEDIATE")
        else:
            with self.waiting(0):
                self.execute("BEGIN IMMEDIATE")
        with self._ended():
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read transaction: all queries inside see the same state, whatever others write."""
        self.execute("BEGIN")
        with self._ended():
            yield

    @contextmanager
    def _ended(self) -> Iterator[None]:
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise

    @contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Wait for other processes no longer than this, then BusyError."""
        self.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
        try:
            yield
        finally:
            self.execute(f"PRAGMA busy_timeout = {round(self._file.busy_seconds * 1000)}")

    def check(self) -> None:
        """Check the whole file. Raises CorruptStateError; a disposable file was removed then."""
        problems = [row[0] for row in self.query("PRAGMA quick_check(1)")]
        if problems != ["ok"]:
            self._remove_if_disposable()
            raise CorruptStateError(f"The {self._file.title} {self.path} is damaged: {problems[0]}.", "memoryd run")

    def is_in_place(self) -> bool:
        """Whether the file that was opened is still the one under its name."""
        return self._identity is not None and self._identity == identity_of(self.path)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            words = _in_words(error, self._file)
            if isinstance(words, CorruptStateError):
                self._remove_if_disposable()
            raise words from error

    def _remove_if_disposable(self) -> None:
        """Remove a disposable file, so that the next process begins a new one."""
        if self._file.is_disposable and self._may_begin_anew and self.is_in_place():
            for suffix in _SUFFIXES:
                with suppress(FileNotFoundError):
                    os.remove(self.path + suffix)

    def version(self) -> int:
        """The format of the file. Raises NewerStateError where this program does not know it."""
        version: int = self.query("PRAGMA user_version")[0][0]
        if version > self._file.version and not self._file.is_disposable:
            raise NewerStateError(
                f"The {self._file.title} {self.path} was written by a newer memoryd"
                f" (its format is {version}, this program knows {self._file.version}).",
                "pip install --upgrade memoryd",
            )
        return version

    def migrate(self) -> None:
        """Bring the file up to date in one transaction, or begin it anew where it is disposable."""
        version = self.version()
        self._write_ahead()
        if version == self._file.version:
            return
        with self.transaction():
            version = self.version()  # asked again under the lock: another process may have migrated meanwhile
            if version == self._file.version:
                return
            if self._file.is_disposable:
                self._drop_tables()
                version = 0
            for step in self._file.steps()[version:]:
                for statement in _statements(step):
                    self.execute(statement)
            self.execute(f"PRAGMA user_version = {self._file.version}")

    def _drop_tables(self) -> None:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        for row in self.query(tables):
            self.execute(f'DROP TABLE IF EXISTS "{row["name"]}"')  # some tables are dropped with another

    def _write_ahead(self) -> None:
        """Switch to WAL, where readers do not block the writer. Retried here: SQLite does not wait for others who create the file."""
        until = elapsed() + self._file.busy_seconds
        while True:
            try:
                self.execute("PRAGMA journal_mode = WAL")
            except BusyError:
                if elapsed() > until:
                    raise
                rest(_RETRY_SECONDS)
            else:
                return


# --- the state database -----------------------------------------------------------------------------------------------


def open_database(paths: Paths, wait_seconds: float = BUSY_SECONDS) -> Database:
    """Open the state database for writing. Raises StateError with the reason; CorruptStateError where `set_aside` helps.

    `wait_seconds`: how long it waits for other processes, now and later. No signal ends that wait before.
    """
    database = Database.open(state_file(paths)._replace(busy_seconds=wait_seconds))
    database.paths = paths
    return database


def open_for_reading(paths: Paths) -> Database | None:
    """Open the state database without ever writing to it; None where there is none. Who has just waited in vain does not again."""
    waits = elapsed() - _waited_at.get(paths.database, float("-inf")) > _NO_WAIT_SECONDS
    try:
        database = Database.open_for_reading(state_file(paths), READING_SECONDS if waits else 0)
    except BusyError:
        if waits:
            _waited_at[paths.database] = elapsed()
        raise
    if database is not None:
        database.paths = paths
        database.execute(f"PRAGMA busy_timeout = {round(READING_SECONDS * 1000)}")
    return database


@contextmanager
def state_to_read(paths: Paths) -> Iterator[Database | None]:
    """The state database for whoever can do without: None where there is none, or none that can be read now."""
    database = None
    with suppress(StateError, BusyError):
        database = open_for_reading(paths)
    try:
        yield database
    finally:
        if database is not None:
            database.close()


def set_aside(paths: Paths, now: float) -> str:
    """Move a damaged state database out of the way and return its new name. The caller holds the daemon's lock."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = f"{paths.database}.damaged-{stamp}"
    for suffix in _SUFFIXES:
        with suppress(FileNotFoundError):
            os.rename(paths.database + suffix, kept + suffix)
    return kept


def state_file(paths: Paths) -> DatabaseFile:
    return DatabaseFile(paths.database, "state database", _migrations, VERSION, BUSY_SECONDS)


def _migrations() -> tuple[str, ...]:
    from memoryd.state.schema import MIGRATIONS  # noqa: PLC0415 - ten modules, which hardly any process needs

    return MIGRATIONS


# --- messages ---------------------------------------------------------------------------------------------------------


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


def _make_private(path: str) -> None:
    """Make the file where there is none. SQLite gives its side files the mode of this one, so it is private from the start.

    One that is there is not opened: to close it would drop the locks that SQLite has on it in this process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode):
            number = errno.ELOOP if stat.S_ISLNK(mode) else errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
            raise OSError(number, os.strerror(number), path) from None
        if not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path) from None


def _in_words(error: sqlite3.Error | UnicodeDecodeError, file: DatabaseFile) -> StateError | BusyError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    path = file.path
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyError(
            f"Another process has kept the {file.title} {path} locked for seconds.",
            f"fuser -v {path}",
        )
    # SQLite's own sentence quotes a damaged schema, which Python then cannot read.
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, UnicodeDecodeError):
        return CorruptStateError(f"The {file.title} {path} is damaged ({error}).", "memoryd run")
    if code == sqlite3.SQLITE_FULL:
        return StateError(
            f"The disk is full: {path} cannot grow. Nothing is lost; memoryd goes on when there is room.",
            f"df -h {os.path.dirname(path)}",
        )
    if code == sqlite3.SQLITE_READONLY or (code == sqlite3.SQLITE_CANTOPEN and not os.access(path, os.W_OK)):
        return StateError(f"The {file.title} {path} cannot be written.", f"ls -l {path}")
    return StateError(f"The {file.title} {path} failed: {error}.", f"ls -l {path}")
