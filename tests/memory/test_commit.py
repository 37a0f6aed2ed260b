"""Commits: what each group comes to, and what stands in their way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Literal

import pytest

from memoryd.errors import StateError
from memoryd.memory import apply as applying
from memoryd.memory import commit as module
from memoryd.memory.commit import Committed, commit, recover, reindex
from memoryd.memory.directory import TEMPORARY_PREFIX, open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.limits import INDEX_NAME, MOST_LINES
from memoryd.model import Changeset, FileChange, Group
from memoryd.state import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database

NOW = 2_000_000_000.0
NOW_NS = 2_000_000_000_000_000_000
OLD_NS = 1_900_000_000_123_456_789

File = tuple[str, bytes | None, bytes | None]


def wish(*groups: tuple[File, ...], kind: Literal["restore", "extract"] = "restore") -> Changeset:
    """A changeset whose files have no form to keep; each group is a tuple of (name, before, after)."""
    return Changeset(
        kind,
        "a wish",
        tuple(Group(tuple(FileChange(*file, mode=0o640) for file in group), "said") for group in groups),
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the memory is: three files and an index, all old."""
    place = tmp_path / "memory"
    place.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        put(place, name, name.encode())
    put(place, INDEX_NAME, b"- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n")
    return place


@pytest.fixture
def directory(place: Path) -> Iterator[MemoryDirectory]:
    with open_directory(str(place)) as opened:
        yield opened


def put(place: Path, name: str, data: bytes) -> None:
    (place / name).write_bytes(data)
    (place / name).chmod(0o644)
    os.utime(place / name, ns=(OLD_NS, OLD_NS))


def contents(place: Path) -> dict[str, bytes]:
    """Everything in the directory but the index."""
    return {entry.name: entry.read_bytes() for entry in place.iterdir() if entry.is_file() and entry.name != INDEX_NAME}


def entries(place: Path) -> list[str]:
    return [line.split("](")[1].split(")")[0] for line in (place / INDEX_NAME).read_text().splitlines()]


def states(database: Database) -> list[str]:
    return [row["state"] for row in database.query("SELECT state FROM changes ORDER BY id")]


OLD = {"a.md": b"a.md", "b.md": b"b.md", "c.md": b"c.md"}


# --- groups -----------------------------------------------------------------------------------------------------------


def test_files_are_created_replaced_and_deleted_and_the_index_follows(
    database: Database, directory: MemoryDirectory, place: Path
) -> None:
    done = commit(
        database, directory, wish((("n.md", None, b"N"), ("a.md", b"a.md", b"A")), (("b.md", b"b.md", None),)), NOW
    )
    assert done == Committed(1)
    assert contents(place) == {"n.md": b"N", "a.md": b"A", "c.md": b"c.md"}
    assert entries(place) == ["a.md", "c.md", "n.md"]
    assert states(database) == ["applied"]


@pytest.mark.parametrize("edited", ["a.md", "b.md"])
def test_a_merge_that_meets_an_edit_is_taken_back_whole_and_the_others_are_made(
    database: Database, directory: MemoryDirectory, place: Path, edited: str
) -> None:
    put(place, edited, b"edited")
    index = (place / INDEX_NAME).read_bytes()
    merge = (("a.md", b"a.md", b"a and b"), ("new.md", None, b"new"), ("b.md", b"b.md", None))
    done = commit(database, directory, wish(merge, (("c.md", b"c.md", b"C"),)), NOW)
    assert done.conflicted == (0,)
    assert contents(place) == {**OLD, edited: b"edited", "c.md": b"C"}
    assert (place / INDEX_NAME).read_bytes() == index
    assert [(file.name, file.state) for file in changes.planned_files(database, 1) if file.group >= 0] == [
        ("a.md", "conflicted"),
        ("new.md", "conflicted"),
        ("b.md", "conflicted"),
        ("c.md", "applied"),
    ]
    assert (place / edited).stat().st_mtime_ns == OLD_NS


