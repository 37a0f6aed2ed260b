"""The state database when it is well, locked, damaged, too new, too old, on a full or read-only disk."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from memoryd.errors import BusyError, CorruptStateError, NewerStateError, StateError
from memoryd.state import database as module
from memoryd.state.database import VERSION, open_database, open_for_reading, set_aside
from memoryd.state.schema import MIGRATIONS

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.conftest import PassingTime


def insert_root(database: Database, name: str) -> None:
    database.execute("INSERT INTO roots VALUES (?, 1, 2)", (name,))


def test_everything_is_private_to_the_user(paths: Paths, database: Database) -> None:
    insert_root(database, "r")
    modes = {
        name: stat.S_IMODE(os.stat(os.path.join(paths.state_dir, name)).st_mode) for name in os.listdir(paths.state_dir)
    }
    assert modes == {"memoryd.sqlite3": 0o600, "memoryd.sqlite3-wal": 0o600, "memoryd.sqlite3-shm": 0o600}
    assert stat.S_IMODE(os.stat(paths.state_dir).st_mode) == 0o700


def test_commits_are_durable(paths: Paths) -> None:
    with closing(open_database(paths)) as database:
        assert [row[0] for row in database.query("PRAGMA synchronous")] == [2]
        assert [row[0] for row in database.query("PRAGMA journal_mode")] == ["wal"]


def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.transaction():
        insert_root(database, "r")
        _ = 1 / 0
    assert database.query("SELECT * FROM roots") == []


def test_a_locked_database_is_busy(paths: Paths, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    other = open_database(paths)
    with database.transaction(), pytest.raises(BusyError, match="locked"):
        insert_root(other, "r")
    other.close()


def test_whoever_waited_in_vain_to_read_does_not_wait_again(
    paths: Paths, database: Database, monkeypatch: pytest.MonkeyPatch, passing_time: PassingTime
) -> None:
    insert_root(database, "r")
    database.close()
    with closing(sqlite3.connect(paths.database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE other (x)")
        monkeypatch.setattr(module, "READING_SECONDS", 0.1)
        with pytest.raises(BusyError, match="locked"):
            open_for_reading(paths)
        monkeypatch.setattr(module, "READING_SECONDS", 60.0)
        began = time.monotonic()
        with pytest.raises(BusyError, match="locked"):
            open_for_reading(paths)
        assert time.monotonic() - began < 30
        passing_time.skip()
        monkeypatch.setattr(module, "READING_SECONDS", 0.1)
        began = time.monotonic()
        with pytest.raises(BusyError, match="locked"):
            open_for_reading(paths)
        assert time.monotonic() - began >= 0.1, "later it waits again"
        other.execute("ROLLBACK")
    reading = open_for_reading(paths)
    assert reading is not None
    with closing(reading):
        assert [row[0] for row in reading.query("PRAGMA busy_timeout")] == [100]


@pytest.mark.parametrize("content", [b"this is no database, " * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_file_is_recognised_and_set_aside(paths: Paths, content: bytes) -> None:
    os.makedirs(paths.state_dir)
    with open(paths.database, "wb") as file:
        file.write(content)
    with pytest.raises(CorruptStateError):
        open_database(paths)
    kept = set_aside(paths, now=0)
    assert kept == f"{paths.database}.damaged-19700101T000000Z"
    with open(kept, "rb") as file:
        assert file.read() == content
    open_database(paths).close()


def test_damage_in_the_middle_is_found_by_the_check(paths: Paths, database: Database) -> None:
    for number in range(3000):
        insert_root(database, f"root {number} " + "x" * 100)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(paths.database, "r+b") as file:
        file.seek(os.path.getsize(paths.database) // 2)
        file.write(b"\xff" * 20_000)
    again = open_database(paths)
    with pytest.raises(CorruptStateError):
        again.check()
    again.close()


def test_setting_aside_leaves_no_side_file_behind(paths: Paths, database: Database) -> None:
    """A WAL beside a new database could be played into it."""
    insert_root(database, "r")
    kept = set_aside(paths, now=0)
    names = sorted(os.listdir(paths.state_dir))
    assert names == sorted(os.path.basename(kept) + suffix for suffix in ("", "-shm", "-wal"))


def test_a_newer_database_is_refused_and_untouched(paths: Paths, database: Database) -> None:
    database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()
    with open(paths.database, "rb") as file:
        before = file.read()
    with pytest.raises(NewerStateError, match=f"its format is {VERSION + 1}, this program knows {VERSION}"):
        open_database(paths)
    with pytest.raises(NewerStateError):
        open_for_reading(paths)
    with open(paths.database, "rb") as file:
        assert file.read() == before


def test_an_older_database_is_brought_up_to_date(paths: Paths) -> None:
    """From every version that was ever written, empty included."""
    for version in range(VERSION):
        os.makedirs(paths.state_dir, exist_ok=True)
        connection = sqlite3.connect(paths.database)
        for step in MIGRATIONS[:version]:
            connection.executescript(step)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
        connection.close()
        with pytest.raises(StateError, match="older memoryd"):
            open_for_reading(paths)
        opened = open_database(paths)
        assert opened.query("PRAGMA user_version")[0][0] == VERSION
        assert opened.query("SELECT * FROM turns") == []
        opened.close()
        os.remove(paths.database)


def test_the_version_is_the_number_of_steps() -> None:
    assert len(MIGRATIONS) == VERSION


def test_a_migration_that_fails_changes_nothing(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (*MIGRATIONS, "CREATE TABLE extra (a);\nCREATE TABLE turns (b);\n")
    monkeypatch.setattr(module, "_migrations", lambda: steps)
    monkeypatch.setattr(module, "VERSION", len(steps))
    with pytest.raises(StateError, match="already exists"):
        open_database(paths)
    connection = sqlite3.connect(paths.database)
    assert connection.execute("PRAGMA user_version").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    connection.close()


def test_a_full_disk_is_said_and_loses_nothing(database: Database) -> None:
    insert_root(database, "before")
    pages = database.query("PRAGMA page_count")[0][0]
    database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StateError, match="The disk is full"), database.transaction():
        for number in range(10_000):
            insert_root(database, f"root {number}")
    assert [row["path"] for row in database.query("SELECT path FROM roots")] == ["before"]


def test_a_read_only_database_can_be_read_and_not_written(paths: Paths, database: Database) -> None:
    insert_root(database, "r")
    reading = open_for_reading(paths)
    assert reading is not None
    assert [row["path"] for row in reading.query("SELECT path FROM roots")] == ["r"]
    with pytest.raises(StateError, match="cannot be written"):
        insert_root(reading, "s")
    reading.close()


def test_no_database_is_no_error_for_a_reader(paths: Paths) -> None:
    assert open_for_reading(paths) is None
    assert not os.path.exists(paths.state_dir)


def test_a_state_directory_that_cannot_be_made_is_said(paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "home" / ".local").write_text("in the way")
    with pytest.raises(StateError, match="cannot be opened: Not a directory"):
        open_database(paths)


def test_a_symlink_in_the_place_of_the_database_is_not_followed(paths: Paths, tmp_path: Path) -> None:
    os.makedirs(paths.state_dir)
    os.symlink(tmp_path / "elsewhere", paths.database)
    with pytest.raises(StateError):
        open_database(paths)
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_process_opens_twice_another_does_not_take_for_closed(paths: Paths) -> None:
    """Closing a file drops all locks of a process on it; the log with the next commit was then removed by whoever closed it."""
    open_database(paths).close()
    reader = open_for_reading(paths)
    assert reader is not None
    with closing(reader), closing(open_database(paths)) as writer:
        insert_root(writer, "before")
        another = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM roots'); c.close()"
        subprocess.run([sys.executable, "-c", another, paths.database], check=True)
        insert_root(writer, "behind")
    with closing(open_database(paths)) as database:
        assert [row[0] for row in database.query("SELECT path FROM roots")] == ["before", "behind"]
