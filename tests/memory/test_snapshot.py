"""The memories as an engine sees them: what they say, what they rest on, and which of them may be rewritten."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.language.evidence import repository_evidence
from memoryd.memory.commit import commit
from memoryd.memory.directory import MemoryDirectory, open_directory
from memoryd.memory.document import new_document
from memoryd.memory.history import restoring, undoing
from memoryd.memory.manifest import manifest_of
from memoryd.memory.snapshot import DirectorySnapshot
from memoryd.model import Changeset, Evidence, FileChange, Group, StoredMemory
from memoryd.state import history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Literal

    from memoryd.memory.directory import FileState, Listing
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


class Memories:
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

    def all(self) -> list[StoredMemory]:
        return list(DirectorySnapshot(self.database, self.directory.path).memories)

    def ours(self) -> list[str]:
        return [memory.name for memory in self.all() if memory.is_ours]


@pytest.fixture
def memories(database: Database, tmp_path: Path) -> Iterator[Memories]:
    with open_directory(str(tmp_path / "memory"), create=True) as directory:
        yield Memories(database, directory)


def test_every_memory_is_on_it_oldest_first(memories: Memories) -> None:
    memories.put("theirs.md", b"No frontmatter.\n", at=NOW + 500)
    memories.make("ours.md", a_memory())
    memories.put("older.md", b"---\nname: x\ndescription: plain words\ntype: user\n---\nOld.\n", at=NOW - 500)
    assert memories.all() == [
        StoredMemory("older.md", "user", "plain words", "Old.\n", written_at=NOW - 500, is_time_known=False),
        StoredMemory(
            "ours.md",
            "feedback",
            "Reviews are small",
            "Keep reviews small.\n",
            is_ours=True,
            evidence=(SAID,),
            written_at=1.0,  # when it was said
        ),
        StoredMemory(
            "theirs.md", None, "", "No frontmatter.\n", written_at=NOW + 500, is_fixed=True, is_time_known=False
        ),
    ]


def test_what_is_pinned_is_fixed(memories: Memories) -> None:
    memories.put("pinned.md", a_memory(pinned=True))
    memories.put("loose.md", a_memory("Pinned notes go to the board."))
    assert {memory.name: memory.is_fixed for memory in memories.all()} == {
        "pinned.md": True,
        "loose.md": False,
    }


def test_of_an_empty_directory_it_is_empty(memories: Memories) -> None:
    assert memories.all() == []


def test_what_is_no_memory_or_cannot_be_read_is_not_on_it(memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    os.symlink("/etc/passwd", os.path.join(memories.directory.path, "link.md"))
    os.mkfifo(os.path.join(memories.directory.path, "fifo.md"))
    memories.put("closed.md", b"x\n")
    memories.put("gone.md", b"x\n")
    memories.put("open.md", b"x\n")
    real = MemoryDirectory.read

    def refused(self: MemoryDirectory, name: str, limit: int = 1 << 20) -> FileState | None:
        if name == "closed.md":
            raise PermissionError(13, "Permission denied")
        return None if name == "gone.md" else real(self, name, limit)

    monkeypatch.setattr(MemoryDirectory, "read", refused)
    assert [memory.name for memory in memories.all()] == ["open.md"]


def test_what_memoryd_made_is_ours_until_somebody_changes_it(memories: Memories) -> None:
    memories.make("a.md", a_memory())
    assert memories.ours() == ["a.md"]
    memories.put("a.md", a_memory(pinned=True))
    assert memories.ours() == []
    memories.put("a.md", a_memory() + b"x")
    assert memories.ours() == []
    memories.put("a.md", a_memory())
    assert memories.ours() == ["a.md"]


def test_what_memoryd_made_and_somebody_changed_is_hand_edited(memories: Memories) -> None:
    memories.make("a.md", a_memory())
    memories.put("b.md", a_memory())
    assert [memory.is_hand_edited for memory in memories.all()] == [False, False]
    memories.put("a.md", a_memory() + b"And mine.\n")
    assert {memory.name: memory.is_hand_edited for memory in memories.all()} == {"a.md": True, "b.md": False}


@pytest.mark.parametrize("spelt", ["2026-10-16T07:40:18Z", '"2026-10-16T07:40:18Z"'])
def test_a_memory_of_somebody_else_is_as_old_as_it_says(memories: Memories, spelt: str) -> None:
    """Times of files are lost in checkouts, copies and backups; one that lies in the future is not believed."""
    text = f"---\nname: x\ndescription: d\ntype: user\nmetadata:\n  modified: {spelt}\n---\nOld.\n"
    memories.put("theirs.md", text.encode(), at=NOW + 9_000_000)
    memories.put("copy.md", text.encode(), at=1.0)
    assert {memory.name: memory.written_at for memory in memories.all()} == {
        "theirs.md": 1_792_136_418.0,
        "copy.md": 1.0,
    }


def test_a_line_of_the_repository_makes_a_memory_no_younger(memories: Memories) -> None:
    """Nobody said it: what the user said before still tells the age."""
    memories.make("a.md", a_memory())
    memories.make("a.md", a_memory("Keep reviews tiny."), repository_evidence("src/a.py", 3, "", "reviews are tiny"))
    (found,) = memories.all()
    assert (found.written_at, found.is_time_known, len(found.evidence)) == (SAID.said_at, True, 2)


def test_a_manifest_says_where_only_the_file_has_a_time(memories: Memories) -> None:
    memories.make("ours.md", a_memory())
    memories.put("theirs.md", b"---\nname: x\ndescription: d\ntype: user\n---\nOld.\n")
    usual = [
        "- [user] theirs.md (2026-10-14T17:46:40Z): d",
        "- [feedback] ours.md (1970-01-01T00:00:01Z): Reviews are small",
    ]
    assert manifest_of(memories.all()) == usual
    told = usual[0].replace("(", "(said at an unknown time, file of ")
    assert manifest_of(memories.all(), with_unknown_times=True) == [told, usual[1]]


def test_a_directory_is_listed_once_and_each_file_read_once(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories.put("a.md", a_memory())
    memories.put("b.md", a_memory())
    done: list[str] = []
    real_listing, real_read = MemoryDirectory.listing, MemoryDirectory.read

    def listing(self: MemoryDirectory) -> Listing:
        done.append("list")
        return real_listing(self)

    def read(self: MemoryDirectory, name: str, limit: int = 1 << 20) -> FileState | None:
        done.append(name)
        return real_read(self, name, limit)

    monkeypatch.setattr(MemoryDirectory, "listing", listing)
    monkeypatch.setattr(MemoryDirectory, "read", read)
    snapshot = DirectorySnapshot(memories.database, memories.directory.path)
    assert sorted(snapshot.mtimes_ns) == ["a.md", "b.md"]
    assert snapshot.read("b.md") == snapshot.files["b.md"]
    assert (len(snapshot.memories), snapshot.index_text) == (2, "")
    assert sorted(done) == ["MEMORY.md", "a.md", "b.md", "list"]


def test_an_update_is_ours_and_so_is_what_its_undo_leaves(memories: Memories) -> None:
    memories.make("a.md", a_memory())
    memories.make("a.md", a_memory("Keep reviews tiny."), SAID_LATER)
    assert memories.ours() == ["a.md"]
    memories.undo()
    (memory,) = memories.all()
    assert (memory.body, memory.is_ours, memory.evidence) == ("Keep reviews small.\n", True, (SAID,))


def test_what_memoryd_only_put_back_is_not_ours(memories: Memories) -> None:
    """A file of the user, pinned even, that was forgotten and came back by undo or restore."""
    memories.put("undone.md", a_memory(pinned=True))
    memories.make("undone.md", None, kind="forget")
    memories.undo()
    memories.put("restored.md", a_memory())
    memories.make("restored.md", None, kind="forget")
    memories.restore("restored.md")
    assert [memory.name for memory in memories.all()] == [
        "restored.md",
        "undone.md",
    ]
    assert memories.ours() == []


def test_the_same_bytes_under_another_name_or_in_another_directory_are_not_ours(
    memories: Memories, database: Database, tmp_path: Path
) -> None:
    memories.make("a.md", a_memory())
    memories.put("b.md", a_memory())
    assert memories.ours() == ["a.md"]
    with open_directory(str(tmp_path / "elsewhere"), create=True) as directory:
        Memories(database, directory).put("a.md", a_memory())
        assert Memories(database, directory).ours() == []


def test_a_file_with_a_second_name_elsewhere_is_left_alone(memories: Memories, tmp_path: Path) -> None:
    memories.make("a.md", a_memory())
    os.link(os.path.join(memories.directory.path, "a.md"), tmp_path / "elsewhere.md")
    assert memories.ours() == []


def test_what_was_taken_back_rests_on_nothing_when_it_is_made_anew(memories: Memories) -> None:
    memories.make("a.md", a_memory())
    memories.make("a.md", None, Evidence("s", "m3", "scratch that", "h3"))
    memories.make("a.md", a_memory(), SAID_LATER)
    assert [memory.evidence for memory in memories.all()] == [(SAID_LATER,)]
