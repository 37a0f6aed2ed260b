"""Databases of other programs: read while they are written, in short transactions, and without a trace beside them."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from memoryd.sources import database as module
from memoryd.sources.database import ForeignDatabase, UnknownTablesError
from memoryd.sources.session import NotATranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "theirs.db"


@pytest.fixture
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE said (number INTEGER PRIMARY KEY, text TEXT)")
    connection.executemany("INSERT INTO said (text) VALUES (?)", [("x" * 1000,)] * 50)
    yield connection
    connection.close()


def numbers(database: ForeignDatabase) -> list[int]:
    return [
        row[0] for row in database.all_rows("SELECT number, text FROM said WHERE number > ? ORDER BY number", (), 0)
    ]


def test_what_stands_only_in_the_wal_is_read(path: Path, writer: sqlite3.Connection) -> None:
    files = sorted(os.listdir(path.parent))
    with ForeignDatabase(str(path)) as database:
        assert numbers(database) == list(range(1, 51))
        writer.execute("INSERT INTO said (text) VALUES ('more')")
        assert numbers(database)[-1] == 51
    assert sorted(os.listdir(path.parent)) == files


def test_nothing_is_left_beside_a_database_that_nobody_has_open(path: Path, writer: sqlite3.Connection) -> None:
    writer.close()
    with ForeignDatabase(str(path)) as database:
        assert len(numbers(database)) == 50
    assert os.listdir(path.parent) == [path.name]


def test_a_writer_that_begins_while_the_database_is_read_is_noticed(path: Path, writer: sqlite3.Connection) -> None:
    writer.close()
    with ForeignDatabase(str(path)) as database:
        with sqlite3.connect(path) as again:
            again.execute("INSERT INTO said (text) VALUES ('more')")
        assert numbers(database)[-1] == 51
        again.close()


def test_a_transaction_ends_after_its_time_and_the_next_goes_on(
    path: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_SECONDS", 0.0)
    with ForeignDatabase(str(path)) as database:
        rows, is_all = database.rows("SELECT number FROM said ORDER BY number")
        assert (rows, is_all) == ([(1,)], False)
        # The WAL can be emptied: no transaction is left open between two batches.
        assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        assert numbers(database) == list(range(1, 51))


def test_other_tables_and_other_files_are_told_apart(path: Path, writer: sqlite3.Connection) -> None:
    with ForeignDatabase(str(path)) as database, pytest.raises(UnknownTablesError):
        database.rows("SELECT heard FROM said")
    writer.close()
    path.write_bytes(b"# no database\n" * 100)
    with ForeignDatabase(str(path)) as database, pytest.raises(NotATranscriptError):
        database.rows("SELECT number FROM said")
    link = path.with_name("link.db")
    link.symlink_to(path)
    with pytest.raises(NotATranscriptError):
        ForeignDatabase(str(link))
    with pytest.raises(FileNotFoundError):
        ForeignDatabase(str(path.with_name("none.db")))
