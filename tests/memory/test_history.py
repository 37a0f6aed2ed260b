"""Second thoughts: undo, redo and restore put back bytes and mtimes, and never take an edit with them."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from memoryd.errors import MemorydError
from memoryd.memory.commit import Committed, commit, reindex
from memoryd.memory.directory import FileState, open_directory
from memoryd.memory.document import new_document
from memoryd.memory.guards import RefusedError
from memoryd.memory.history import diff, restoring, undoing
from memoryd.memory.index import entry_of
from memoryd.model import Changeset, Evidence, FileChange, Group
from memoryd.state import history
from memoryd.state.changes import PlannedFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database

NOW = 1_792_000_000.25
NOW_NS = int(NOW * 1e9)
LONG_AGO_NS = 1_700_000_000_123_456_789
SAID = Evidence("session", "message-1", "keep reviews small", "hash-1", 1_791_000_000.5)
SAID_TOO = Evidence("session", "message-2", "and tests fast", "hash-2", 1_791_000_001.5)


def a_memory(name: str, body: str = "A body.") -> bytes:
    return new_document(
        name=name,
        description=f"what {name} says",
        kind="user",
        body=body,
        session_id="session",
        evidence="",
        modified="2026-10-16T07:40:18Z",
    ).render()


@dataclass(frozen=True, slots=True)
class Place:
    """A memory directory and its history. Time goes on by a second with every change."""

    database: Database
    directory: MemoryDirectory

    def put(self, name: str, data: bytes, mtime_ns: int = LONG_AGO_NS, mode: int = 0o600) -> None:
        """As a person or another program does it."""
        path = os.path.join(self.directory.path, name)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, mode)
        os.utime(path, ns=(mtime_ns, mtime_ns))

    def remove(self, name: str) -> None:
        os.remove(os.path.join(self.directory.path, name))

    def files(self) -> dict[str, FileState]:
        """All that is there but the index."""
        names = sorted(set(os.listdir(self.directory.path)) - {"MEMORY.md"})
        return {name: state for name in names if (state := self.directory.read(name)) is not None}

    def index(self) -> str:
        state = self.directory.read("MEMORY.md")
        return state.data.decode() if state else ""

    def change(self, name: str, after: bytes | None) -> FileChange:
        now = self.directory.read(name)
        if now is None:
            return FileChange(name, None, after)
        return FileChange(name, now.data, after, now.mtime_ns, mode=now.mode)

    def commit(self, changeset: Changeset) -> Committed:
        return commit(self.database, self.directory, changeset, NOW + len(history.recent(self.database, limit=1000)))

    def extract(self, *groups: dict[str, bytes | None], evidence: tuple[Evidence, ...] = (SAID,)) -> int:
        made = tuple(
            Group(
                tuple(self.change(name, after) for name, after in group.items()),
                "because",
                tuple((name, piece) for name in group for piece in evidence),
            )
            for group in groups
        )
        return self.done(self.commit(Changeset("extract", "from a session", made, "session")))

    def forget(self, name: str) -> int:
        return self.done(self.commit(Changeset("forget", "asked to", (Group((self.change(name, None),), "asked to"),))))

    def undo(self, change_id: int) -> int:
        return self.done(self.commit(undoing(self.database, self.found(change_id))))

    def restore(self, name: str, change_id: int | None = None) -> int:
        change = None if change_id is None else self.found(change_id)
        return self.done(self.commit(restoring(self.database, self.directory, name, change)))

    def found(self, change_id: int) -> history.Change:
        change = history.find(self.database, change_id)
        assert change is not None
        return change

    @staticmethod
    def done(committed: Committed) -> int:
        assert committed.change_id is not None
        assert committed == Committed(committed.change_id)
        return committed.change_id

    def chain(self) -> list[tuple[int, str, int | None, int | None]]:
        """Every change, oldest first: id, kind, what it undoes, what undid it."""
        changes = history.recent(self.database, limit=1000)
        return [(change.id, change.kind, change.undoes, change.undone_by) for change in reversed(changes)]

    def refused(self) -> list[Evidence]:
        path = self.directory.path
        return [piece for piece in (SAID, SAID_TOO) if history.is_refused(self.database, path, piece)]

    def evidence(self, name: str) -> list[Evidence]:
        return history.evidence_of(self.database, self.directory.path, name)


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Iterator[Place]:
    with open_directory(str(tmp_path / "memory"), create=True) as directory:
        yield Place(database, directory)


# --- undo -------------------------------------------------------------------------------------------------------------


def test_a_created_file_is_taken_away_again_and_its_line_with_it(place: Place) -> None:
    place.put("old.md", a_memory("old"))
    reindex(place.database, place.directory, NOW)
    files, index = place.files(), place.index()
    made = place.extract({"new.md": a_memory("new")})
    assert place.index() == index + "- [New](new.md) — what new says\n"
    place.undo(made)
    assert (place.files(), place.index()) == (files, index)


def test_a_changed_file_gets_its_bytes_mtime_and_mode_back(place: Place) -> None:
    place.put("a.md", b"\xef\xbb\xbf---\r\nname: a # theirs\r\n---\r\nno newline \xff", mode=0o640)
    reindex(place.database, place.directory, NOW)
    files, index = place.files(), place.index()
    changed = place.extract({"a.md": a_memory("another")})
    assert place.files() == {"a.md": FileState(a_memory("another"), NOW_NS, 0o640)}
    assert place.index() == "- [Another](a.md) — what another says\n"
    place.undo(changed)
    assert (place.files(), place.index()) == (files, index)


def test_a_forgotten_file_comes_back_with_its_bytes_and_mtime(place: Place) -> None:
    place.put("a.md", a_memory("a"), mode=0o644)
    files = place.files()
    forgotten = place.forget("a.md")
    assert (place.files(), place.index()) == ({}, "")
    place.undo(forgotten)
    assert (place.files(), place.index()) == (files, "- [A](a.md) — what a says\n")


def test_a_merge_comes_apart_again(place: Place) -> None:
    for number, name in enumerate(("target.md", "one.md", "two.md")):
        place.put(name, a_memory(name), LONG_AGO_NS + number)
    files = place.files()
    merged = place.extract({"target.md": a_memory("target", "All of it."), "one.md": None, "two.md": None})
    assert list(place.files()) == ["target.md"]
    undone = place.undo(merged)
    assert place.files() == files
    place.undo(undone)
    assert place.files() == {"target.md": FileState(a_memory("target", "All of it."), NOW_NS, 0o600)}


def test_nothing_of_ours_stays_in_the_directory(place: Place) -> None:
    made = place.extract({"a.md": a_memory("a")})
    place.undo(place.undo(made))
    assert sorted(os.listdir(place.directory.path)) == ["MEMORY.md", "a.md"]


def test_undoing_an_undo_brings_the_change_again_with_its_own_mtime(place: Place) -> None:
    place.put("a.md", a_memory("a"))
    changed = place.extract({"a.md": a_memory("b"), "new.md": a_memory("new")})
    files, index = place.files(), place.index()
    redone = place.undo(place.undo(changed))
    assert (place.files(), place.found(redone).kind) == (files, "redo")
    assert sorted(place.index().splitlines()) == sorted(index.splitlines())


def test_a_chain_of_second_thoughts_says_at_every_step_what_stands(place: Place) -> None:
    before = place.files()
    change = place.extract({"a.md": a_memory("a")})
    after = place.files()
    two = place.undo(change)
    assert place.chain() == [(1, "extract", None, 2), (2, "undo", 1, None)]
    assert place.files() == before
    three = place.undo(two)
    assert place.chain() == [(1, "extract", None, None), (2, "undo", 1, 3), (3, "redo", 2, None)]
    assert place.files() == after
    four = place.undo(three)
    assert place.chain() == [
        (1, "extract", None, 2),
        (2, "undo", 1, None),
        (3, "redo", 2, 4),
        (4, "undo", 3, None),
    ]
    assert place.files() == before
    place.undo(four)
    assert place.chain() == [
        (1, "extract", None, None),
        (2, "undo", 1, 3),
        (3, "redo", 2, None),
        (4, "undo", 3, 5),
        (5, "redo", 4, None),
    ]
    assert place.files() == after


def test_a_change_that_was_brought_again_can_be_undone_itself(place: Place) -> None:
    change = place.extract({"a.md": a_memory("a")})
    place.undo(place.undo(change))
    place.undo(change)
    assert place.files() == {}
    assert place.chain()[0] == (1, "extract", None, 4)


def test_what_is_undone_or_was_never_applied_cannot_be_undone(place: Place) -> None:
    change = place.extract({"a.md": a_memory("a")})
    place.undo(change)
    with pytest.raises(MemorydError, match=r"^Change 1 is undone already, by change 2\.$"):
        place.undo(change)
    place.put("b.md", b"theirs\n")
    conflicting = Changeset("forget", "", (Group((FileChange("b.md", b"as it was read\n", None),), ""),))
    assert place.commit(conflicting).conflicted == (0,)
    with pytest.raises(MemorydError, match=r"^Change 3 was never applied, so there is nothing to undo\.$"):
        place.undo(3)


def test_an_edit_since_is_left_and_the_change_still_stands(place: Place) -> None:
    first = place.extract({"a.md": a_memory("a")})
    place.put("a.md", a_memory("a") + b"and what a person added\n")
    files, index = place.files(), place.index()
    assert place.commit(undoing(place.database, place.found(first))) == Committed(2, (0,))
    assert (place.files(), place.index()) == (files, index)
    assert place.chain() == [(1, "extract", None, None), (2, "undo", 1, None)]
    assert [change.state for change in history.recent(place.database)] == ["conflicted", "applied"]
    assert place.refused() == []
    place.put("a.md", a_memory("a"))
    place.undo(first)
    assert place.files() == {}


def test_a_file_that_somebody_deleted_since_is_not_made_again(place: Place) -> None:
    place.put("a.md", a_memory("a"))
    change = place.extract({"a.md": a_memory("b")})
    place.remove("a.md")
    assert place.commit(undoing(place.database, place.found(change))).conflicted == (0,)
    assert place.files() == {}


def test_a_file_that_somebody_made_anew_is_not_overwritten(place: Place) -> None:
    place.put("a.md", a_memory("a"))
    change = place.forget("a.md")
    place.put("a.md", b"made anew\n")
    assert place.commit(undoing(place.database, place.found(change))).conflicted == (0,)
    assert place.files() == {"a.md": FileState(b"made anew\n", LONG_AGO_NS, 0o600)}


def test_an_edit_keeps_its_group_and_lets_the_others_go_back(place: Place) -> None:
    place.put("source.md", a_memory("source"))
    change = place.extract({"target.md": a_memory("target"), "source.md": None}, {"other.md": a_memory("other")})
    place.put("target.md", b"edited\n")
    assert place.commit(undoing(place.database, place.found(change))) == Committed(2, (0,))
    assert place.files() == {"target.md": FileState(b"edited\n", LONG_AGO_NS, 0o600)}
    place.undo(2)
    assert sorted(place.files()) == ["other.md", "target.md"]


def test_undoing_works_after_other_changes_in_the_directory(place: Place) -> None:
    change = place.extract({"a.md": a_memory("a")})
    place.extract({"b.md": a_memory("b")}, evidence=(SAID_TOO,))
    place.undo(change)
    assert (list(place.files()), place.index()) == (["b.md"], "- [B](b.md) — what b says\n")


def test_a_hard_link_made_since_keeps_the_file(place: Place, tmp_path: Path) -> None:
    change = place.extract({"a.md": a_memory("a")})
    os.link(os.path.join(place.directory.path, "a.md"), tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match=r"^a\.md is left alone: it is a hard link"):
        place.undo(change)
    assert place.chain() == [(1, "extract", None, None)]


def test_what_a_person_wrote_around_the_entries_stays_through_undo_and_redo(place: Place) -> None:
    place.put("MEMORY.md", b"# Mine\r\n\r\n- [A of mine](a.md)\r\n\r\nand text")
    place.put("a.md", a_memory("a"))
    undone = place.undo(place.extract({"a.md": a_memory("b"), "c.md": a_memory("c")}))
    assert place.index() == "# Mine\r\n\r\n- [A of mine](a.md)\r\n\r\nand text"
    place.undo(undone)
    assert place.index() == "# Mine\r\n\r\n- [A of mine](a.md)\r\n- [C](c.md) — what c says\r\n\r\nand text"


@pytest.mark.parametrize("seed", range(6))
def test_whatever_was_done_undone_in_reverse_the_directory_is_as_it_was(place: Place, seed: int, torture: bool) -> None:
    choose = random.Random(seed)
    names = [f"{letter}.md" for letter in "abcdef"]
    for number, name in enumerate(names[:3]):
        place.put(name, b"theirs \xff " + name.encode(), LONG_AGO_NS + number, 0o640)
    states = [place.files()]
    for number in range(100 if torture else 12):
        chosen = choose.sample(names, choose.randint(1, 3))
        there = place.files()
        group = {
            name: None if name in there and choose.random() < 0.4 else a_memory(name, f"Version {number}.")
            for name in chosen
        }
        place.extract(group)
        states.append(place.files())
    for change_id in range(len(states) - 1, 0, -1):
        undone = place.undo(change_id)
        assert place.files() == states[change_id - 1]
        if choose.random() < 0.3:
            place.undo(undone)
            assert place.files() == states[change_id]
            place.undo(change_id)
        assert sorted(filter(None, map(entry_of, place.index().splitlines()))) == sorted(place.files())


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_a_memory_rests_on_what_was_said(place: Place) -> None:
    place.extract({"a.md": a_memory("a")})
    place.extract({"a.md": a_memory("a", "More.")}, evidence=(SAID_TOO,))
    assert place.evidence("a.md") == [SAID, SAID_TOO]
    assert history.rests_on(place.database, place.directory.path, SAID)
    assert not history.rests_on(place.database, "/elsewhere", SAID)
    assert history.evidence_of(place.database, "/elsewhere", "a.md") == []


def test_what_is_undone_does_not_come_back_from_the_same_words_until_it_is_redone(place: Place) -> None:
    change = place.extract({"a.md": a_memory("a")})
    place.extract({"b.md": a_memory("b")}, evidence=(SAID_TOO,))
    assert place.refused() == []
    undone = place.undo(change)
    assert (place.refused(), place.evidence("a.md"), place.evidence("b.md")) == ([SAID], [], [SAID_TOO])
    assert not history.is_refused(place.database, "/elsewhere", SAID)
    place.undo(undone)
    assert (place.refused(), place.evidence("a.md")) == ([], [SAID])


def test_what_is_forgotten_does_not_come_back_from_the_same_words(place: Place) -> None:
    place.extract({"a.md": a_memory("a")})
    place.extract({"b.md": a_memory("b")}, evidence=(SAID_TOO,))
    place.forget("a.md")
    assert (place.refused(), place.evidence("a.md"), place.evidence("b.md")) == ([SAID], [], [SAID_TOO])


def test_what_is_undone_once_more_is_refused_once_more(place: Place) -> None:
    change = place.extract({"a.md": a_memory("a")})
    redone = place.undo(place.undo(change))
    place.undo(redone)
    assert (place.refused(), place.evidence("a.md")) == ([SAID], [])


def test_a_memory_that_is_no_longer_forgotten_has_its_evidence_again(place: Place) -> None:
    place.extract({"a.md": a_memory("a")})
    undone = place.undo(place.forget("a.md"))
    assert (place.refused(), place.evidence("a.md")) == ([], [SAID])
    place.undo(undone)
    assert (place.refused(), place.evidence("a.md")) == ([SAID], [])


def test_a_memory_whose_undo_met_an_edit_keeps_its_evidence(place: Place) -> None:
    first, second = (
        Group((FileChange(name, None, a_memory(name)),), "", ((name, piece),))
        for name, piece in (("a.md", SAID), ("b.md", SAID_TOO))
    )
    place.commit(Changeset("extract", "", (first, second), "session"))
    place.put("a.md", b"edited\n")
    assert place.commit(undoing(place.database, place.found(1))) == Committed(2, (0,))
    assert (place.refused(), place.evidence("a.md")) == ([SAID_TOO], [SAID])


def test_evidence_of_a_change_that_met_an_edit_does_not_count(place: Place) -> None:
    place.put("a.md", b"theirs\n")
    group = Group((FileChange("a.md", b"as it was read\n", a_memory("a")),), "", (("a.md", SAID),))
    assert place.commit(Changeset("extract", "", (group,), "session")).conflicted == (0,)
    assert (place.evidence("a.md"), history.rests_on(place.database, place.directory.path, SAID)) == ([], False)


# --- restore ----------------------------------------------------------------------------------------------------------


def test_a_forgotten_file_is_restored_with_its_mtime(place: Place) -> None:
    place.put("a.md", a_memory("a"), mode=0o644)
    files = place.files()
    place.forget("a.md")
    place.restore("a.md")
    assert (place.files(), place.index()) == (files, "- [A](a.md) — what a says\n")


def test_a_file_is_restored_as_a_change_left_it(place: Place) -> None:
    versions = []
    for number in range(3):
        place.extract({"a.md": a_memory("a", f"Version {number}.")})
        versions.append(place.files())
    place.restore("a.md", 1)
    assert place.files() == versions[0]
    place.restore("a.md", 3)
    assert place.files() == versions[2]
    place.restore("a.md")
    assert place.files() == versions[0]


def test_a_file_that_somebody_deleted_is_restored_as_it_was_last_known(place: Place) -> None:
    place.extract({"a.md": a_memory("a")})
    files = place.files()
    place.remove("a.md")
    place.restore("a.md")
    assert place.files() == files


def test_a_restore_takes_the_place_of_an_edit_and_can_be_undone(place: Place) -> None:
    """It was asked for by name; the edit is in the history and comes back."""
    change = place.extract({"a.md": a_memory("a")})
    files = place.files()
    place.put("a.md", b"edited\n")
    edited = place.files()
    restored = place.restore("a.md", change)
    assert place.files() == files
    place.undo(restored)
    assert place.files() == edited


def test_an_edit_after_the_restore_was_asked_for_wins(place: Place) -> None:
    change = place.extract({"a.md": a_memory("a")})
    place.put("a.md", b"edited\n")
    changeset = restoring(place.database, place.directory, "a.md", place.found(change))
    place.put("a.md", b"edited again\n")
    assert place.commit(changeset).conflicted == (0,)
    assert place.files() == {"a.md": FileState(b"edited again\n", LONG_AGO_NS, 0o600)}


def test_a_restore_that_cannot_be_is_said(place: Place) -> None:
    change = place.extract({"a.md": a_memory("a")})
    two = place.forget("a.md")
    for name, change_id, sentence in [
        ("b.md", None, "The history knows no b.md here."),
        ("../a.md", None, "The history knows no ../a.md here."),
        ("MEMORY.md", change, "The history knows no MEMORY.md here."),
        ("b.md", change, "The history knows no b.md here."),
        ("a.md", two, "a.md did not exist after change 2."),
    ]:
        with pytest.raises(MemorydError) as caught:
            place.restore(name, change_id)
        assert caught.value.sentence == sentence
    place.restore("a.md", change)
    with pytest.raises(MemorydError, match=r"^a\.md is already as it was then\.$"):
        place.restore("a.md", change)


# --- what the history shows -------------------------------------------------------------------------------------------


def test_changes_are_listed_newest_first_by_directory_and_by_file(place: Place) -> None:
    path = place.directory.path
    place.put("mine.md", b"theirs\n")
    reindex(place.database, place.directory, NOW)
    place.extract({"b.md": a_memory("b"), "a.md": a_memory("a")})
    place.forget("a.md")
    forgotten, made = history.recent(place.database)
    assert made == history.Change(
        2, path, "extract", "from a session", "session", None, None, NOW, "applied", ("b.md", "a.md")
    )
    assert forgotten == history.Change(3, path, "forget", "asked to", "", None, None, NOW + 1, "applied", ("a.md",))
    assert history.recent(place.database, path, "b.md") == [made]
    assert history.recent(place.database, path, "a.md") == [forgotten, made]
    assert history.recent(place.database, path, "a.md", 1) == [forgotten]
    assert history.recent(place.database, "/elsewhere") == []
    assert (history.find(place.database, 1), history.find(place.database, 9)) == (None, None)


def test_the_files_of_a_change_are_shown_whole_and_without_the_index(place: Place) -> None:
    place.put("a.md", a_memory("a"), mode=0o640)
    place.extract({"a.md": a_memory("b")})
    (file,) = history.files_of(place.database, 1)
    assert file == PlannedFile(
        1, 0, 0, "because", "a.md", file.temporary, a_memory("a"), LONG_AGO_NS, a_memory("b"), NOW_NS, 0o640, "applied"
    )


def test_the_last_change_that_still_stands_is_the_one_to_undo(place: Place) -> None:
    path = place.directory.path

    def last() -> int | None:
        change = history.last_undoable(place.database, path)
        return change.id if change else None

    assert last() is None
    first = place.extract({"a.md": a_memory("a")})
    two = place.extract({"b.md": a_memory("b")})
    assert last() == two
    undone = place.undo(two)
    assert last() == first
    redone = place.undo(undone)
    assert last() == redone
    place.undo(redone)
    assert last() == first
    place.undo(first)
    assert last() is None
    assert history.last_undoable(place.database, "/elsewhere") is None


def a_file(before: bytes | None, after: bytes | None) -> PlannedFile:
    return PlannedFile(1, 0, 0, "", "a.md", "", before, None, after, None, 0o600)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (
            b"one\ntwo\nthree\n",
            b"one\n2\nthree\n",
            "--- a.md before\n+++ a.md after\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        ),
        (None, b"new\n", "--- nothing\n+++ a.md after\n@@ -0,0 +1 @@\n+new\n"),
        (b"old\n", None, "--- a.md before\n+++ nothing\n@@ -1 +0,0 @@\n-old\n"),
        (b"a", b"b", "--- a.md before\n+++ a.md after\n@@ -1 +1 @@\n-a\n+b\n"),
        (b"caf\xe9\n", b"cafe\n", "--- a.md before\n+++ a.md after\n@@ -1 +1 @@\n-caf\ufffd\n+cafe\n"),
        (b"same\n", b"same\n", ""),
        (None, b"", ""),
    ],
)
def test_a_diff_shows_what_a_change_did(before: bytes | None, after: bytes | None, text: str) -> None:
    assert diff(a_file(before, after)) == text
