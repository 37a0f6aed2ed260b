"""Many commands at once in one project: what they say they did is what has happened."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import PATIENCE_SECONDS, as_json, memoryd, memoryd_at_once

if TYPE_CHECKING:
    from memoryd.paths import Paths

COMMANDS = 12


class Workspace:
    """A project, and commands that are started in it without waiting for one another."""

    def __init__(self, environment: dict[str, str], paths: Paths, place: Path) -> None:
        self.environment, self.place = environment, place
        place.mkdir()
        self.memory = Path(paths.transcripts_root, str(place.resolve()).replace("/", "-").replace("_", "-"), "memory")

    def remember(self, text: str) -> tuple[str, ...]:
        return ("remember", text, "--project", str(self.place))

    def under_strace(self, inject: str, *command: str) -> tuple[int, str]:
        strace = shutil.which("strace")
        assert strace, "this test lets a system call fail, which strace does: apt-get install strace"
        options = ("-f", "--seccomp-bpf", "-o", os.devnull, "-e", "trace=renameat2", "-e", f"inject={inject}")
        done = subprocess.run(
            [strace, *options, sys.executable, "-m", "memoryd", *command],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return done.returncode, done.stdout

    @property
    def files(self) -> set[str]:
        return {file.name for file in self.memory.iterdir()}


@pytest.fixture
def workspace(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Workspace:
    return Workspace(environment, paths, tmp_path / "shop")


def test_all_that_is_said_to_be_saved_is_there(workspace: Workspace) -> None:
    """All have the same first words, so all want the same name."""
    reasons = [f"release {number} broke" for number in range(COMMANDS)]
    done = memoryd_at_once(
        workspace.environment,
        *(workspace.remember(f"never push to main without asking, because {reason}") for reason in reasons),
    )
    assert [code for code, _ in done] == [0] * COMMANDS
    names = {text.rpartition("/")[2].strip() for _, text in done}
    assert len(names) == COMMANDS
    assert workspace.files == {"MEMORY.md", *names}
    index = (workspace.memory / "MEMORY.md").read_text()
    assert all(index.count(f"({name})") == 1 for name in names)
    kept = "".join((workspace.memory / name).read_text() for name in names)
    assert all(f"**Why:** {reason}" in kept for reason in reasons)
    history = as_json(workspace.environment, "history", "--project", str(workspace.place))
    assert [change["kind"] for change in history] == ["remember"] * COMMANDS


def test_the_same_sentence_at_once_is_saved_once(workspace: Workspace) -> None:
    done = memoryd_at_once(workspace.environment, *[workspace.remember("always run the linter")] * 6)
    assert sorted(code for code, _ in done) == [0, 1, 1, 1, 1, 1]
    assert sum(text.startswith("saved ") for _, text in done) == 1
    assert sum("A memory says just that already." in text for _, text in done) == 5
    assert workspace.files == {"MEMORY.md", "feedback_always_run_the_linter.md"}


def test_a_name_that_somebody_else_takes_meanwhile_is_chosen_again(workspace: Workspace) -> None:
    """The kernel says twice that the name is taken, as it does when an editor makes that file just then."""
    code, text = workspace.under_strace(
        "renameat2:error=EEXIST:when=1..2", *workspace.remember("always run the linter")
    )
    assert code == 0, text
    assert text.endswith("/feedback_always_run_the_linter.md\n")
    assert workspace.files == {"MEMORY.md", "feedback_always_run_the_linter.md"}
    assert "(feedback_always_run_the_linter.md)" in (workspace.memory / "MEMORY.md").read_text()


def test_what_could_not_be_saved_is_not_said_to_be(workspace: Workspace) -> None:
    code, text = workspace.under_strace("renameat2:error=EEXIST", *workspace.remember("always run the linter"))
    assert code == 75
    assert "Nothing was saved.\n  fix: the same command again\n" in text
    assert "saved /" not in text
    assert workspace.files == set()


@pytest.mark.parametrize("command", ["forget", "undo", "restore"])
def test_a_memory_is_taken_away_or_put_back_once(workspace: Workspace, command: str) -> None:
    """Those that come second say that it is done already, not that somebody edited the file."""
    project = ("--project", str(workspace.place))
    name = "feedback_always_run_the_linter.md"
    assert memoryd(workspace.environment, *workspace.remember("always run the linter")).returncode == 0
    if command == "restore":
        assert memoryd(workspace.environment, "forget", name, *project).returncode == 0
    given = {"forget": (name,), "undo": ("1",), "restore": (name,)}[command]
    done = memoryd_at_once(workspace.environment, *[(command, *given, *project)] * 6)
    refusals = {
        "forget": "memoryd: There is no memory feedback_always_run_the_linter.md in ",
        "undo": "memoryd: Change 1 is undone already, by change 2.",
        "restore": "memoryd: feedback_always_run_the_linter.md is already as it was then.",
    }
    assert sorted(code for code, _ in done) == [0, 1, 1, 1, 1, 1]
    assert sum(text.startswith(refusals[command]) for _, text in done) == 5, done
    assert (name in workspace.files) == (command == "restore")
