"""The database of recall: all or nothing, for several processes at once, and begun anew where it cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from array import array
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.errors import BusyError, StateError
from memoryd.paths import paths_from
from memoryd.recall import schema
from memoryd.recall import store as module
from memoryd.recall.store import HEAVIEST, WEIGHT_BITS, LearntMemory, open_store, store_to_look
from tests.recall.memories import FIVE, NOW, RELEASE, Library

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.paths import Paths
    from memoryd.recall.store import Store

PLACE = "/memory"


@pytest.fixture
def store(paths: Paths) -> Iterator[Store]:
    opened = open_store(paths)
    yield opened
    opened.close()


def learnt(name: str, weights: Mapping[str, int], ctime_ns: int = 1) -> LearntMemory:
    return LearntMemory(name, (1, ctime_ns, 1), "user", False, weights)


def learn(store: Store, *memories: LearntMemory) -> int:
    with store.transaction():
        number = store.record_check(PLACE, 0, NOW)
        store.learn(number, memories)
    return number


def weights_in(store: Store, number: int, *terms: str) -> dict[str, dict[str, int]]:
    """What each term weighs in the memories that are there."""
    names = {one.id: one.name for one in store.known(number)}
    return {
        term: {names[one >> WEIGHT_BITS]: one & HEAVIEST for one in entries if one >> WEIGHT_BITS in names}
        for term, entries in store.postings(number, terms).items()
    }


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_a_memory_that_is_learnt_again_takes_its_own_place(store: Store) -> None:
    number = learn(store, learnt("a.md", {"x": 255, "y": 1}), learnt("b.md", {"x": 7}))
    learn(store, learnt("a.md", {"y": 9, "z": 3}))
    assert weights_in(store, number, "x", "y", "z", "none") == {
        "x": {"b.md": 7},
        "y": {"a.md": 9},
        "z": {"a.md": 3},
    }
    directory = store.directory(PLACE)
    assert directory is not None
    assert (directory.memories, directory.dead) == (2, 1)


def test_entries_stay_in_the_order_of_their_numbers(store: Store) -> None:
    """They are searched by halves."""
    number = learn(store, *(learnt(f"{name}.md", {"x": 1}) for name in "cab"))
    learn(store, learnt("a.md", {"x": 200}), learnt("c.md", {"x": 2}))
    entries = store.postings(number, ["x"])["x"]
    assert entries == array("I", sorted(entries))


def test_a_number_is_never_given_twice(store: Store) -> None:
    """What is left of a dead memory would be the next one's."""
    number = learn(store, learnt("a.md", {"x": 1}))
    (before,) = store.known(number)
    with store.transaction():
        store.forget_all(number)
    learn(store, learnt("b.md", {"y": 1}))
    (after,) = store.known(number)
    assert after.id > before.id
    assert weights_in(store, number, "x", "y") == {"y": {"b.md": 1}}


def test_more_terms_than_sqlite_takes_at_once_are_asked_for(store: Store) -> None:
    number = learn(store, learnt("a.md", {f"t{one}": 1 for one in range(2000)}))
    assert len(store.postings(number, [f"t{one}" for one in range(3000)])) == 2000


def test_a_failure_inside_a_transaction_leaves_nothing_of_it(store: Store) -> None:
    number = learn(store, learnt("a.md", {"x": 1}))
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.forget_all(number)
        store.learn(number, [learnt("b.md", {"x": 1})])
        raise ZeroDivisionError
    assert weights_in(store, number, "x") == {"x": {"a.md": 1}}
    learn(store, learnt("c.md", {"x": 2}))


def test_a_snapshot_does_not_see_what_others_write_meanwhile(paths: Paths, store: Store) -> None:
    number = learn(store, learnt("a.md", {"x": 1}))
    with closing(open_store(paths)) as other:
        with store.snapshot():
            assert weights_in(store, number, "x") == {"x": {"a.md": 1}}
            learn(other, learnt("b.md", {"x": 2}))
            assert weights_in(store, number, "x") == {"x": {"a.md": 1}}
        assert weights_in(store, number, "x") == {"x": {"a.md": 1, "b.md": 2}}


