"""Tool calls by what they do, told by the shape of their input: as several clients name their tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.tool_actions import action_of, answer_text
from memoryd.model import ToolCall


def call(name: str, given: Any) -> ToolCall:
    return ToolCall("1", name, json.dumps(given).encode())


@pytest.mark.parametrize(
    ("name", "given", "kind", "files"),
    [
        ("Read", {"file_path": "/a/b.py"}, "read", ("/a/b.py",)),
        ("read_file", {"absolute_path": "/a/b.py"}, "read", ("/a/b.py",)),
        ("view", {"path": "/a/b.py"}, "read", ("/a/b.py",)),
        ("Edit", {"file_path": "/a/b.py", "old_string": "x", "new_string": "y"}, "change", ("/a/b.py",)),
        ("write", {"filePath": "/a/b.py", "content": "y"}, "change", ("/a/b.py",)),
        ("text_editor", {"command": "str_replace", "path": "/a/b.py", "new_str": "y"}, "change", ("/a/b.py",)),
        ("text_editor", {"command": "view", "path": "/a/b.py"}, "read", ("/a/b.py",)),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: b.py\n@@\n-x\n+y"}, "change", ("b.py",)),
        ("apply_patch", "*** Add File: b.py\n+y", "change", ("b.py",)),
        ("Bash", {"command": "make > log.txt"}, "run", ("log.txt",)),
        ("shell", {"command": ["bash", "-lc", "sed -i s/a/b/ c.py"]}, "run", ("c.py",)),
        ("Grep", {"pattern": "x", "path": "/a"}, "other", ("/a",)),
        ("update_plan", {"plan": [{"step": "parse", "status": "completed"}]}, "plan", ()),
        ("Skill", {"skill": "release"}, "skill", ()),
        ("WebSearch", {"query": "x"}, "other", ()),
        ("Odd", [1, 2], "other", ()),
    ],
)
def test_a_call_is_understood_by_its_input(name: str, given: Any, kind: str, files: tuple[str, ...]) -> None:
    action = action_of(call(name, given))
    assert (action.kind, action.files) == (kind, files)


def test_the_script_of_a_shell_is_the_command() -> None:
    assert action_of(call("shell", {"command": ["bash", "-lc", "make test"]})).command == "make test"
    assert action_of(call("exec", {"cmd": ["make", "test"]})).command == "make test"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["file_path", "path", "command", "todos", "plan", "content", "text", "taskId", "status", "edits"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.text(max_size=10), _JSON)
def test_nothing_that_a_model_sends_raises(name: str, given: Any) -> None:
    action_of(call(name, given))
    answer_text(json.dumps(given).encode())


def test_what_is_no_json_is_of_no_kind() -> None:
    assert action_of(ToolCall("1", "Bash", b"{")).kind == "other"
    assert answer_text(b"{") == ""
    assert answer_text(b'[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]') == "a\nb"
