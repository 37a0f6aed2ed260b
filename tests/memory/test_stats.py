"""Memories counted by type without parsing them, and how full an index is."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memory.document import new_document, parse
from memoryd.memory.limits import MOST_BYTES, MOST_LINES, WARN_BYTES, WARN_LINES
from memoryd.memory.stats import MOST_READ, Counted, Fill, MemoryStats, fill_of, type_in

if TYPE_CHECKING:
    from pathlib import Path

USUAL = [
    "---\nname: a\ntype: user\n---\nbody\n",
    '---\nname: a\ndescription: "type: project"\ntype: feedback\nmetadata:\n  type: user\n---\ntype: project\n',
    "---\nname: a\nmetadata:\n  node_type: memory\n  type: reference\n  originSessionId: x\n---\n",
    "---\r\ntype: 'project'  # where clients look\r\n---\r\n",
    "\ufeff---\ntype: user\n---\n",
    "---\nname: a\n---\ntype: user\n",
    "type: user\n",
    "",
]
UNUSUAL = [
    "---\nmetadata: {type: user}\n---\n",
    "---\ntype: memory\nmetadata:\n  deeper:\n    type: user\n  type: project\n---\n",
    "---\nmetadata:\n  deeper:\n    type: user\n---\n",
    "---\nmetadata:\n    # a remark\n    type: user\n---\n",
    "---\n? type\n: user\n---\n",
    "---\n'type': user\n---\n",
    "---\ntype: user\n",
    "---\ntype: [user]\n---\n",
]
_KEYS = st.sampled_from(["type", "name", "metadata", "node_type", "  type", "  a", "    type", "#type"])
_VALUES = st.sampled_from(
    ["user", '"feedback"', "'project'", "reference # x", "", "other", "{type: user}", "|", "users"]
)


@pytest.mark.parametrize("text", USUAL + UNUSUAL)
def test_the_type_is_the_one_that_the_parser_finds(text: str) -> None:
    assert type_in(text.encode()) == parse(text.encode()).type


@given(st.lists(st.tuples(_KEYS, _VALUES), max_size=6))
def test_in_any_frontmatter_that_can_be_parsed_it_is_the_same(lines: list[tuple[str, str]]) -> None:
    text = "---\n" + "".join(f"{key}: {value}\n" for key, value in lines) + "---\nbody\n"
    document = parse(text.encode())
    if document.problem is None and len(dict(lines)) == len(lines):
        assert type_in(text.encode()) == document.type


def test_what_memoryd_writes_and_what_clients_write_is_not_parsed(tmp_path: Path) -> None:
    """YAML takes longer to import than all of `status` may take."""
    ours = new_document(
        name="a",
        description="b",
        kind="project",
        body="c",
        session_id="d",
        evidence="e",
        modified="2026-10-16T07:40:18Z",
    )
    for number, text in enumerate([*USUAL, ours.text]):
        (tmp_path / f"m{number}.md").write_bytes(text.encode())
    program = (
        "import sys\nfrom memoryd.memory.stats import MemoryStats\n"
        "print(sorted(MemoryStats().count(sys.argv[1]).types.items()), 'yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "[('', 3), ('feedback', 1), ('project', 2), ('reference', 1), ('user', 2)] False\n"


def test_only_topic_files_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntype: user\n---\n")
    (tmp_path / "MEMORY.md").write_text("- [A](a.md)\n\nwithout an end")
    (tmp_path / ".hidden.md").write_text("---\ntype: user\n---\n")
    (tmp_path / "b.txt").write_text("---\ntype: user\n---\n")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    assert MemoryStats().count(str(tmp_path)) == Counted({"user": 1}, Fill(3, 27))


def test_without_a_directory_there_is_nothing_to_count(tmp_path: Path) -> None:
    assert MemoryStats().count(str(tmp_path / "nowhere")) is None
    (tmp_path / "file").touch()
    assert MemoryStats().count(str(tmp_path / "file")) is None
    assert MemoryStats().count(str(tmp_path)) == Counted({}, Fill())


def test_a_second_look_sees_what_has_changed(tmp_path: Path) -> None:
    census = MemoryStats()
    file = tmp_path / "a.md"
    for kind in ("user", "project"):
        file.write_text(f"---\ntype: {kind}\n---\n")
        counted = census.count(str(tmp_path))
        assert counted is not None
        assert counted.types == {kind: 1}
    file.unlink()
    assert census.count(str(tmp_path)) == Counted({}, Fill())


def test_of_very_many_files_the_newest_are_opened(tmp_path: Path) -> None:
    for number in range(MOST_READ + 5):
        file = tmp_path / f"{number}.md"
        file.write_text("---\ntype: user\n---\n")
        os.utime(file, (number, number))
    counted = MemoryStats().count(str(tmp_path))
    assert counted is not None
    assert counted.types == {"user": MOST_READ, "": 5}


@pytest.mark.parametrize(
    ("fill", "is_near", "is_over"),
    [
        (Fill(WARN_LINES - 1, WARN_BYTES - 1), False, False),
        (Fill(WARN_LINES, 1), True, False),
        (Fill(1, WARN_BYTES), True, False),
        (Fill(MOST_LINES, MOST_BYTES), True, False),
        (Fill(MOST_LINES + 1, 1), True, True),
        (Fill(1, MOST_BYTES + 1), True, True),
    ],
)
def test_an_index_is_near_its_limit_or_over_it(fill: Fill, *, is_near: bool, is_over: bool) -> None:
    assert (fill.is_near, fill.is_over) == (is_near, is_over)


def test_an_index_that_is_a_symlink_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("x\n" * 300)
    (tmp_path / "MEMORY.md").symlink_to(tmp_path / "elsewhere")
    assert fill_of(str(tmp_path)) == Fill()