def test_what_is_gone_counts_only_for_the_memory_that_was_looked_at(store: Store) -> None:
    number = learn(store, learnt("a.md", {}), learnt("b.md", {}))
    with store.transaction():
        store.record_rot(number, {"a.md": ["src/é.py (deleted)"], "b.md": ["x"], "none.md": ["y"]}, "stamp", NOW)
    assert store.gone(number) == {"a.md": ("src/é.py (deleted)",), "b.md": ("x",)}
    assert store.outdated() == [(PLACE.encode(), 2)]
    learn(store, learnt("a.md", {}, ctime_ns=2))
    assert store.gone(number) == {"b.md": ("x",)}
    assert (store.rot_stamp(number), store.rot_stamp(number + 1)) == ("stamp", "")


def test_a_directory_that_is_dropped_leaves_nothing(paths: Paths, store: Store) -> None:
    kept = learn(store, learnt("a.md", {"x": 1}))
    with store.transaction():
        number = store.record_check("/other\udcff", 0, NOW)
        store.learn(number, [learnt("a.md", {"x": 1})])
        store.record_rot(number, {"a.md": ["x"]}, "stamp", NOW)
    assert store.directories() == [(kept, PLACE), (number, "/other\udcff")]
    with store.transaction():
        store.drop_directory(number)
    assert store.directories() == [(kept, PLACE)]
    with closing(sqlite3.connect(paths.recall_file)) as connection:
        for table in ("memories", "postings", "rot", "rot_checks"):
            assert not connection.execute(f"SELECT * FROM {table} WHERE directory_id = {number}").fetchall()  # noqa: S608
    assert weights_in(store, kept, "x") == {"x": {"a.md": 1}}


# --- a file that cannot be used ---------------------------------------------------------------------------------------


def used(paths: Paths) -> Library:
    """A store that was used: large enough that damage can be in the middle of it."""
    library = Library(paths, f"{paths.home}/memory")
    library.write(FIVE)
    library.write({f"m{number}.md": (" ".join(f"w{number}x{one}" for one in range(40)), "") for number in range(60)})
    assert library.sure("which branch do we release from?") == [RELEASE]
    return library


