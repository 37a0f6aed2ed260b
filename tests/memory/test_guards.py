"""The guards: what no commit may do, and the one that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from memoryd.memory.document import new_document
from memoryd.memory.guards import RefusedError, check
from memoryd.model import Changeset, Evidence, FileChange, Group

if TYPE_CHECKING:
    from collections.abc import Mapping

    Kind = Literal["extract", "remember", "forget", "undo", "redo", "restore", "reindex"]

PUTTING_BACK: tuple[Kind, ...] = ("undo", "redo", "restore")
MAKING: tuple[Kind, ...] = ("extract", "remember")
SAID = Evidence("s", "m", "keep reviews small", "h")


def a_memory(**fields: Any) -> bytes:
    written: dict[str, Any] = {
        "name": "n",
        "description": "d",
        "kind": "user",
        "body": "A body.",
        "session_id": "s",
        "evidence": "h",
        "modified": "2026-10-16T07:40:18Z",
        **fields,
    }
    return new_document(**written).render()


PINNED = a_memory().replace(b"metadata:\n", b"metadata:\n  pinned: true\n")


def refused(
    *changes: FileChange,
    kind: Kind = "extract",
    evidence: tuple[tuple[str, Evidence], ...] | None = None,
    odd: Mapping[str, str] | None = None,
) -> tuple[str, str] | None:
    """The guard that refuses these changes and its sentence; None where all let them pass."""
    rests_on = tuple((change.name, SAID) for change in changes) if evidence is None else evidence
    try:
        check(Changeset(kind, "why", (Group(changes, "why", rests_on),)), odd or {})
    except RefusedError as error:
        return error.guard, error.sentence
    return None


@pytest.mark.parametrize("kind", MAKING)
def test_a_good_memory_passes(kind: Kind) -> None:
    changes = (
        FileChange("new.md", None, a_memory()),
        FileChange("changed.md", a_memory(), a_memory(body="Another.")),
        FileChange("gone.md", a_memory(), None),
    )
    assert refused(*changes, kind=kind) is None


def test_nothing_to_change_passes() -> None:
    check(Changeset("reindex", "why", ()), {})
    check(Changeset("extract", "why", (), turn_ids=(1,)), {})


@pytest.mark.parametrize("name", ["a.md", "größe.md", "with space (1).md", "a.b.md", "日本.md", "x" * 200 + ".md"])
def test_plain_names_pass(name: str) -> None:
    assert refused(FileChange(name, None, a_memory())) is None


OUTSIDE = [
    "",
    ".",
    "..",
    ".md",
    "..md",
    "a",
    "a.txt",
    "a.MD",
    "a.md.txt",
    "a.md/",
    "/a.md",
    "/etc/passwd",
    "../a.md",
    "../../.bashrc",
    "team/a.md",
    "logs/2026/10/2026-10-18.md",
    "./a.md",
    "a/../b.md",
    "a//b.md",
    ".hidden.md",
    ".memoryd-1.md",
    ".consolidate-lock",
    "MEMORY.md",
    "a\0.md",
    "a\n.md",
    "a.md\n",
    "a\x1b[2J.md",
    "a\x7f.md",
    "x" * 201 + ".md",
]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("kind", ["extract", "remember", "forget", "undo", "redo", "restore"])
def test_a_name_outside_the_directory_is_refused_whoever_asks(name: str, kind: Kind) -> None:
    expected = ("inside the directory", f"{name!r} is no name for a memory.")
    assert refused(FileChange(name, None, a_memory()), kind=kind) == expected
    assert refused(FileChange(name, a_memory(), None), kind=kind) == expected


def test_a_name_that_is_not_utf_8_is_refused() -> None:
    assert refused(FileChange("caf\udce9.md", a_memory(), None), kind="forget") == (
        "inside the directory",
        "'caf\\udce9.md' is no name for a memory.",
    )


@pytest.mark.parametrize("name", ["memory.md", "Memory.md"])
def test_the_index_is_not_written_under_another_spelling(name: str) -> None:
    assert refused(FileChange(name, None, a_memory())) == ("inside the directory", f"{name!r} is no name for a memory.")


def test_one_file_is_changed_once() -> None:
    change = FileChange("a.md", None, a_memory())
    sentence = "The same file is changed twice in one commit."
    assert refused(change, change) == ("one change a file", sentence)
    with pytest.raises(RefusedError, match=sentence):
        check(Changeset("undo", "why", (Group((change,), "one"), Group((change,), "two"))), {})


@pytest.mark.parametrize("kind", ["extract", "remember", "forget", "undo", "redo", "restore"])
@pytest.mark.parametrize(
    "why", ["a symlink", "no regular file", "a hard link: it has another name elsewhere", "larger than 1 MB"]
)
def test_what_is_left_alone_is_left_alone_whoever_asks(kind: Kind, why: str) -> None:
    assert refused(FileChange("a.md", a_memory(), None), kind=kind, odd={"a.md": why}) == (
        "left alone",
        f"a.md is left alone: it is {why}.",
    )
    assert refused(FileChange("b.md", a_memory(), None), kind=kind, odd={"a.md": why}) is None


@pytest.mark.parametrize("kind", MAKING)
def test_a_pinned_memory_is_not_changed_and_not_taken_away(kind: Kind) -> None:
    for after in (None, a_memory(), PINNED + b"more\n"):
        assert refused(FileChange("a.md", PINNED, after), kind=kind) == ("pinned", "a.md is pinned.")
    with pytest.raises(RefusedError) as caught:
        check(Changeset(kind, "why", (Group((FileChange("a.md", PINNED, None),), "why"),)), {})
    assert caught.value.fix == "remove `pinned` from a.md first"


def test_a_memory_may_be_made_pinned() -> None:
    assert refused(FileChange("a.md", None, PINNED)) is None


@pytest.mark.parametrize("kind", MAKING)
@pytest.mark.parametrize(
    ("secret", "named"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "a private key"),
        ("sk-ant-" + "a1B2" * 8, "an API key"),
        ("ghp_" + "a1B2" * 9, "a GitHub token"),
        ("AKIA" + "ABCD" * 4, "an AWS key"),
        ("postgres://me:hunter22@db/prod", "a password in a URL"),
        ("The password is hunter22x", "a password"),
    ],
)
def test_a_secret_is_refused_and_not_repeated(kind: Kind, secret: str, named: str) -> None:
    expected = ("no secret", f"a.md would hold a secret ({named}).")
    assert refused(FileChange("a.md", None, a_memory(body=secret)), kind=kind) == expected
    assert refused(FileChange("a.md", None, a_memory(description=secret)), kind=kind) == expected
    assert refused(FileChange("a.md", a_memory(body=secret), None), kind=kind) is None
    assert refused(FileChange("a.md", a_memory(body=secret), a_memory()), kind=kind) is None


def test_a_secret_between_bytes_that_are_not_utf_8_is_found() -> None:
    data = b"\xff\xfe " + b"ghp_" + b"a1B2" * 9 + b" \xff\n"
    assert refused(FileChange("a.md", None, data)) == ("no secret", "a.md would hold a secret (a GitHub token).")


@pytest.mark.parametrize("kind", MAKING)
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"Only a body.\n", "name, description or a type is missing"),
        (b"", "name, description or a type is missing"),
        (b"---\nname: n\ntype: user\n---\nbody\n", "name, description or a type is missing"),
        (b"---\ndescription: d\ntype: user\n---\nbody\n", "name, description or a type is missing"),
        (b"---\nname: n\ndescription: d\n---\nbody\n", "name, description or a type is missing"),
        (b"---\nname: n\ndescription: d\ntype: gossip\n---\nbody\n", "name, description or a type is missing"),
        (b"---\nname: n\ndescription: [d]\ntype: user\n---\nbody\n", "name, description or a type is missing"),
        (b"---\nname: n\ndescription: d\ntype: user\nbody\n", "its frontmatter has no end"),
        (b"---\n- n\n---\nbody\n", "its frontmatter is no list of keys"),
        (b"---\nname: &n n\n---\nbody\n", "its frontmatter is not valid: anchors and aliases are not allowed"),
        (b"---\nname: n\ndescription: d\ntype: user\n---\nb\xff\n", "it is not UTF-8"),
    ],
)
def test_an_invalid_frontmatter_is_refused(kind: Kind, data: bytes, why: str) -> None:
    assert refused(FileChange("a.md", None, data), kind=kind) == (
        "valid frontmatter",
        f"a.md would not be a valid memory: {why}.",
    )


def test_the_type_may_stand_in_either_place() -> None:
    for place in (b"type: user\n", b"metadata:\n  type: user\n"):
        data = b"---\nname: n\ndescription: d\n" + place + b"---\nbody\n"
        assert refused(FileChange("a.md", None, data)) is None


@pytest.mark.parametrize("kind", MAKING)
@pytest.mark.parametrize("data", [a_memory(body=""), a_memory(body=" \n\t\n "), a_memory()[:-1], a_memory()[:-3]])
def test_an_empty_or_cut_text_is_refused(kind: Kind, data: bytes) -> None:
    assert refused(FileChange("a.md", None, data), kind=kind) == (
        "no truncated text",
        "a.md would be empty or cut off.",
    )


def test_an_extracted_memory_needs_evidence_of_its_own() -> None:
    expected = ("evidence", "a.md rests on nothing that the user said.")
    new, changed = FileChange("a.md", None, a_memory()), FileChange("a.md", a_memory(), a_memory(body="Another."))
    assert refused(new, evidence=()) == expected
    assert refused(changed, evidence=()) == expected
    assert refused(new, evidence=(("b.md", SAID),)) == expected
    assert refused(new, evidence=(("a.md", SAID),)) is None
    assert refused(new, kind="remember", evidence=()) is None


def test_evidence_of_another_group_does_not_count() -> None:
    groups = (
        Group((FileChange("a.md", None, a_memory()),), "why"),
        Group((FileChange("b.md", None, a_memory()),), "why", (("a.md", SAID), ("b.md", SAID))),
    )
    with pytest.raises(RefusedError, match=r"a\.md rests on nothing"):
        check(Changeset("extract", "why", groups), {})


def test_one_bad_file_refuses_the_whole_commit() -> None:
    good, bad = FileChange("a.md", None, a_memory()), FileChange("b.md", None, b"no frontmatter\n")
    assert refused(good, bad) == (
        "valid frontmatter",
        "b.md would not be a valid memory: name, description or a type is missing.",
    )


@pytest.mark.parametrize("kind", PUTTING_BACK)
@pytest.mark.parametrize(
    "data", [b"", b"no frontmatter", b"---\nbroken: [\n---\n", b"\xff\xfe", PINNED, a_memory(body="")]
)
def test_what_once_was_there_is_not_asked_for_its_form(kind: Kind, data: bytes) -> None:
    assert refused(FileChange("a.md", data, a_memory()), kind=kind, evidence=()) is None
    assert refused(FileChange("a.md", None, data), kind=kind, evidence=()) is None
    assert refused(FileChange("a.md", data, None), kind=kind, evidence=()) is None


@pytest.mark.parametrize("data", [PINNED, b"no frontmatter", b""])
def test_a_person_may_forget_what_they_pinned_and_what_is_broken(data: bytes) -> None:
    assert refused(FileChange("a.md", data, None), kind="forget", evidence=()) is None