def test_what_was_taken_back_has_its_old_time(database: Database, directory: MemoryDirectory, place: Path) -> None:
    group = Group(
        (
            FileChange("a.md", b"a.md", b"A", OLD_NS, mode=0o644),
            FileChange("b.md", b"b.md", None, OLD_NS, mode=0o644),
            FileChange("c.md", b"not this", None),
        ),
        "said",
    )
    assert commit(database, directory, Changeset("restore", "", (group,)), NOW).conflicted == (0,)
    assert contents(place) == OLD
    for name in ("a.md", "b.md"):
        status = (place / name).stat()
        assert (status.st_mtime_ns, status.st_mode & 0o777) == (OLD_NS, 0o644)


def test_where_every_group_conflicts_the_change_has_failed(
    database: Database, directory: MemoryDirectory, place: Path
) -> None:
    done = commit(database, directory, wish((("a.md", b"other", b"A"),)), NOW)
    assert done.conflicted == (0,)
    assert contents(place) == OLD
    assert states(database) == ["conflicted"]


def test_a_name_that_somebody_took_is_not_overwritten(
    database: Database, directory: MemoryDirectory, place: Path
) -> None:
    done = commit(database, directory, wish((("a.md", None, b"mine"), ("n.md", None, b"N"))), NOW)
    assert done.conflicted == (0,)
    assert contents(place) == OLD


@pytest.mark.parametrize("after", [b"A", None])
def test_what_the_user_deleted_does_not_come_back_in_a_merge(
    database: Database, directory: MemoryDirectory, place: Path, after: bytes | None
) -> None:
    """Also where the merge would have deleted it too: taking that back would bring it again."""
    (place / "a.md").unlink()
    merge = (("b.md", b"b.md", b"B"), ("a.md", b"a.md", after), ("c.md", b"other", None))
    assert commit(database, directory, wish(merge), NOW).conflicted == (0,)
    assert contents(place) == {"b.md": b"b.md", "c.md": b"c.md"}
    assert entries(place) == ["b.md", "c.md"]


def test_nothing_to_do_leaves_no_trace(database: Database, directory: MemoryDirectory, place: Path) -> None:
    before = place.stat().st_mtime_ns
    assert commit(database, directory, wish((("a.md", b"a.md", b"a.md"),)), NOW) == Committed(None)
    assert reindex(database, directory, NOW) == Committed(None)
    assert states(database) == []
    assert place.stat().st_mtime_ns == before


def test_turns_alone_are_closed(database: Database, directory: MemoryDirectory) -> None:
    assert commit(database, directory, wish()._replace(turn_ids=()), NOW).change_id is None
    add_turn(database)
    assert commit(database, directory, wish()._replace(turn_ids=(1,)), NOW).change_id == 1
    assert database.query("SELECT outcome FROM turns")[0][0] == "succeeded"


def add_turn(database: Database) -> None:
    database.execute(
        "INSERT INTO transcripts (id, client, root, path, session_id, first_seen_at, history_bytes, device, inode,"
        " mtime_ns, active_at) VALUES (1, 'c', '/r', '/r/t', 's', 1, 0, 1, 1, 1, 1)"
    )
    database.execute(
        "INSERT INTO turns (id, transcript_id, generation, prompt_id, start, end, is_history, pending_calls, answered)"
        " VALUES (1, 1, 0, 'p', 0, 1, 0, '[]', 1)"
    )


# --- times and modes --------------------------------------------------------------------------------------------------


def test_times_and_modes_are_as_asked_for(database: Database, directory: MemoryDirectory, place: Path) -> None:
    group = Group(
        (FileChange("a.md", b"a.md", b"A", OLD_NS, 17, mode=0o604), FileChange("n.md", None, b"N", mode=0o640)), "said"
    )
    commit(database, directory, Changeset("restore", "", (group,)), NOW)
    found = {
        name: ((place / name).stat().st_mtime_ns, (place / name).stat().st_mode & 0o777) for name in os.listdir(place)
    }
    assert found == {
        "a.md": (17, 0o604),
        "b.md": (OLD_NS, 0o644),
        "c.md": (OLD_NS, 0o644),
        "n.md": (NOW_NS, 0o640),
        INDEX_NAME: (NOW_NS, 0o644),
    }


