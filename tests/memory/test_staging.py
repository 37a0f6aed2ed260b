"""The private copy: nothing done in it reaches the directory but through a commit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.memory.directory import open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.staging import changes_in, staged
from memoryd.model import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.memory.directory import MemoryDirectory

NS = 1_800_000_000_000_000_000


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[MemoryDirectory]:
    memory = tmp_path / "memory"
    memory.mkdir()
    for name in ("a.md", "b.md", "c.md", "MEMORY.md"):
        (memory / name).write_text(f"{name}\n")
        (memory / name).chmod(0o640)
        os.utime(memory / name, ns=(NS, NS))
    (memory / "link.md").symlink_to("/etc/passwd")
    (memory / "notes.txt").write_text("no memory")
    with open_directory(str(memory)) as opened:
        yield opened


def test_the_difference_is_what_was_created_changed_and_deleted(directory: MemoryDirectory, tmp_path: Path) -> None:
    with staged(directory, str(tmp_path / "copy")) as copy:
        place = Path(copy.path)
        assert sorted(os.listdir(place)) == ["MEMORY.md", "a.md", "b.md", "c.md"]
        assert changes_in(copy) == ()
        (place / "a.md").write_text("changed\n")
        (place / "b.md").unlink()
        (place / "new.md").write_text("new\n")
        (place / "MEMORY.md").write_text("whatever the engine thinks\n")
        assert changes_in(copy) == (
            FileChange("a.md", b"a.md\n", b"changed\n", NS, mode=0o640),
            FileChange("b.md", b"b.md\n", None, NS, mode=0o640),
            FileChange("new.md", None, b"new\n"),
        )
    assert not place.exists()
    assert Path(directory.path, "a.md").read_text() == "a.md\n"


def test_the_copy_is_private_and_goes_also_after_a_failure(directory: MemoryDirectory, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    with pytest.raises(ZeroDivisionError), staged(directory, str(place)):
        assert place.stat().st_mode & 0o777 == 0o700
        _ = 1 / 0
    assert not place.exists()


def test_a_place_that_is_taken_is_not_used(directory: MemoryDirectory, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    with pytest.raises(FileExistsError), staged(directory, str(tmp_path / "copy")):
        pass
    assert (tmp_path / "copy").exists()


@pytest.mark.parametrize("kind", ["link", "folder", "large", "hard link"])
def test_what_no_memory_can_be_is_refused(directory: MemoryDirectory, tmp_path: Path, kind: str) -> None:
    with staged(directory, str(tmp_path / "copy")) as copy:
        odd = Path(copy.path, "odd.md")
        if kind == "link":
            odd.symlink_to("/etc/passwd")
        elif kind == "folder":
            odd.mkdir()
        elif kind == "large":
            odd.write_bytes(b"x" * (2 << 20))
        else:
            os.link(Path(copy.path, "a.md"), odd)
        with pytest.raises(RefusedError):
            changes_in(copy)
