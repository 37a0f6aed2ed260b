"""Session notes through the real command: hooks around a compaction, `notes` and `summary`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance.command import as_json, memoryd
from tests.acceptance.test_hook import context_in, hook, logged
from tests.notes.working_session import SECRET, WorkingSession
from tests.transcript import write

if TYPE_CHECKING:
    import subprocess

    from memoryd.paths import Paths

LENGTH = 9_500
"""Of all that a hook says: a client puts more than 10,000 characters where nobody reads them."""


class Compacted:
    """A session and its client's hooks."""

    def __init__(self, environment: dict[str, str], paths: Paths, project: Path) -> None:
        self.environment = environment
        self.paths = paths
        self.session = WorkingSession("compacted", cwd=str(project))
        self.data = b""
        self.transcript = Path()

    def work(self, *turns: bytes) -> None:
        self.data += b"".join(turns)
        self.transcript = write(self.paths.transcripts_root, self.session, self.data)

    def run(self, event: str, **other: Any) -> subprocess.CompletedProcess[bytes]:
        given = {
            "session_id": self.session.id,
            "transcript_path": str(self.transcript),
            "cwd": self.session.cwd,
            **other,
        }
        done = hook(self.environment, event, json.dumps(given).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        assert logged(self.paths) == []
        return done

    def compact(self) -> str:
        assert self.run("pre-compact", trigger="auto", custom_instructions="").stdout == b""
        done = self.run("session-start", source="compact")
        return context_in(done) if done.stdout else ""

    @property
    def file(self) -> Path:
        return Path(self.paths.state_dir, "session-memory", f"{self.session.id}.md")


@pytest.fixture
def compacted(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Compacted:
    project = tmp_path / "acme"
    (project / ".git").mkdir(parents=True)
    return Compacted(environment, paths, project)


def test_the_notes_come_back_once_after_a_compaction(compacted: Compacted, environment: dict[str, str]) -> None:
    compacted.work(compacted.session.long_turn(1), compacted.session.turn(f"the key is {SECRET}, use it"))
    text = compacted.compact()
    for piece in ("step 1: please make part 1", "src/part1.py", "pytest tests/test_part1.py", str(compacted.file)):
        assert piece in text
    assert SECRET not in text + compacted.file.read_text()
    assert len(text) <= LENGTH
    assert compacted.run("session-start", source="compact").stdout == b""
    compacted.work(compacted.session.turn("go on with part 2"))
    assert "go on with part 2" in compacted.compact()
    assert compacted.run("session-start", source="startup").stdout == b""
    assert memoryd(environment, "notes").stdout.split("\n")[1].startswith(compacted.session.id[:8])


def test_notes_and_index_together_stay_within_what_a_hook_may_say(
    compacted: Compacted, environment: dict[str, str], paths: Paths
) -> None:
    words = "Part 1 of the parser is owned by team 1"
    assert (
        memoryd(environment, "remember", "--type", "project", "--project", compacted.session.cwd, words).returncode == 0
    )
    (index,) = Path(paths.transcripts_root).glob("*/memory/MEMORY.md")
    index.write_text(index.read_text() * 80)
    Path(paths.claude_settings).write_text('{"autoMemoryEnabled": false}')
    compacted.work(*(compacted.session.long_turn(number) for number in range(60)))
    text = compacted.compact()
    assert len(text) <= LENGTH
    assert text.index("memoryd's notes of this session") < text.index("The index of the memories")


@pytest.mark.parametrize("how", ["config", "environment"])
def test_notes_can_be_switched_off(compacted: Compacted, paths: Paths, how: str) -> None:
    if how == "config":
        os.makedirs(os.path.dirname(paths.config_file))
        Path(paths.config_file).write_text("[features]\nnotes = false\n")
    else:
        compacted.environment = compacted.environment | {"MEMORYD_DISABLE_NOTES": "1"}
    compacted.work(compacted.session.long_turn(1))
    assert compacted.compact() == ""
    assert not compacted.file.exists()


def test_notes_and_summary_of_a_session_as_people_name_it(compacted: Compacted, environment: dict[str, str]) -> None:
    session = compacted.session
    compacted.work(*(session.long_turn(number) for number in range(1, 4)))
    os.makedirs(f"{session.cwd}/src")
    Path(session.cwd, "src", "part3.py").write_text("def part_3(): ...\n")
    here = environment | {"PWD": session.cwd}
    for name in (session.id, session.id[:6], str(compacted.transcript)):
        assert "# Worklog" in memoryd(here, "notes", name).stdout
    assert not compacted.file.exists()  # it is only shown
    told = as_json(here, "notes", session.id)
    assert (told["turns"], told["file"], told["sections"]["Learnings"]) == (3, None, None)
    assert "step 3" in told["sections"]["Task"]
    summary = as_json(here, "summary", session.id[:6])
    assert (summary["source"], summary["files"]) == (
        "transcript",
        [{"path": "src/part3.py", "text": "def part_3(): ...\n"}],
    )
    assert summary["messages"][-1] == {"who": "assistant", "text": "Part 3 accepts empty lines now."}
    assert "# The last messages, word for word" in memoryd(here, "summary", session.id[:6]).stdout
    compacted.compact()
    assert as_json(here, "summary", "accept empty")["source"] == "notes"
    compacted.transcript.unlink()
    assert "step 3:" in memoryd(here, "notes", session.id[:6]).stdout  # what was noted is there still


def test_a_session_that_is_not_there_is_told_with_a_way_on(compacted: Compacted, environment: dict[str, str]) -> None:
    compacted.work(compacted.session.turn())
    other = WorkingSession("other", cwd=compacted.session.cwd)
    other.id = compacted.session.id[:4] + other.id[4:]
    write(compacted.paths.transcripts_root, other, other.turn())
    for arguments, said in (
        (("notes", "nix"), "There is no session nix."),
        (("notes", compacted.session.id[:4]), "2 sessions fit"),
        (("summary",), "Which session?"),
        (("notes", "--latest"), "No session of"),
    ):
        done = memoryd(environment, *arguments)
        assert done.returncode == 2
        assert said in done.stderr
        assert "fix: memoryd" in done.stderr
    assert "No session has notes" in memoryd(environment, "notes").stderr


def test_sessions_with_notes_are_completed_and_go_with_an_uninstall(
    compacted: Compacted, environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text(f'[notes]\ndirectory = "{tmp_path}/mine"\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.md").write_text("my own\n")
    compacted.work(compacted.session.long_turn(1))
    compacted.compact()
    assert memoryd(environment, "completion", "sessions").stdout.split() == [compacted.session.id]
    assert "memoryd completion sessions" in memoryd(environment, "completion", "bash").stdout
    assert memoryd(environment, "uninstall", "--yes").returncode == 0
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["own.md"]
