"""The memories as an engine sees them: what they say, what they rest on, and which of them may be rewritten."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.memory.commit import commit
from memoryd.memory.directory import MemoryDirectory, open_directory
from memoryd.memory.document import new_document
from memoryd.memory.history import restoring, undoing
from memoryd.memory.shelf import shelf_of
from memoryd.model import Changeset, Evidence, FileChange, Group, Shelved
from memoryd.state import history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Literal

    from memoryd.memory.directory import FileState
    from memoryd.state.database import Database

NOW = 1_792_000_000.0
SAID = Evidence("s", "m1", "keep reviews small", "h1", 1.0)
SAID_LATER = Evidence("s", "m2", "keep reviews tiny", "h2", 2.0)


def a_memory(body: str = "Keep reviews small.", *, pinned: bool = False) -> bytes:
    data = new_document(
        name="reviews",
        description="Reviews are small",
        kind="feedback",
        body=body,
        session_id="s",
        evidence="h1",
        modified="2026-10-16T07:40:18Z",
    ).render()
    return data.replace(b"metadata:\n", b"metadata:\n  pinned: true\n") if pinned else data


class Shelf:
    def __init__(self, database: Database, directory: MemoryDirectory) -> None:
        self.database, self.directory = database, directory
        self._now = NOW

    def put(self, name: str, data: bytes, at: float = NOW) -> None:
        """As a person or a client does it."""
        path = os.path.join(self.directory.path, name)
        with open(path, "wb") as file:
            file.write(data)
        os.utime(path, (at, at))

    def make(
        self, name: str, data: bytes | None, evidence: Evidence = SAID, kind: Literal["extract", "forget"] = "extract"
    ) -> None:
        """As a job does it, or a command."""
        state = self.directory.read(name)
        change = FileChange(name, state.data if state else None, data, state.mtime_ns if state else None)
        self._now += 1
        group = Group((change,), "", ((name, evidence),) if kind == "extract" else ())
        commit(self.database, self.directory, Changeset(kind, "", (group,), "s"), self._now)

    def undo(self) -> None:
        change = history.recent(self.database, self.directory.path)[0]
        self._now += 1
        commit(self.database, self.directory, undoing(self.database, change), self._now)

    def restore(self, name: str) -> None:
        commit(self.database, self.directory, restoring(self.database, self.directory, name, None), self._now)

    def ours(self) -> list[str]:
        return [memory.name for memory in shelf_of(self.database, self.directory) if memory.is_ours]


@pytest.fixture
def shelf(database: Database, tmp_path: Path) -> Iterator[Shelf]:
    with open_directory(str(tmp_path / "memory"), create=True) as directory:
        yield Shelf(database, directory)


def test_every_memory_is_on_it_oldest_first(shelf: Shelf) -> None:
    shelf.put("theirs.md", b"No frontmatter.\n", at=NOW + 500)
    shelf.make("ours.md", a_memory())
    shelf.put("older.md", b"---\nname: x\ndescription: plain words\ntype: user\n---\nOld.\n", at=NOW - 500)
    assert shelf_of(shelf.database, shelf.directory) == [
        Shelved("older.md", "user", "plain words", "Old.\n", written_at=NOW - 500, as_of=NOW - 500),
        Shelved(
            "ours.md",
            "feedback",
            "Reviews are small",
            "Keep reviews small.\n",
            is_ours=True,
            evidence=(SAID,),
            written_at=NOW + 1,
            as_of=NOW + 1,
        ),
        Shelved("theirs.md", None, "", "No frontmatter.\n", written_at=NOW + 500, as_of=NOW + 500, is_fixed=True),
    ]


def test_what_is_pinned_is_fixed(shelf: Shelf) -> None:
    shelf.put("pinned.md", a_memory(pinned=True))
    shelf.put("loose.md", a_memory("Pinned notes go to the board."))
    assert {one.name: one.is_fixed for one in shelf_of(shelf.database, shelf.directory)} == {
        "pinned.md": True,
        "loose.md": False,
    }


def test_of_an_empty_directory_it_is_empty(shelf: Shelf) -> None:
    assert shelf_of(shelf.database, shelf.directory) == []


def test_what_is_no_memory_or_cannot_be_read_is_not_on_it(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    os.symlink("/etc/passwd", os.path.join(shelf.directory.path, "link.md"))
    os.mkfifo(os.path.join(shelf.directory.path, "fifo.md"))
    shelf.put("closed.md", b"x\n")
    shelf.put("gone.md", b"x\n")
    shelf.put("open.md", b"x\n")
    real = MemoryDirectory.read

    def refused(self: MemoryDirectory, name: str, limit: int = 1 << 20) -> FileState | None:
        if name == "closed.md":
            raise PermissionError(13, "Permission denied")
        return None if name == "gone.md" else real(self, name, limit)

    monkeypatch.setattr(MemoryDirectory, "read", refused)
    assert [memory.name for memory in shelf_of(shelf.database, shelf.directory)] == ["open.md"]


def test_what_memoryd_made_is_ours_until_somebody_changes_it(shelf: Shelf) -> None:
    shelf.make("a.md", a_memory())
    assert shelf.ours() == ["a.md"]
    shelf.put("a.md", a_memory(pinned=True))
    assert shelf.ours() == []
    shelf.put("a.md", a_memory() + b"x")
    assert shelf.ours() == []
    shelf.put("a.md", a_memory())
    assert shelf.ours() == ["a.md"]


def test_an_update_is_ours_and_so_is_what_its_undo_leaves(shelf: Shelf) -> None:
    shelf.make("a.md", a_memory())
    shelf.make("a.md", a_memory("Keep reviews tiny."), SAID_LATER)
    assert shelf.ours() == ["a.md"]
    shelf.undo()
    (memory,) = shelf_of(shelf.database, shelf.directory)
    assert (memory.body, memory.is_ours, memory.evidence) == ("Keep reviews small.\n", True, (SAID,))


def test_what_memoryd_only_put_back_is_not_ours(shelf: Shelf) -> None:
    """A file of the user, pinned even, that was forgotten and came back by undo or restore."""
    shelf.put("undone.md", a_memory(pinned=True))
    shelf.make("undone.md", None, kind="forget")
    shelf.undo()
    shelf.put("restored.md", a_memory())
    shelf.make("restored.md", None, kind="forget")
    shelf.restore("restored.md")
    assert [memory.name for memory in shelf_of(shelf.database, shelf.directory)] == ["restored.md", "undone.md"]
    assert shelf.ours() == []


def test_the_same_bytes_under_another_name_or_in_another_directory_are_not_ours(
    shelf: Shelf, database: Database, tmp_path: Path
) -> None:
    shelf.make("a.md", a_memory())
    shelf.put("b.md", a_memory())
    assert shelf.ours() == ["a.md"]
    with open_directory(str(tmp_path / "elsewhere"), create=True) as directory:
        Shelf(database, directory).put("a.md", a_memory())
        assert Shelf(database, directory).ours() == []


def test_a_file_with_a_second_name_elsewhere_is_left_alone(shelf: Shelf, tmp_path: Path) -> None:
    shelf.make("a.md", a_memory())
    os.link(os.path.join(shelf.directory.path, "a.md"), tmp_path / "elsewhere.md")
    assert shelf.ours() == []


def test_what_was_taken_back_rests_on_nothing_when_it_is_made_anew(shelf: Shelf) -> None:
    shelf.make("a.md", a_memory())
    shelf.make("a.md", None, Evidence("s", "m3", "scratch that", "h3"))
    shelf.make("a.md", a_memory(), SAID_LATER)
    assert [memory.evidence for memory in shelf_of(shelf.database, shelf.directory)] == [(SAID_LATER,)]
