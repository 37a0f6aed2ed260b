"""What is wrong with an index, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config
from memoryd.jobs.index_repair import SETTLE_SECONDS, IndexWatch, repair_indexes
from memoryd.memory.index_check import index_fault
from memoryd.projects import Project
from memoryd.state.projects import update_projects

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.state.database import Database

NOW = 1_790_000_000.0
MEMORY = '---\nname: {0}\ndescription: "About {0}"\ntype: project\n---\nAbout {0}.\n'


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    place = tmp_path / "memory"
    place.mkdir()
    for name in "ab":
        (place / f"{name}.md").write_text(MEMORY.format(name))
    (place / "MEMORY.md").write_text("# Mine\n- [A](a.md) — About a\n- [B](b.md) — About b\nfree text\n")
    return place


def fault(memory: Path) -> str:
    found = index_fault(str(memory))
    return str(found) if found else ""


def test_an_index_that_is_right_has_no_fault(memory: Path) -> None:
    assert fault(memory) == ""
    assert fault(memory / "nowhere") == ""


def test_what_is_wrong_is_told(memory: Path) -> None:
    index = memory / "MEMORY.md"
    index.write_text("- [A](a.md) — About a\n- [C](c.md) — gone\n")
    assert fault(memory) == "lacks 1 memory and names 1 file that is not there"
    index.unlink()
    assert fault(memory) == "is missing, so no session knows of its 2 memories"
    index.symlink_to(memory / "elsewhere")
    assert fault(memory) == ""


def test_a_wrong_index_is_made_right_and_nothing_else_changes(database: Database, memory: Path) -> None:
    update_projects(database, [Project("/code/acme", "-code-acme", str(memory))], NOW)
    watch, config = IndexWatch(), Config()
    assert watch.wrong(database, config, NOW) == []
    (memory / "MEMORY.md").unlink()
    assert watch.wrong(database, config, NOW) == [str(memory)]
    assert watch.wrong(database, config, NOW + 60) == []  # handed out a minute ago
    assert watch.wrong(database, config, NOW + 3600) == [str(memory)]
    before = {path.name: path.read_bytes() for path in memory.glob("?.md")}
    assert repair_indexes(database, [str(memory), "/nowhere"], NOW) == 1
    assert {path.name: path.read_bytes() for path in memory.glob("?.md")} == before
    assert fault(memory) == ""
    assert watch.wrong(database, config, NOW + 7200) == []


def test_a_client_that_is_writing_is_left_alone_for_a_moment(database: Database, memory: Path) -> None:
    update_projects(database, [Project("/code/acme", "-code-acme", str(memory))], NOW)
    watch = IndexWatch()
    (memory / "c.md").write_text(MEMORY.format("c"))
    written_at = memory.stat().st_mtime
    assert watch.wrong(database, Config(), written_at + 1) == []
    assert watch.wrong(database, Config(), written_at + SETTLE_SECONDS + 1) == [str(memory)]
