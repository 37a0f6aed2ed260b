"""Revisions as file changes: new files, rewritten ones, merges and removals."""

from __future__ import annotations

import pytest

from memoryd.memory.changeset import groups_of
from memoryd.memory.directory import FileState
from memoryd.memory.document import new_document, parse
from memoryd.memory.guards import RefusedError
from memoryd.memory.snapshot import Contents, Snapshot
from memoryd.model import Evidence, FileChange, Group, Revision

NOW = 1_792_000_000.0
EARLIER = Evidence("s", "m1", "use spaces", "h1", 1.0)
SAID = Evidence("s", "m2", "use tabs", "h2", 2.0)
TABS = Revision(
    "learnt",
    "you said: use tabs",
    type="feedback",
    name="use-tabs",
    description="Use tabs",
    body="Use tabs.\n",
    evidence=(EARLIER, SAID),
)


def a_memory(body: str = "Use spaces.\n", **more: str) -> bytes:
    return new_document(
        name="spaces",
        description="Use spaces",
        kind="feedback",
        body=body,
        session_id="s",
        evidence="h1",
        modified="2026-10-16T07:40:18Z",
        keys=tuple(more.values()),
    ).render()


def a_snapshot(
    files: dict[str, bytes], odd: dict[str, str] | None = None, evidence: dict[str, list[Evidence]] | None = None
) -> Snapshot:
    states = {name: FileState(data, 7, 0o640) for name, data in files.items()}
    return Snapshot("/memory", lambda: Contents(states, odd or {}, None, evidence=evidence or {}))


def test_a_new_memory_is_a_new_file_with_its_evidence() -> None:
    (group,) = groups_of(a_snapshot({}), [TABS], NOW)
    expected = new_document(
        name="use-tabs",
        description="Use tabs",
        kind="feedback",
        body="Use tabs.",
        session_id="s",
        evidence="h2",
        modified="1970-01-01T00:00:02Z",
    ).render()
    name = "feedback_use_tabs.md"
    change = FileChange(name, None, expected, after_mtime_ns=2_000_000_000)  # when it was said
    assert group == Group((change,), "you said: use tabs", ((name, EARLIER), (name, SAID)))


def test_a_name_is_free_if_nothing_is_called_so_in_any_case() -> None:
    snapshot = a_snapshot({"Feedback_USE_tabs.md": b"x\n"}, {"feedback_use_tabs_2.md": "a symlink"})
    groups = groups_of(snapshot, [TABS, TABS._replace(body="Tabs, always.\n")], NOW)
    assert [group.changes[0].name for group in groups] == ["feedback_use_tabs_3.md", "feedback_use_tabs_4.md"]


def test_an_author_can_name_the_new_file() -> None:
    (group,) = groups_of(a_snapshot({}), [TABS._replace(file_name="tabs.md")], NOW)
    assert group.changes[0].name == "tabs.md"


def test_a_rewrite_leaves_the_rest_of_the_file() -> None:
    before = a_memory()
    revision = TABS._replace(reason="updated", line="you said later: use tabs", files=("spaces.md",), name="")
    (group,) = groups_of(a_snapshot({"spaces.md": before}), [revision], NOW)
    after = (
        before.replace(b'description: "Use spaces"', b'description: "Use tabs"')
        .replace(b"modified: 2026-10-16T07:40:18Z", b"modified: 1970-01-01T00:00:02Z")  # when it was said
        .replace(b"h1", b"h2")
        .replace(b"Use spaces.\n", b"Use tabs.\n")
    )
    written = group.changes[0].after
    assert written is not None
    assert parse(written).problem is None
    assert written.replace(b'"', b"") == after.replace(b'"', b"")
    assert group == Group(
        (FileChange("spaces.md", before, written, 7, mode=0o640),),
        "you said later: use tabs",
        (("spaces.md", EARLIER), ("spaces.md", SAID)),
        "updated",
    )


def test_a_rewrite_brings_the_title_up_to_date() -> None:
    """It is what the index shows: a title that says the old value would be obeyed."""
    revision = TABS._replace(reason="updated", files=("spaces.md",))
    (group,) = groups_of(a_snapshot({"spaces.md": a_memory()}), [revision], NOW)
    assert parse(group.changes[0].after or b"").name == "use-tabs"


def test_a_removal_takes_the_file_away_and_keeps_the_words_that_ended_it() -> None:
    """Also where the memory rests on the same words: they are what ended it."""
    revision = Revision("taken_back", "you took it back: use tabs", ("spaces.md",), evidence=(SAID,))
    snapshot = a_snapshot({"spaces.md": a_memory()}, evidence={"spaces.md": [SAID]})
    assert groups_of(snapshot, [revision], NOW) == (
        Group(
            (FileChange("spaces.md", a_memory(), None, 7, mode=0o640),),
            "you took it back: use tabs",
            (("spaces.md", SAID),),
            "taken_back",
        ),
    )


def test_a_merge_is_one_group_that_inherits_evidence_and_keys() -> None:
    snapshot = a_snapshot(
        {"a.md": a_memory("One.\n"), "b.md": a_memory("Two.\n", key="second")},
        evidence={"a.md": [EARLIER], "b.md": [EARLIER, SAID]},
    )
    revision = Revision("merged", "Merging", ("a.md", "b.md"), "feedback", "", "Both", "One. Two.\n")
    (group,) = groups_of(snapshot, [revision], NOW)
    assert [(change.name, change.after is None) for change in group.changes] == [("a.md", False), ("b.md", True)]
    merged = parse(group.changes[0].after or b"")
    assert (merged.body.strip(), merged.keys, merged.metadata["mergedFrom"]) == ("One. Two.", ("second",), "b.md")
    assert group.evidence == (("a.md", SAID),)  # what the target rests on already is not said again


def test_a_new_memory_without_a_type_is_refused() -> None:
    with pytest.raises(RefusedError, match="without a type"):
        groups_of(a_snapshot({}), [TABS._replace(type=None)], NOW)