# --- things in the way ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thing", ["symlink", "hard link", "directory"])
def test_what_is_no_plain_file_of_its_own_is_refused(
    database: Database, directory: MemoryDirectory, place: Path, tmp_path: Path, thing: str
) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"a.md")
    (place / "a.md").unlink()
    make(thing, place / "a.md", precious)
    for after in (b"A", None):
        with pytest.raises(RefusedError, match="left alone"):
            commit(database, directory, wish((("a.md", b"a.md", after), ("b.md", b"b.md", b"B"))), NOW)
    assert precious.read_bytes() == b"a.md"
    assert (place / "b.md").read_bytes() == b"b.md"
    assert states(database) == []


def make(thing: str, path: Path, target: Path) -> None:
    match thing:
        case "symlink":
            path.symlink_to(target)
        case "hard link":
            path.hardlink_to(target)
        case _:
            path.mkdir()


@pytest.mark.parametrize("after", [b"A", None])
@pytest.mark.parametrize("thing", ["symlink", "directory"])
def test_what_takes_a_files_place_after_the_check_stays(
    database: Database,
    directory: MemoryDirectory,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    thing: str,
    after: bytes | None,
) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"a.md")

    def swap() -> None:
        (place / "a.md").unlink()
        make(thing, place / "a.md", precious)

    before_apply(monkeypatch, swap)
    assert commit(database, directory, wish((("a.md", b"a.md", after),)), NOW).conflicted == (0,)
    assert precious.read_bytes() == b"a.md"
    assert (place / "a.md").is_symlink() if thing == "symlink" else (place / "a.md").is_dir()
    assert not [name for name in os.listdir(place) if name.startswith(TEMPORARY_PREFIX)]


