"""The memory directory, held open: what counts as a topic file in it, and who may write there."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from memoryd.errors import StateError
from memoryd.memory.directory import FileState, Listing, open_directory, problem_of
from memoryd.memory.limits import FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoryd.memory.directory import MemoryDirectory

MTIME_NS = 1_791_700_000_123_456_789
NOBODY = 65_534

HOLDER = """
import sys, time
from memoryd.memory.directory import open_directory
with open_directory(sys.argv[1]) as directory, directory.locked():
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[MemoryDirectory]:
    with open_directory(str(tmp_path / "memory"), create=True) as opened:
        yield opened


def put(directory: MemoryDirectory, name: str, data: bytes = b"text\n") -> str:
    path = os.path.join(directory.path, name)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o644)
    os.utime(path, ns=(MTIME_NS, MTIME_NS))
    return path


@contextmanager
def an_ordinary_user() -> Iterator[None]:
    """Root may read everything: as root, be nobody for a while."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


# --- opening ----------------------------------------------------------------------------------------------------------


def test_it_is_made_on_demand_and_private(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "slug" / "memory"
    with pytest.raises(FileNotFoundError), open_directory(str(path)):
        pass
    assert not path.exists()
    with open_directory(str(path), create=True) as directory:
        assert directory.listing() == Listing({}, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_the_mode_that_a_person_gave_it_stays(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir(mode=0o750)
    with open_directory(str(tmp_path / "memory"), create=True):
        assert stat.S_IMODE((tmp_path / "memory").stat().st_mode) == 0o750


def test_a_file_in_its_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("in the way")
    with (
        pytest.raises(StateError, match=r"memory is no directory\."),
        open_directory(str(tmp_path / "memory")),
    ):
        pass
    with (
        pytest.raises(StateError, match=r"memory is no directory\."),
        open_directory(str(tmp_path / "memory"), create=True),
    ):
        pass
    with (
        pytest.raises(StateError, match=r"deeper cannot be opened: Not a directory\."),
        open_directory(str(tmp_path / "memory" / "deeper"), create=True),
    ):
        pass


def test_what_keeps_a_directory_from_use_is_told_with_what_helps() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)  # noqa: S103 - of a moment
        with an_ordinary_user():
            path = os.path.join(place, "memory")
            assert problem_of(path) is None
            os.symlink(os.path.join(place, "disk"), path)
            assert _told(path) == (f"is a link to {place}/disk, which is not there.", f"mv {path} {path}.aside")
            with pytest.raises(StateError, match="which is not there"), open_directory(path, create=True):
                pass
            os.mkdir(os.path.join(place, "disk"))
            assert problem_of(path) is None
            os.chmod(path, 0o500)
            assert _told(path) == ("cannot be written.", f"chmod u+rwx {path}")
            assert problem_of(path, os.R_OK | os.X_OK) is None
            os.chmod(path, 0)
            assert _told(path) == ("cannot be read.", f"chmod u+rwx {path}")
            with pytest.raises(StateError, match="cannot be read"), open_directory(path):
                pass
            os.chmod(path, 0o700)


def _told(path: str) -> tuple[str, str]:
    problem = problem_of(path)
    assert problem is not None
    return problem.sentence.removeprefix(f"The memory directory {path} "), problem.fix


def test_no_descriptor_is_left_behind(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    with pytest.raises(ZeroDivisionError), open_directory(str(tmp_path)) as directory:
        directory.read("nothing.md")
        put(directory, "a.md")
        directory.read("a.md")
        os.mkdir(tmp_path / "x.md")
        directory.read("x.md")
        _ = 1 / 0
    assert (len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0) == before


# --- listing and reading ----------------------------------------------------------------------------------------------


def test_topic_files_are_listed_with_their_mtimes_and_nothing_else_is(directory: MemoryDirectory) -> None:
    for name in (
        "a.md",
        "größe (1).md",
        "MEMORY.md",
        ".hidden.md",
        ".memoryd-1",
        "notes.txt",
        "b.MD",
        ".consolidate-lock",
    ):
        put(directory, name)
    os.mkdir(os.path.join(directory.path, "team"))
    assert directory.listing() == Listing({"a.md": MTIME_NS, "größe (1).md": MTIME_NS}, {})


def test_what_only_looks_like_a_topic_file_is_named_and_never_read(directory: MemoryDirectory, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of somebody else")
    place = directory.path
    os.symlink(tmp_path / "secret", f"{place}/link.md")
    os.symlink(tmp_path / "nowhere", f"{place}/dangling.md")
    os.mkdir(f"{place}/folder.md")
    os.mkfifo(f"{place}/pipe.md")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()
        os.chdir(place)  # the path of a socket is short
        try:
            bound.bind("socket.md")
        finally:
            os.chdir(here)
    assert directory.listing() == Listing(
        {},
        {
            "link.md": "a symlink",
            "dangling.md": "a symlink",
            "folder.md": "no regular file",
            "pipe.md": "no regular file",
            "socket.md": "no regular file",
        },
    )
    assert {name: directory.read(name) for name in directory.listing().odd} == dict.fromkeys(directory.listing().odd)


def test_a_hard_link_is_a_topic_that_must_not_be_changed(directory: MemoryDirectory, tmp_path: Path) -> None:
    os.link(put(directory, "a.md"), tmp_path / "elsewhere")
    assert directory.listing() == Listing({"a.md": MTIME_NS}, {"a.md": "a hard link: it has another name elsewhere"})


def test_an_oversize_file_is_a_topic_that_is_left_alone(directory: MemoryDirectory) -> None:
    put(directory, "fits.md", b"x" * FILE_BYTES)
    put(directory, "large.md", b"x" * (FILE_BYTES + 1))
    assert directory.listing() == Listing({"fits.md": MTIME_NS, "large.md": MTIME_NS}, {"large.md": "larger than 1 MB"})
    state = directory.read("large.md")
    assert state is not None
    assert len(state.data) == FILE_BYTES


def test_a_name_that_is_not_utf_8_is_no_topic_and_told_in_escapes(directory: MemoryDirectory, tmp_path: Path) -> None:
    """Neither the database nor an index nor a request to a model can hold it."""
    put(directory, os.fsdecode(b"caf\xe9.md"))
    os.symlink(tmp_path, os.path.join(directory.path, os.fsdecode(b"\xff.md")))
    put(directory, os.fsdecode(b"caf\xe9.txt"))
    put(directory, os.fsdecode(b".\xff.md"))
    assert directory.listing() == Listing({}, {"caf\\xe9.md": "not named in UTF-8", "\\xff.md": "a symlink"})


def test_a_file_is_read_with_its_mtime_and_mode_up_to_a_limit(directory: MemoryDirectory) -> None:
    os.chmod(put(directory, "a.md", b"0123456789"), 0o640)
    assert directory.read("a.md") == FileState(b"0123456789", MTIME_NS, 0o640)
    assert directory.read("a.md", 4) == FileState(b"0123", MTIME_NS, 0o640)
    assert directory.read("a.md", 0) == FileState(b"", MTIME_NS, 0o640)
    assert directory.read("gone.md") is None


def test_a_file_that_may_not_be_read_is_an_error_and_not_an_empty_file(directory: MemoryDirectory) -> None:
    """Taken for missing, it could be made anew over what is in it."""
    os.chmod(directory.path, 0o755)  # noqa: S103 - what is asked is the file, not the way to it
    os.chmod(put(directory, "a.md"), 0)
    with an_ordinary_user(), pytest.raises(PermissionError):
        directory.read("a.md")


# --- moved, deleted, replaced -----------------------------------------------------------------------------------------


def test_a_directory_that_is_at_its_path(directory: MemoryDirectory) -> None:
    assert directory.is_at_its_path()


def test_a_moved_directory_is_noticed_and_can_still_be_read(directory: MemoryDirectory, tmp_path: Path) -> None:
    put(directory, "a.md")
    os.rename(directory.path, tmp_path / "moved")
    assert not directory.is_at_its_path()
    assert directory.read("a.md") == FileState(b"text\n", MTIME_NS, 0o644)
    os.mkdir(directory.path)
    assert not directory.is_at_its_path()
    assert directory.listing() == Listing({"a.md": MTIME_NS}, {})
    os.rmdir(directory.path)
    os.rename(tmp_path / "moved", directory.path)
    assert directory.is_at_its_path()


def test_a_deleted_directory_is_noticed(directory: MemoryDirectory) -> None:
    os.rmdir(directory.path)
    assert not directory.is_at_its_path()
    assert directory.listing() == Listing({}, {})
    assert directory.read("a.md") is None


def test_a_symlink_to_the_same_directory_is_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    os.symlink("real", tmp_path / "memory")
    with open_directory(str(tmp_path / "memory")) as directory:
        assert directory.is_at_its_path()
        (tmp_path / "other").mkdir()
        os.remove(tmp_path / "memory")
        os.symlink("other", tmp_path / "memory")
        assert not directory.is_at_its_path()


# --- the lock ---------------------------------------------------------------------------------------------------------


def is_locked(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_one_process_at_a_time_and_a_killed_one_holds_nothing(directory: MemoryDirectory) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, directory.path], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        assert is_locked(directory.path)
        holder.kill()
        holder.wait()
        with directory.locked():
            assert is_locked(directory.path)
    finally:
        holder.kill()
        holder.communicate()
    assert not is_locked(directory.path)


def test_the_lock_is_given_back_after_an_error(directory: MemoryDirectory) -> None:
    with pytest.raises(ZeroDivisionError), directory.locked():
        _ = 1 / 0
    assert not is_locked(directory.path)


def test_a_commit_within_the_lock_does_not_give_it_back(directory: MemoryDirectory) -> None:
    with directory.locked():
        with directory.locked():
            assert is_locked(directory.path)
        assert is_locked(directory.path)
    assert not is_locked(directory.path)


def test_a_child_process_does_not_inherit_the_lock(directory: MemoryDirectory) -> None:
    with directory.locked():
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        assert not is_locked(directory.path)
    finally:
        child.communicate(b"\n")
