"""Purging: what memoryd wrote goes, what an agent or a person wrote or changed stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.jobs.remember import remember
from memoryd.setup.purge import purge

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.state.database import Database

THEIRS = '---\nname: x\ndescription: "Ask Dana"\ntype: feedback\n---\nAsk Dana first.\n'


def test_only_what_memoryd_wrote_and_nobody_changed_goes(database: Database, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    (mine,) = remember(database, str(memory), "always run make lint before a commit", 1.0)
    (edited,) = remember(database, str(memory), "never push to main without asking", 2.0)
    (memory / edited).write_text((memory / edited).read_text() + "\nI added this.\n")
    (memory / "feedback_theirs.md").write_text(THEIRS)
    assert purge(database, 3.0) == [str(memory / mine)]
    assert sorted(path.name for path in memory.iterdir()) == ["MEMORY.md", edited, "feedback_theirs.md"]
    assert mine not in (memory / "MEMORY.md").read_text()
    assert "feedback_theirs.md" in (memory / "MEMORY.md").read_text()
    assert (memory / "feedback_theirs.md").read_text() == THEIRS
    assert purge(database, 4.0) == []


def test_a_directory_that_held_nothing_else_goes(database: Database, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    remember(database, str(memory), "always run make lint before a commit", 1.0)
    (memory / ".consolidate-lock").touch()
    assert len(purge(database, 2.0)) == 1
    assert not memory.exists()