def before_apply(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Let something happen once, after *intend* and before the first file is touched."""
    prepare = changes.prepare

    def prepare_and_meanwhile(*arguments: object) -> tuple[int, ...]:
        numbers = prepare(*arguments)  # type: ignore[arg-type]
        meanwhile()
        return numbers

    monkeypatch.setattr(changes, "prepare", prepare_and_meanwhile)


def test_temporary_files_of_others_are_left_alone(database: Database, directory: MemoryDirectory, place: Path) -> None:
    others = {f"{TEMPORARY_PREFIX}abc-0": b"1", ".a.md.swp": b"2", "a.md~": b"3", f"{TEMPORARY_PREFIX}": b"4"}
    for name, data in others.items():
        put(place, name, data)
    commit(database, directory, wish((("a.md", b"a.md", b"A"),)), NOW)
    assert contents(place) == {**OLD, **others, "a.md": b"A"}


# --- the directory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["before", "during"])
@pytest.mark.parametrize("what", ["moved", "swapped", "deleted"])
def test_a_directory_that_is_gone_is_noticed_and_nothing_is_written(
    database: Database,
    directory: MemoryDirectory,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
    what: str,
) -> None:
    moved = place.with_name("moved")

    def lose_it() -> None:
        if what == "deleted":
            shutil.rmtree(place)
            return
        place.rename(moved)
        if what == "swapped":
            place.mkdir()
            put(place, "a.md", b"a.md")

    if moment == "before":
        lose_it()
    else:
        before_apply(monkeypatch, lose_it)
    with pytest.raises(StateError, match="cannot be written"):
        commit(
            database, directory, wish((("a.md", b"a.md", b"A"), ("n.md", None, b"N")), (("b.md", b"b.md", None),)), NOW
        )
    if what != "deleted":
        assert contents(moved) == OLD
    if what == "swapped":
        assert contents(place) == {"a.md": b"a.md"}
        assert os.listdir(place) == ["a.md"]
    assert "applied" not in states(database)


def test_an_error_in_the_middle_takes_everything_back_the_index_too(
    database: Database, directory: MemoryDirectory, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = (place / INDEX_NAME).read_bytes()
    errors = [OSError(5, "Input/output error")]

    def fail_once(directory: MemoryDirectory) -> None:
        if errors:
            raise errors.pop()
        applying.sync(directory)

    monkeypatch.setattr(module, "sync", fail_once)
    merge = (("a.md", b"a.md", b"A"), ("n.md", None, b"N"), ("b.md", b"b.md", None))
    with pytest.raises(StateError, match=r"Input/output error\. Nothing was changed\."):
        commit(database, directory, wish(merge), NOW)
    assert contents(place) == OLD
    assert (place / INDEX_NAME).read_bytes() == index
    assert states(database) == ["conflicted"]


def test_an_error_where_only_turns_are_to_be_closed_is_told_in_words(
    database: Database, directory: MemoryDirectory, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_turn(database)
    before_apply(monkeypatch, lambda: os.rename(place, place.with_name("moved")))
    with pytest.raises(StateError, match="will be finished"):
        commit(database, directory, wish()._replace(turn_ids=(1,)), NOW)
    assert states(database) == ["prepared"]
    assert database.query("SELECT outcome FROM turns")[0][0] is None


_AS_NOBODY = """
import os, sys
from memoryd.errors import StateError
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.model import Changeset, FileChange, Group
from memoryd.paths import paths_from
from memoryd.state.database import open_database
os.setgid(65534); os.setuid(65534)
database = open_database(paths_from(os.environ))
files = FileChange("a.md", b"a.md", b"A"), FileChange("n.md", None, b"N")
with open_directory(sys.argv[1]) as directory:
    try:
        print(commit(database, directory, Changeset("restore", "", (Group(files, "said"),)), 2e9))
    except StateError as error:
        print(error.sentence)
print([row[0] for row in database.query("SELECT state FROM changes")])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="root drops its rights to be refused")
def test_a_directory_that_cannot_be_written_is_told_in_words(open_place: Path, place: Path) -> None:
    home = open_place / "home"
    home.mkdir()
    place = place.rename(open_place / "memory")
    for path in (home, place, *place.iterdir()):
        os.chown(path, 65534, 65534)

    def try_it() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, place],
            env={**os.environ, "HOME": str(home)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    place.chmod(0o500)
    assert try_it() == [
        f"The memory directory {place} cannot be written: Permission denied. Nothing was changed.",
        "['conflicted']",
    ]
    assert contents(place) == OLD
    place.chmod(0o700)
    (place / INDEX_NAME).chmod(0)
    assert "Permission denied. Nothing was changed." in try_it()[0]
    assert contents(place) == OLD
    (place / INDEX_NAME).chmod(0o600)
    assert try_it() == [str(Committed(2)), "['conflicted', 'applied']"]
    assert contents(place) == {**OLD, "a.md": b"A", "n.md": b"N"}


# --- the index --------------------------------------------------------------------------------------------------------


def test_an_index_that_is_edited_meanwhile_keeps_the_edit_and_gets_the_line(
    database: Database, directory: MemoryDirectory, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_apply(monkeypatch, lambda: put(place, INDEX_NAME, b"# Mine\n- [A, as I call it](a.md)\n"))
    assert commit(database, directory, wish((("n.md", None, b"N"),)), NOW) == Committed(1)
    assert (place / INDEX_NAME).read_text() == (
        "# Mine\n- [A, as I call it](a.md)\n- [B](b.md) — b.md\n- [C](c.md) — c.md\n- [N](n.md) — N\n"
    )


@pytest.mark.parametrize("thing", ["symlink", "dangling symlink", "directory", "5 MB"])
def test_an_index_that_nobody_can_have_written_is_left_alone(
    database: Database, directory: MemoryDirectory, place: Path, tmp_path: Path, thing: str
) -> None:
    index = place / INDEX_NAME
    index.unlink()
    precious = tmp_path / "precious"
    if thing != "dangling symlink":
        precious.write_bytes(b"- [Gone](gone.md)\n")
    if thing == "5 MB":
        index.write_bytes(b"- [A](a.md)\n" * 450_000)
    else:
        make(thing.removeprefix("dangling "), index, precious)
    before = index.lstat()
    assert commit(database, directory, wish((("n.md", None, b"N"),)), NOW) == Committed(1)
    after = index.lstat()  # without the access time: reading is allowed
    assert (after.st_ino, after.st_mode, after.st_size, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mode,
        before.st_size,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    assert contents(place) == {**OLD, "n.md": b"N"}
    if thing == "symlink":
        assert precious.read_bytes() == b"- [Gone](gone.md)\n"
    assert len(changes.planned_files(database, 1)) == 1
    assert reindex(database, directory, NOW) == Committed(None)


def test_a_line_of_the_index_that_no_file_can_be_behind_is_taken_out(
    database: Database, directory: MemoryDirectory, place: Path
) -> None:
    put(place, INDEX_NAME, b"- [A](a.md)\n- [B](b.md)\n- [Nothing](%00.md)\n- [C](c.md)\n- [D](gone%FF.md)\n")
    assert reindex(database, directory, NOW) == Committed(1)
    assert entries(place) == ["a.md", "b.md", "c.md"]


def test_a_hundred_memories_more_than_the_index_can_hold(
    database: Database, directory: MemoryDirectory, place: Path
) -> None:
    files = tuple((f"n{number:03}.md", None, b"N") for number in range(MOST_LINES + 100))
    done = commit(database, directory, wish(files), NOW)
    assert len(done.left_out) == 103
    assert {"a.md", "b.md", "c.md"} <= set(done.left_out)
    assert len(entries(place)) == MOST_LINES


# --- other processes --------------------------------------------------------------------------------------------------

_ONE_OF_TWO = """
import os, sys
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.model import Changeset, FileChange, Group
from memoryd.paths import paths_from
from memoryd.state.database import open_database
place, mine = sys.argv[1:]
database = open_database(paths_from(os.environ))
applied = 0
with open_directory(place) as directory:
    sys.stdin.readline()
    for number in range(25):
        shared = directory.read("a.md")
        line = f"{mine}{number}\\n".encode()
        done = commit(database, directory, Changeset("restore", "", (
            Group((FileChange(f"{mine}{number}.md", None, line),), ""),
            Group((FileChange("a.md", shared.data, shared.data + line),), ""),
        )), 2e9)
        assert set(done.conflicted) <= {1}, done
        applied += not done.conflicted
print(applied)
"""


def test_two_processes_commit_at_once_and_neither_loses_anything(
    database: Database, place: Path, environment: dict[str, str]
) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _ONE_OF_TWO, place, mine],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for mine in ("x", "y")
    ]
    said = [process.communicate("go\n") for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    names = {f"{mine}{number}.md" for mine in "xy" for number in range(25)}
    assert set(contents(place)) == {*OLD, *names}
    assert set(entries(place)) == {*OLD, *names}
    assert len((place / "a.md").read_bytes().splitlines()) == max(1, sum(int(out) for out, _ in said))
    assert states(database) == ["applied"] * 50


class Killed(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("moment", ["intended", "applied"])
def test_what_a_dead_process_prepared_the_next_commit_finishes(
    database: Database, directory: MemoryDirectory, place: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, "_apply_all" if moment == "intended" else "sync", die)
        with pytest.raises(Killed):
            commit(database, directory, wish((("a.md", b"a.md", b"A"), ("b.md", b"b.md", None))), NOW)
    assert states(database) == ["prepared"]
    assert commit(database, directory, wish((("a.md", b"A", b"later"),)), NOW) == Committed(2)
    assert contents(place) == {"a.md": b"later", "c.md": b"c.md"}
    assert entries(place) == ["a.md", "c.md"]
    assert states(database) == ["applied", "applied"]


def test_what_a_dead_process_prepared_gives_way_to_an_edit_made_since(
    database: Database, directory: MemoryDirectory, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, "sync", die)
        with pytest.raises(Killed):
            merge = (("a.md", b"a.md", b"A"), ("b.md", b"b.md", None))
            commit(database, directory, wish(merge, (("n.md", None, b"N"),)), NOW)
    put(place, "a.md", b"edited since")
    with directory.locked():
        assert recover(database, directory, NOW) == 1
        assert recover(database, directory, NOW) == 0
    assert contents(place) == {**OLD, "a.md": b"edited since", "n.md": b"N"}
    assert (place / INDEX_NAME).read_text() == "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n- [N](n.md) — N\n"
    assert states(database) == ["applied"]


def test_a_file_that_somebody_has_open_for_writing_is_not_taken(
    database: Database, directory: MemoryDirectory, place: Path
) -> None:
    """Its bytes are still the ones that were read, and in a moment they will not be."""
    with (place / "a.md").open("ab", buffering=0) as one, (place / "b.md").open("ab", buffering=0) as other:
        done = commit(database, directory, wish((("a.md", b"a.md", b"A"),), (("b.md", b"b.md", None),)), NOW)
        one.write(b" and more")
        other.write(b" and more")
    assert done.conflicted == (0, 1)
    assert contents(place) == {**OLD, "a.md": b"a.md and more", "b.md": b"b.md and more"}
