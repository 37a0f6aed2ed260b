"""Findings as file changes: new files, updates of what is ours, withdrawals; what others wrote is never touched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.jobs.changeset import ChangedMeanwhileError, groups_of
from memoryd.memory.directory import MemoryDirectory, open_directory
from memoryd.memory.document import new_document, parse
from memoryd.model import Evidence, FileChange, Finding, Group, Withdrawal
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memoryd.memory.directory import FileState

NOW = 1_792_000_000.0
EARLIER = Evidence("s", "m1", "use spaces", "h1", 1.0)
SAID = Evidence("s", "m2", "use tabs", "h2", 2.0)
TABS = Finding("feedback", "use-tabs", "Use tabs", "Use tabs.\n", SAID)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[MemoryDirectory]:
    with open_directory(str(tmp_path / "memory"), create=True) as opened:
        yield opened


def put(directory: MemoryDirectory, name: str, data: bytes) -> FileState:
    path = os.path.join(directory.path, name)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o640)
    state = directory.read(name)
    assert state is not None
    return state


def a_memory(body: str = "Use spaces.\n") -> bytes:
    return new_document(
        name="spaces",
        description="Use spaces",
        kind="feedback",
        body=body,
        session_id="s",
        evidence="h1",
        modified="2026-10-16T07:40:18Z",
    ).render()


def changes_of(
    directory: MemoryDirectory, found: Sequence[Finding | Withdrawal], made: Sequence[tuple[str, bytes]] = ()
) -> list[FileChange]:
    return [change for group in groups_of(directory, found, "s", NOW, made) for change in group.changes]


def test_a_new_finding_is_a_new_file_with_its_evidence(directory: MemoryDirectory) -> None:
    (group,) = groups_of(directory, [TABS._replace(also=(EARLIER,))], "s", NOW)
    expected = new_document(
        name="use-tabs",
        description="Use tabs",
        kind="feedback",
        body="Use tabs.",
        session_id="s",
        evidence="h2",
        modified="2026-10-14T17:46:40Z",
    ).render()
    name = "feedback_use_tabs.md"
    assert group == Group((FileChange(name, None, expected),), "you said: use tabs", ((name, EARLIER), (name, SAID)))


def test_what_a_memory_says_in_the_same_words_makes_no_change(directory: MemoryDirectory) -> None:
    """Whoever wrote it, under whatever name, however it is spaced or capitalised."""
    put(directory, "other.md", b"---\nname: x\n---\n\n  use\n TABS.\n\n")
    assert groups_of(directory, [TABS], "s", NOW) == ()


def test_the_same_words_twice_make_one_file(directory: MemoryDirectory) -> None:
    assert [change.name for change in changes_of(directory, [TABS, TABS._replace(name="again")])] == [
        "feedback_use_tabs.md"
    ]


def test_a_name_is_free_if_nothing_is_called_so_in_any_case(directory: MemoryDirectory) -> None:
    put(directory, "Feedback_USE_tabs.md", b"x\n")
    os.symlink("nowhere", os.path.join(directory.path, "feedback_use_tabs_2.md"))
    names = [change.name for change in changes_of(directory, [TABS, TABS._replace(body="Tabs, always.\n")])]
    assert names == ["feedback_use_tabs_3.md", "feedback_use_tabs_4.md"]


def test_a_memory_that_cannot_be_read_does_not_stop_the_others(
    directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(directory, "theirs.md", b"x\n")
    real = MemoryDirectory.read

    def refused(self: MemoryDirectory, name: str, limit: int = 1 << 20) -> FileState | None:
        if name == "theirs.md":
            raise PermissionError(13, "Permission denied")
        return real(self, name, limit)

    monkeypatch.setattr(MemoryDirectory, "read", refused)
    assert [change.name for change in changes_of(directory, [TABS])] == ["feedback_use_tabs.md"]


def test_a_new_version_rewrites_what_is_ours_and_leaves_the_rest_of_the_file(directory: MemoryDirectory) -> None:
    before = a_memory()
    state = put(directory, "spaces.md", before)
    finding = TABS._replace(replaces="spaces.md", also=(EARLIER,))
    (group,) = groups_of(directory, [finding], "another session", NOW, {("spaces.md", digest(before))})
    after = (
        before.replace(b'description: "Use spaces"', b'description: "Use tabs"')
        .replace(b"modified: 2026-10-16T07:40:18Z", b"modified: 2026-10-14T17:46:40Z")
        .replace(EARLIER.hash.encode(), SAID.hash.encode())
        .replace(b"Use spaces.\n", b"Use tabs.\n")
    )
    assert group.changes[0].after is not None
    assert parse(group.changes[0].after).problem is None
    assert _unquoted(group.changes[0].after) == _unquoted(after)
    assert group == Group(
        (FileChange("spaces.md", before, group.changes[0].after, state.mtime_ns, mode=0o640),),
        "you said later: use tabs",
        (("spaces.md", EARLIER), ("spaces.md", SAID)),
    )


def _unquoted(data: bytes) -> bytes:
    return data.replace(b'"', b"")


def test_a_withdrawal_takes_the_file_away(directory: MemoryDirectory) -> None:
    state = put(directory, "spaces.md", a_memory())
    made = {("spaces.md", digest(state.data))}
    assert groups_of(directory, [Withdrawal("spaces.md", SAID)], "s", NOW, made) == (
        Group(
            (FileChange("spaces.md", state.data, None, state.mtime_ns, mode=0o640),),
            "you took it back: use tabs",
            (("spaces.md", SAID),),
        ),
    )


@pytest.mark.parametrize("one", [TABS._replace(replaces="spaces.md"), Withdrawal("spaces.md", SAID)])
def test_what_somebody_changed_since_the_engine_saw_it_is_not_touched(
    directory: MemoryDirectory, one: Finding | Withdrawal
) -> None:
    """Between the look at the shelf and the plan: the engine has to look again."""
    made = {("spaces.md", digest(a_memory()))}
    put(directory, "spaces.md", a_memory() + b"And mine.\n")
    with pytest.raises(ChangedMeanwhileError):
        groups_of(directory, [one], "s", NOW, made)
    os.remove(os.path.join(directory.path, "spaces.md"))
    with pytest.raises(ChangedMeanwhileError):
        groups_of(directory, [one], "s", NOW, made)


def test_nothing_is_ours_unless_history_says_so(directory: MemoryDirectory) -> None:
    put(directory, "spaces.md", a_memory())
    with pytest.raises(ChangedMeanwhileError):
        groups_of(directory, [TABS._replace(replaces="spaces.md")], "s", NOW)


def test_what_is_taken_back_and_said_anew_in_other_words_is_one_change_of_one_file(directory: MemoryDirectory) -> None:
    """Two would be refused by the guards, with everything else in the commit."""
    state = put(directory, "spaces.md", a_memory())
    made = [("spaces.md", digest(state.data))]
    found: list[Finding | Withdrawal] = [TABS._replace(replaces="spaces.md"), Withdrawal("spaces.md", EARLIER)]
    changes = changes_of(directory, found, made)
    assert [(change.name, change.after is None) for change in changes] == [("spaces.md", False)]


def test_what_is_taken_back_and_said_anew_in_the_same_words_is_there_in_the_end(directory: MemoryDirectory) -> None:
    state = put(directory, "feedback_use_tabs.md", a_memory("Use tabs.\n"))
    made = [(state_name := "feedback_use_tabs.md", digest(state.data))]
    changes = changes_of(directory, [TABS, Withdrawal(state_name, EARLIER)], made)
    assert [(change.name, change.after is None) for change in changes] == [
        ("feedback_use_tabs_2.md", False),
        ("feedback_use_tabs.md", True),
    ]
    assert changes_of(directory, [TABS._replace(replaces=state_name), Withdrawal(state_name, EARLIER)], made) == []
