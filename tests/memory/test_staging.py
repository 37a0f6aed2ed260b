"""The private copy: nothing done in it reaches the directory but through a commit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.memory.guards import RefusedError
from memoryd.memory.snapshot import DirectorySnapshot
from memoryd.memory.staging import changes_in, staged
from memoryd.model import FileChange

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.memory.snapshot import Snapshot
    from memoryd.state.database import Database

NS = 1_800_000_000_000_000_000


@pytest.fixture
def snapshot(database: Database, tmp_path: Path) -> Snapshot:
    memory = tmp_path / "memory"
    memory.mkdir()
    for name in ("a.md", "b.md", "c.md", "MEMORY.md"):
        (memory / name).write_text(f"{name}\n")
        (memory / name).chmod(0o640)
        os.utime(memory / name, ns=(NS, NS))
    (memory / "link.md").symlink_to("/etc/passwd")
    (memory / "notes.txt").write_text("no memory")
    return DirectorySnapshot(database, str(memory))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "copy"


def test_the_difference_is_what_was_created_changed_and_deleted(snapshot: Snapshot, place: Path) -> None:
    with staged(snapshot, str(place)):
        assert sorted(os.listdir(place)) == ["MEMORY.md", "a.md", "b.md", "c.md"]
        assert (place / "a.md").stat().st_mtime_ns == NS
        assert changes_in(str(place), snapshot) == ()
        (place / "a.md").write_text("changed\n")
        (place / "b.md").unlink()
        (place / "new.md").write_text("new\n")
        (place / "MEMORY.md").write_text("whatever the engine thinks\n")
        assert changes_in(str(place), snapshot) == (
            FileChange("a.md", b"a.md\n", b"changed\n", NS, mode=0o640),
            FileChange("b.md", b"b.md\n", None, NS, mode=0o640),
            FileChange("new.md", None, b"new\n"),
        )
    assert not place.exists()
    with open(os.path.join(snapshot.path, "a.md"), encoding="utf-8") as file:
        assert file.read() == "a.md\n"


def test_the_copy_is_private_and_goes_also_after_a_failure(snapshot: Snapshot, place: Path) -> None:
    with pytest.raises(ZeroDivisionError), staged(snapshot, str(place)):
        assert place.stat().st_mode & 0o777 == 0o700
        _ = 1 / 0
    assert not place.exists()


def test_the_copy_of_a_process_that_died_is_made_anew(snapshot: Snapshot, place: Path) -> None:
    place.mkdir()
    (place / "half.md").write_text("written before the kill\n")
    with staged(snapshot, str(place)):
        assert sorted(os.listdir(place)) == ["MEMORY.md", "a.md", "b.md", "c.md"]


@pytest.mark.parametrize("kind", ["link", "folder", "large", "hard link"])
def test_what_no_memory_can_be_is_refused(snapshot: Snapshot, place: Path, kind: str) -> None:
    with staged(snapshot, str(place)):
        odd = place / "odd.md"
        if kind == "link":
            odd.symlink_to("/etc/passwd")
        elif kind == "folder":
            odd.mkdir()
        elif kind == "large":
            odd.write_bytes(b"x" * (2 << 20))
        else:
            os.link(place / "a.md", odd)
        with pytest.raises(RefusedError):
            changes_in(str(place), snapshot)