def garbage(data: bytes) -> bytes:
    return b"this is no database " * (len(data) // 20)


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def empty(_: bytes) -> bytes:
    return b""


def middle(data: bytes) -> bytes:
    """Everything but the first page."""
    return data[:4096] + b"\xa5" * (len(data) - 4096)


def first(data: bytes) -> bytes:
    """The header of the file is right, its table of tables is not."""
    return data[:100] + b"\xa5" * 3996 + data[4096:]


@pytest.mark.parametrize("damage", [garbage, half, empty, middle, first])
def test_a_damaged_file_is_begun_anew(paths: Paths, damage: object) -> None:
    """At once, or after one failure that is told in words: the next one finds its memories again."""
    library = used(paths)
    with closing(sqlite3.connect(paths.recall_file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for suffix in ("-wal", "-shm"):
        Path(paths.recall_file + suffix).unlink(missing_ok=True)
    Path(paths.recall_file).write_bytes(damage(Path(paths.recall_file).read_bytes()))  # type: ignore[operator]
    with suppress(StateError):
        library.sure("which branch do we release from?")
    assert library.sure("which branch do we release from?") == [RELEASE]


def test_damage_in_the_middle_is_found_by_the_check_and_the_file_begun_anew(paths: Paths) -> None:
    library = used(paths)
    with closing(sqlite3.connect(paths.recall_file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = Path(paths.recall_file).read_bytes()
    Path(paths.recall_file).write_bytes(data[: len(data) // 2] + b"\xa5" * (len(data) - len(data) // 2))
    with closing(open_store(paths)) as store, pytest.raises(StateError, match="is damaged"):
        store.check()
    assert not os.path.exists(paths.recall_file)
    assert library.sure("which branch do we release from?") == [RELEASE]


@pytest.mark.parametrize("version", [0, schema.VERSION + 1, 2**31 - 1])
def test_a_file_of_another_version_is_begun_anew(paths: Paths, version: int) -> None:
    library = used(paths)
    with closing(sqlite3.connect(paths.recall_file, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE memories RENAME COLUMN type TO sort")
        connection.execute("CREATE TABLE later (x REFERENCES memories (id))")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
        connection.execute(f"PRAGMA user_version = {version}")
    assert store_to_look(paths) is None
    assert library.sure("which branch do we release from?") == [RELEASE]
    with closing(sqlite3.connect(paths.recall_file)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert not tables & {"later", "words"}


def test_what_only_looks_makes_nothing(paths: Paths) -> None:
    assert store_to_look(paths) is None
    assert not os.path.exists(paths.state_dir)
    used(paths)
    store = store_to_look(paths)
    assert store is not None
    with closing(store), pytest.raises(StateError, match="cannot be written"):
        store.record_check(PLACE, 0, NOW)


def test_a_path_with_odd_characters_can_be_looked_at(environment: dict[str, str], tmp_path: Path) -> None:
    from memoryd.paths import paths_from  # noqa: PLC0415 - another place than all others

    paths = paths_from({**environment, "XDG_STATE_HOME": str(tmp_path / "a?b#c %41")})
    open_store(paths).close()
    store = store_to_look(paths)
    assert store is not None
    store.close()


def test_nobody_else_can_read_it_whatever_the_umask(paths: Paths) -> None:
    before = os.umask(0)
    try:
        with closing(open_store(paths)) as store:
            learn(store, learnt("a.md", {"x": 1}))
            files = [paths.recall_file + suffix for suffix in ("", "-wal", "-shm")]
            assert [stat.S_IMODE(os.stat(file).st_mode) for file in files] == [0o600] * 3
            assert stat.S_IMODE(os.stat(paths.state_dir).st_mode) == 0o700
    finally:
        os.umask(before)


def test_a_symlink_in_its_place_is_not_followed(paths: Paths, tmp_path: Path) -> None:
    os.makedirs(paths.state_dir)
    (tmp_path / "elsewhere").write_bytes(b"words of somebody")
    os.symlink(tmp_path / "elsewhere", paths.recall_file)
    with pytest.raises(StateError, match="cannot be opened: Too many levels of symbolic links") as caught:
        open_store(paths)
    assert caught.value.fix == f"ls -ld {paths.recall_file}"
    assert (tmp_path / "elsewhere").read_bytes() == b"words of somebody"
    os.remove(paths.recall_file)
    os.symlink(tmp_path / "nowhere", paths.recall_file)
    with pytest.raises(StateError, match="cannot be opened"):
        open_store(paths)
    assert not (tmp_path / "nowhere").exists()


def test_a_directory_in_its_place_is_told_in_words(paths: Paths) -> None:
    os.makedirs(paths.recall_file)
    with pytest.raises(StateError, match=r"recall\.sqlite3 cannot be opened: Is a directory"):
        open_store(paths)


_AS_NOBODY = """
import os
from memoryd.errors import StateError
from memoryd.paths import paths_from
from memoryd.recall.store import open_store
os.setgid(65534); os.setuid(65534)
try:
    store = open_store(paths_from(os.environ))
    with store.transaction():
        print("opened")
except StateError as error:
    print(error.sentence)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="root drops its rights to be refused")
def test_a_state_directory_that_cannot_be_written_is_told_in_words(
    environment: dict[str, str], open_place: Path
) -> None:
    environment["HOME"] = str(open_place)
    paths = paths_from(environment)
    os.makedirs(paths.state_dir)
    for place in (open_place, *open_place.rglob("*")):
        os.chown(place, 65534, 65534)

    def try_it() -> str:
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    os.chmod(paths.state_dir, 0o500)
    assert try_it() == f"The recall database {paths.recall_file} cannot be opened: Permission denied."
    os.chmod(paths.state_dir, 0o700)
    assert try_it() == "opened"
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(paths.recall_file + suffix):
            os.chmod(paths.recall_file + suffix, 0o400)
    assert try_it() == f"The recall database {paths.recall_file} cannot be opened: Permission denied."


def test_who_only_reads_locks_nobody_out(paths: Paths) -> None:
    """Of several that close it, the last one that could write would keep all others waiting while it moves the log."""
    library = used(paths)
    with closing(open_store(paths)) as writer, writer.transaction():
        writer.record_check("/other", 0, 0.0)
    assert library.sure("which branch do we release from?") == [RELEASE]
    inodes = [os.stat(paths.recall_file + suffix).st_ino for suffix in ("-wal", "-shm")]
    assert library.sure("which branch do we release from?") == [RELEASE]
    assert [os.stat(paths.recall_file + suffix).st_ino for suffix in ("-wal", "-shm")] == inodes
    with closing(open_store(paths)) as reader:
        assert reader.directory("/other") is not None
        assert not reader._database.is_writable


# --- several processes ------------------------------------------------------------------------------------------------


def test_who_waits_too_long_is_told_in_words(paths: Paths, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.01)
    with (
        closing(open_store(paths)) as other,
        store.transaction(),
        pytest.raises(BusyError, match="locked"),
        other.transaction(),
    ):
        pass


_REFRESH = """
import os, sys
from contextlib import closing, suppress
from memoryd.paths import paths_from
from memoryd.recall.index import up_to_date_index
from memoryd.recall.store import open_store
print("ready", flush=True)
sys.stdin.readline()
with closing(open_store(paths_from(os.environ))) as store:
    print(up_to_date_index(store, sys.argv[1], 2e9).memories)
"""


def test_processes_that_refresh_at_once_all_find_everything(
    environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    """Also the first time, when none of them finds a file."""
    library = Library(paths, tmp_path / "memory")
    library.write(FIVE)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _REFRESH, str(library.place)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    assert [process.stdout.readline() for process in started if process.stdout] == ["ready\n"] * 4
    for process in started:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in started] == ["5\n"] * 4
    assert [process.returncode for process in started] == [0] * 4
    assert library.sure("which branch do we release from?") == [RELEASE]
    with closing(open_store(paths)) as store:
        directory = store.directory(str(library.place))
        assert directory is not None
        assert (directory.memories, directory.dead) == (5, 0)


_VICTIM = """
import os, sys
from memoryd.paths import paths_from
from memoryd.recall.store import LearntMemory, open_store

def wait():
    print("here", flush=True)
    sys.stdin.read()

def memories():
    for number in range(40):
        if sys.argv[2] == "reading" and number == 20:
            wait()
        yield LearntMemory(f"n{number}.md", (9, 9, 9), "user", False, {f"t{number}x{one}": 1 for one in range(1500)})

store = open_store(paths_from(os.environ))
with store.transaction():
    number = store.record_check(sys.argv[1], 0, 2e9)
    store.forget_all(number)
    store.learn(number, memories())
    wait()
"""


@pytest.mark.parametrize("moment", ["reading", "before the end"])
def test_killed_while_it_learns_the_file_is_as_it_was(environment: dict[str, str], paths: Paths, moment: str) -> None:
    library = used(paths)
    with closing(open_store(paths)) as store:
        directory = store.directory(str(library.place))
        assert directory is not None
        before = store.known(directory.id)
    process = subprocess.Popen(
        [sys.executable, "-c", _VICTIM, str(library.place), moment],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stdin
    assert process.stdout.readline() == b"here\n"
    process.kill()
    assert process.wait() == -9
    process.stdin.close()
    process.stdout.close()
    with closing(open_store(paths)) as store:
        assert store.directory(str(library.place)) == directory
        assert store.known(directory.id) == before
    assert library.sure("which branch do we release from?") == [RELEASE]
    with closing(sqlite3.connect(paths.recall_file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
