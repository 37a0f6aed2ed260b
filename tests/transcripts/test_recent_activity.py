"""What a session did lately, told from the end of its transcript: the tools it called, the memories it has read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.clients.base import RecentActivity
from memoryd.clients.claude_code.injected_text import injected, is_not_the_user
from memoryd.clients.registry import ALL
from memoryd.transcripts.recent_activity import recent_activity_of, tail_of
from tests.transcript import Session, line

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "/home/lin/.claude/projects/-code-acme/memory"


def called(session: Session, tool: str, **asked: Any) -> bytes:
    block = {"type": "tool_use", "id": "t", "name": tool, "input": asked}
    return line(
        session.entry("assistant", message={"role": "assistant", "content": [block], "stop_reason": "tool_use"})
    )


def compacted(session: Session) -> bytes:
    return line(session.entry("system", subtype="compact_boundary", content="Conversation compacted"))


def glimpse(tmp_path: Path, data: bytes, directory: str = PLACE) -> RecentActivity:
    (tmp_path / "session.jsonl").write_bytes(data)
    return recent_activity_of(ALL[0], str(tmp_path / "session.jsonl"), directory)


def test_tools_that_were_called_lately_the_last_one_first(tmp_path: Path) -> None:
    session = Session()
    names = ["Old", "Bash", "Read", *["Edit"] * 3, "mcp__linear__create_issue", *["Bash"] * 5]
    data = b"".join(session.turn() + called(session, name) for name in names)
    assert glimpse(tmp_path, data).tools == ("Bash", "mcp__linear__create_issue", "Edit", "Read")


def test_memories_that_tools_were_called_with(tmp_path: Path) -> None:
    session = Session()
    data = (
        called(session, "Read", file_path=f"{PLACE}/user_role.md")
        + called(session, "Write", file_path=f"{PLACE}/project_é.md", content="x")
        + called(session, "Read", file_path=f"{PLACE}/deep/other.md")
        + called(session, "Read", file_path="/elsewhere/memory/user_name.md")
        + session.prompt(f'look at "{PLACE}/said.md"')
        + session.result("t", f'"{PLACE}/result.md"')
    )
    assert glimpse(tmp_path, data).files == {"user_role.md", "project_é.md"}


@pytest.mark.parametrize(
    "directory", ["/code/é 日本/memory", "/code/.*+[x]/memory", '/code/a"b\\c/memory', "/code/\udcff/memory"]
)
def test_a_directory_of_any_name_is_recognized(tmp_path: Path, directory: str) -> None:
    data = called(Session(), "Read", file_path=f"{directory}/a.md".encode("utf-8", "replace").decode())
    data = data.replace(b"?/memory", b"\xff/memory")
    assert glimpse(tmp_path, data, directory).files == {"a.md"}


def test_after_a_compaction_the_session_has_read_nothing_but_its_tools_are_known(tmp_path: Path) -> None:
    session = Session()
    read = called(session, "Read", file_path=f"{PLACE}/a.md")
    data = read + compacted(session) + session.turn()
    assert glimpse(tmp_path, data) == RecentActivity(("Read",), frozenset())
    again = data + called(session, "Read", file_path=f"{PLACE}/b.md")
    assert glimpse(tmp_path, again).files == {"b.md"}


def test_that_somebody_speaks_of_a_compaction_or_a_tool_is_none(tmp_path: Path) -> None:
    session = Session()
    data = (
        called(session, "Read", file_path=f"{PLACE}/a.md")
        + session.prompt('the entry has "subtype":"compact_boundary" in it')
        + session.prompt('and {"type":"tool_use","name":"Quoted"} beside it')
    )
    assert glimpse(tmp_path, data) == RecentActivity(("Read",), frozenset({"a.md"}))


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path) -> None:
    session = Session()
    data = called(session, "Old", file_path=f"{PLACE}/a.md") + session.bulk(5 << 20)
    data += called(session, "Read", file_path=f"{PLACE}/b.md")
    assert glimpse(tmp_path, data) == RecentActivity(("Read",), frozenset({"b.md"}))
    assert len(tail_of(ALL[0], str(tmp_path / "session.jsonl"))) == 4 << 20


def test_a_last_line_that_is_still_being_written_harms_nothing(tmp_path: Path) -> None:
    data = called(Session(), "Read", file_path=f"{PLACE}/a.md")
    for end in range(len(data)):
        seen = glimpse(tmp_path, data + data[:end])
        assert seen == RecentActivity(("Read",), frozenset({"a.md"}))


def test_what_cannot_be_read_is_empty_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "real").write_bytes(called(Session(), "Read"))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for path in (tmp_path / "none", tmp_path, tmp_path / "fifo", tmp_path / "link", "", "/\0"):
        assert recent_activity_of(ALL[0], str(path), PLACE) == RecentActivity()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b'"type":"tool_use"', b'"name":"', b"\n", b'"', b"\\"])).map(b"".join)
)
def test_no_bytes_make_it_fail(tmp_path: Path, data: bytes) -> None:
    assert glimpse(tmp_path, data).files == frozenset()


@pytest.mark.parametrize(
    ("prompt", "is_foreign"),
    [
        ("<memoryd-recall>\nnotes\n</memoryd-recall>", True),
        ("  <system-reminder>x</system-reminder>", True),
        ("<command-name>/clear</command-name>", True),
        ("This session is being continued from a previous conversation that ran out of context.", True),
        ("<div> is not closed", False),
        ("what does <system-reminder> mean?", False),
        ("<memoryd-recaller> is no tag of ours", False),
        ("release it", False),
    ],
)
def test_whose_words_a_prompt_is(prompt: str, is_foreign: bool) -> None:
    assert is_not_the_user(prompt) is is_foreign


def test_what_was_put_beside_the_users_words_is_told_by_its_marks() -> None:
    text = "a <memoryd-recall>\nx\n</memoryd-recall> b <ide_selection file='x'>y</ide_selection> <other>"
    assert [(found[1], found[2]) for found in injected().finditer(text)] == [
        ("", "memoryd-recall"),
        ("/", "memoryd-recall"),
        ("", "ide_selection"),
        ("/", "ide_selection"),
    ]
