"""Answers: a yes is a commit that closes its row, a no closes it; what has become stale is shown again first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.memory import apply as applying
from memoryd.memory import exchange as exchanging
from memoryd.memory.commit import commit, recover, reindex
from memoryd.memory.directory import open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.history import undoing
from memoryd.memory.plan import plan
from memoryd.model import Changeset, FileChange, Group
from memoryd.review.inbox import StaleError, accept, current_contents, difference_from, reject
from memoryd.state import changes, history, inbox
from memoryd.state.inbox import AnsweredError
from tests.inbox_rows import changeset, held, memory, store, words

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.model import HeldGroup
    from memoryd.state.database import Database
    from memoryd.state.inbox import InboxRow

NOW = 2_000_000_000.0
NAME = "feedback_review_size.md"
OLD, NEW, EDITED = memory("Under 400 lines."), memory("Under 300 lines."), memory("Under 400 lines, mostly.")


class Place:
    """A memory directory, and rows about it."""

    def __init__(self, database: Database, path: Path) -> None:
        self.database, self.path = database, path

    def put(self, data: bytes, name: str = NAME) -> None:
        self.path.mkdir(exist_ok=True)
        (self.path / name).write_bytes(data)

    def row(self, *rows: HeldGroup) -> InboxRow:
        return store(self.database, str(self.path), *rows, now=NOW)[-1]

    def files(self) -> dict[str, bytes]:
        return {name: (self.path / name).read_bytes() for name in os.listdir(self.path) if name != "MEMORY.md"}

    def outcome(self, row: InboxRow) -> str | None:
        found = inbox.find(self.database, row.id)
        assert found is not None
        return found.outcome

    def undo(self) -> None:
        change = history.last_undoable(self.database, str(self.path))
        assert change is not None
        with open_directory(str(self.path)) as directory:
            commit(self.database, directory, undoing(self.database, change), NOW + 9)


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Place:
    return Place(database, tmp_path / "memory")


def test_a_yes_writes_the_memory_with_its_evidence_and_its_line(place: Place) -> None:
    row = place.row(held(after=NEW))
    done = accept(place.database, row, NOW + 1)
    assert place.files() == {NAME: NEW}
    assert f"({NAME})" in (place.path / "MEMORY.md").read_text()
    assert place.outcome(row) == "accepted"
    (change,) = history.recent(place.database)
    assert (change.id, change.kind, change.names, change.session_id) == (done.change_id, "review", (NAME,), "s1")
    assert history.evidence_of(place.database, str(place.path), NAME) == [words()]
    assert inbox.rows_accepted_by(place.database, [change.id]) == {change.id: row.id}
    assert inbox.closed(place.database) == [], "it is in the history as a change"


def test_a_yes_replaces_or_removes_what_is_as_it_was(place: Place) -> None:
    place.put(OLD)
    accept(place.database, place.row(held(before=OLD, after=NEW)), NOW + 1)
    assert place.files() == {NAME: NEW}
    accept(place.database, place.row(held(before=NEW, after=None, said=(words("no limit"),))), NOW + 2)
    assert place.files() == {}


def test_several_files_change_together_and_a_passage_leaves_the_index(place: Place) -> None:
    place.put(OLD)
    place.put(memory("Split by concern."), "feedback_split.md")
    (place.path / "MEMORY.md").write_text("# Mine\n\nReviews are small.\n")
    merged = held(before=OLD, after=NEW)
    gone = FileChange("feedback_split.md", memory("Split by concern."), None)
    group = merged.group._replace(changes=(*merged.group.changes, gone), from_index=("Reviews are small.\n",))
    done = accept(place.database, place.row(merged._replace(group=group)), NOW + 1)
    assert done.names == (NAME, "feedback_split.md")
    assert place.files() == {NAME: NEW}
    assert "Reviews are small." not in (place.path / "MEMORY.md").read_text()


def test_an_accepted_one_is_undone_like_any_other_and_does_not_come_back(place: Place) -> None:
    place.put(OLD)
    place.row(held(before=OLD, after=NEW))
    accept(place.database, place.row(), NOW + 1)
    place.undo()
    assert place.files() == {NAME: OLD}
    assert history.is_refused(place.database, str(place.path), words())
    assert store(place.database, str(place.path), held(before=OLD, after=NEW), now=NOW + 10) == []


def test_a_yes_to_a_removal_refuses_what_only_that_memory_rested_on(place: Place) -> None:
    """The newer words that the removal quotes are those of another memory, which keeps them; also when it is undone."""
    older, newer = words("400 lines", "m0"), words("300 lines", "m1")
    accept(place.database, place.row(held("old.md", after=OLD, said=(older,))), NOW + 1)
    accept(place.database, place.row(held("new.md", after=NEW, said=(newer,))), NOW + 2)
    accept(place.database, place.row(held("old.md", before=OLD, after=None, said=(newer,))), NOW + 3)
    where = str(place.path)
    assert history.is_refused(place.database, where, older)
    assert not history.is_refused(place.database, where, newer)
    assert history.evidence_of(place.database, where, "new.md") == [newer]
    place.undo()
    assert not history.is_refused(place.database, where, older)
    assert history.evidence_of(place.database, where, "new.md") == [newer]


def test_a_yes_counts_more_than_an_earlier_no_to_the_same_words(place: Place) -> None:
    first, second = held("a.md"), held("b.md")
    rows = store(place.database, str(place.path), first, second, now=NOW)
    reject(place.database, rows[0], NOW + 1)
    assert history.is_refused(place.database, str(place.path), words())
    accept(place.database, rows[1], NOW + 2)
    assert history.evidence_of(place.database, str(place.path), "b.md") == [words()]


def test_a_memory_made_by_a_yes_is_memoryds_own_and_a_hand_written_one_stays_its_owners(place: Place) -> None:
    accept(place.database, place.row(held("made.md", after=NEW)), NOW)
    place.put(OLD, "theirs.md")
    accept(place.database, place.row(held("theirs.md", before=OLD, after=NEW, said=(words("x"),))), NOW)
    assert {name for name, _ in history.made(place.database, str(place.path))} == {"made.md"}


# --- guards -----------------------------------------------------------------------------------------------------------


def test_a_yes_also_counts_for_a_pinned_memory(place: Place) -> None:
    pinned = memory("Under 400 lines.", is_pinned=True)
    place.put(pinned)
    accept(place.database, place.row(held(before=pinned, after=memory("Under 300.", is_pinned=True))), NOW)
    assert place.files() == {NAME: memory("Under 300.", is_pinned=True)}


@pytest.mark.parametrize(
    ("row", "guard"),
    [
        (held(after=memory("The key is sk-ant-api03-" + "a1B2c3D4" * 11 + "AA.")), "no secret"),
        (held("../feedback.md"), "inside the directory"),
        (held("MEMORY.md"), "inside the directory"),
        (held(after=b"no frontmatter\n"), "valid frontmatter"),
        (held(after=memory("x").rstrip(b"\n")), "no truncated text"),
    ],
)
def test_the_other_guards_stand_and_the_row_waits_on(place: Place, row: HeldGroup, guard: str) -> None:
    place.put(OLD, "kept.md")
    waiting = place.row(row)
    with pytest.raises(RefusedError) as error:
        accept(place.database, waiting, NOW)
    assert error.value.guard == guard
    assert place.files() == {"kept.md": OLD}
    assert inbox.waiting(place.database) == [waiting]
    assert history.recent(place.database) == []


def test_a_foreign_file_is_left_alone(place: Place) -> None:
    place.put(b"my own notes\n")
    with pytest.raises(RefusedError, match="no memory that memoryd understands"):
        accept(place.database, place.row(held(before=b"my own notes\n")), NOW)


def test_the_users_own_text_is_written_and_guarded(place: Place) -> None:
    row = place.row(held(after=NEW))
    with pytest.raises(RefusedError):
        accept(place.database, row, NOW, edited=b"---\nbroken\n")
    accept(place.database, row, NOW, edited=EDITED)
    assert place.files() == {NAME: EDITED}


# --- stale ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [NEW, None], ids=["write", "remove"])
def test_what_was_changed_meanwhile_is_not_written_unseen(place: Place, after: bytes | None) -> None:
    place.put(OLD)
    row = place.row(held(before=OLD, after=after))
    place.put(EDITED)
    with pytest.raises(StaleError) as error:
        accept(place.database, row, NOW)
    assert place.files() == {NAME: EDITED}
    assert inbox.waiting(place.database) == [row]
    assert error.value.current == current_contents(row) == {NAME: EDITED}
    (shown,) = difference_from(row, error.value.current)
    assert (shown.before, shown.after) == (EDITED, after)
    accept(place.database, row, NOW, seen=error.value.current)
    assert place.files() == ({NAME: after} if after else {})
    place.undo()
    assert place.files() == {NAME: EDITED}


def test_a_difference_that_is_stale_again_is_shown_again(place: Place) -> None:
    place.put(OLD)
    row = place.row(held(before=OLD, after=NEW))
    with pytest.raises(StaleError):
        accept(place.database, row, NOW, seen={NAME: EDITED})
    place.put(EDITED)
    accept(place.database, row, NOW, seen={NAME: EDITED})


def test_a_new_memory_whose_name_was_taken_meanwhile_is_stale(place: Place) -> None:
    row = place.row(held(after=NEW))
    place.put(OLD)
    with pytest.raises(StaleError):
        accept(place.database, row, NOW)
    assert place.files() == {NAME: OLD}


@pytest.mark.parametrize("after", [NEW, None], ids=["written", "removed"])
def test_what_somebody_has_done_already_is_only_closed(place: Place, after: bytes | None) -> None:
    place.put(after or OLD, NAME if after else "other.md")
    with open_directory(str(place.path)) as directory:
        reindex(place.database, directory, NOW)
    row = place.row(held(before=OLD, after=after))
    done = accept(place.database, row, NOW)
    assert done.change_id is None
    assert place.outcome(row) == "accepted"
    assert history.recent(place.database) == []
    assert [closed.outcome for closed in inbox.closed(place.database)] == ["accepted"]


def test_an_edit_in_the_very_instant_wins_and_the_row_waits_on(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put(OLD)
    row = place.row(held(before=OLD, after=NEW))
    exchange = exchanging.exchange

    def edit_first(directory: int, one: str, other: str) -> None:
        if other == NAME and place.files()[NAME] == OLD:
            place.put(EDITED)
        exchange(directory, one, other)

    monkeypatch.setattr(applying, "exchange", edit_first)
    with pytest.raises(StaleError) as error:
        accept(place.database, row, NOW)
    assert error.value.current == {NAME: EDITED}
    assert place.files() == {NAME: EDITED}
    assert inbox.waiting(place.database) == [row]
    accept(place.database, row, NOW, seen=error.value.current)


# --- answered already -------------------------------------------------------------------------------------------------


def test_who_comes_second_is_told(place: Place) -> None:
    first, second = store(place.database, str(place.path), held("a.md"), held("b.md", said=(words("b"),)), now=NOW)
    accept(place.database, first, NOW)
    reject(place.database, second, NOW)
    for row, outcome in ((first, "accepted"), (second, "rejected")):
        with pytest.raises(AnsweredError, match=outcome):
            accept(place.database, row, NOW)
        with pytest.raises(AnsweredError, match=outcome):
            reject(place.database, row, NOW)
    assert set(place.files()) == {"a.md"}


def test_a_no_needs_no_directory(place: Place) -> None:
    reject(place.database, place.row(held()), NOW)
    assert not place.path.exists()


def test_a_no_after_a_killed_yes_comes_too_late(place: Place) -> None:
    """The yes had begun, so the next process finishes it."""
    place.put(OLD)
    row = place.row(held(before=OLD, after=NEW))
    wanted = Changeset("review", "", (row.group,), accepts=(row.id,))
    with open_directory(str(place.path)) as directory:
        changes.prepare(place.database, [changes.Part(str(place.path), wanted, plan(directory, wanted, NOW)[0])], NOW)
    with pytest.raises(AnsweredError, match="accepted"):
        reject(place.database, row, NOW)
    assert place.files() == {NAME: NEW}
    assert place.outcome(row) == "accepted"


# --- commits that bring rows ------------------------------------------------------------------------------------------


def test_a_commit_brings_rows_beside_its_files(place: Place) -> None:
    written = Group((FileChange("a.md", None, NEW),), "said", (("a.md", words("a")),))
    with open_directory(str(place.path), create=True) as directory:
        done = commit(place.database, directory, changeset(held(), groups=(written,)), NOW)
    assert done.change_id == 1
    assert [row.first.name for row in inbox.waiting(place.database)] == [NAME]


@pytest.mark.parametrize("kind", ["extract", "dream"])
def test_a_commit_of_rows_alone_is_no_change_in_the_history(place: Place, kind: str) -> None:
    with open_directory(str(place.path), create=True) as directory:
        done = commit(place.database, directory, changeset(held(), kind=kind), NOW)
        assert done.change_id is None
        assert recover(place.database, directory, NOW) == 0
    assert inbox.number_waiting(place.database) == 1
    assert history.recent(place.database) == []
    assert history.last_undoable(place.database, str(place.path)) is None
