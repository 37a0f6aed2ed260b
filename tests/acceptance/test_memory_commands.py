"""The commands around memory, as a user types them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import as_json
from tests.acceptance.command import memoryd as run_memoryd
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths


class Shell:
    """A terminal in a project's directory."""

    def __init__(self, environment: dict[str, str], paths: Paths, place: Path) -> None:
        self.environment, self.paths, self.place = environment, paths, place
        place.mkdir()
        slug = str(place.resolve()).replace("/", "-").replace("_", "-")
        self.memory = Path(paths.transcripts_root, slug, "memory")

    def __call__(self, *arguments: str) -> tuple[int, str]:
        done = run_memoryd(self.environment, *arguments, "--project", str(self.place))
        return done.returncode, done.stdout + done.stderr

    def json(self, *arguments: str) -> object:
        return as_json(self.environment, *arguments, "--project", str(self.place))


@pytest.fixture
def shell(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Shell:
    return Shell(environment, paths, tmp_path / "shop")


def test_remember_why_forget_undo(shell: Shell) -> None:
    name = "feedback_never_push_to_main_without_asking.md"
    code, text = shell("remember", "never push to main without asking, because every push deploys")
    assert (code, text) == (0, f"saved ~/.claude/projects/{shell.memory.parent.name}/memory/{name}\n")
    file = shell.memory / name
    content, mtime = file.read_bytes(), file.stat().st_mtime_ns
    assert file.stat().st_mode & 0o777 == 0o600
    assert shell.memory.stat().st_mode & 0o777 == 0o700
    code, text = shell("why", "feedback_never_push_to_main_without_asking")
    assert code == 0
    assert '"never push to main without asking, because every push deploys"' in text
    assert shell("forget", name)[0] == 0
    assert os.listdir(shell.memory) == ["MEMORY.md"]
    assert (shell.memory / "MEMORY.md").read_bytes() == b""
    code, text = shell("why", name)
    assert code == 0
    assert f"{name} is no longer there: memoryd restore {name} puts it back." in text
    assert "forget" in text
    assert shell("undo") == (0, f"undo: {name} is as it was\n")
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (content, mtime)
    from_anywhere = run_memoryd(shell.environment, "why", str(file))  # as the terminal shows it
    assert (from_anywhere.returncode, "never push to main" in from_anywhere.stdout) == (0, True)
    elsewhere = run_memoryd(shell.environment, "forget", str(shell.place / "README.md"))
    assert (elsewhere.returncode, "is no memory directory that memoryd knows" in elsewhere.stderr) == (2, True)
    history = shell.json("history")
    assert isinstance(history, list)
    assert [change["kind"] for change in history] == ["undo", "forget", "remember"]


def test_the_same_sentence_twice_is_said(shell: Shell) -> None:
    shell("remember", "always run the linter")
    code, text = shell("remember", "always run the linter")
    assert code == 1
    assert text.startswith("memoryd: A memory says just that already.\n  fix: memoryd memories")


def test_a_secret_is_not_remembered(shell: Shell) -> None:
    code, text = shell("remember", "the token is ghp_abcdefghijklmnopqrstuvwxyz0123456789")
    assert code == 1
    assert "That holds a secret (a GitHub token), and secrets are not kept." in text
    assert "ghp_" not in text
    assert not shell.memory.exists()


def test_restore_and_diff(shell: Shell) -> None:
    shell("remember", "always run the linter")
    shell("forget", "feedback_always_run_the_linter")
    code, text = shell("restore", "feedback_always_run_the_linter")
    assert (code, text) == (0, "restore: feedback_always_run_the_linter.md is as it was\n")
    assert shell("undo")[0] == 0
    assert shell("history", "feedback-always-run-the-linter")[1].count("\n") == 4
    code, text = shell("diff", "1")
    assert code == 0
    assert "+always run the linter" in text


def test_what_forget_took_comes_back_whatever_it_holds(shell: Shell) -> None:
    """A person may keep what memoryd would not write; its promise to bring it back holds all the same."""
    shell("remember", "always run the linter")
    own = shell.memory / "mine.md"
    own.write_text("password: hunter2hunter2\n")
    assert shell("forget", "mine")[0] == 0
    assert not own.exists()
    assert shell("undo")[0] == 0
    assert own.read_text() == "password: hunter2hunter2\n"


def test_a_change_of_another_project_is_not_restored_here(
    shell: Shell, environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    shell("remember", "always run the linter")
    other = Shell(environment, paths, tmp_path / "other")
    code, text = other("restore", "feedback_always_run_the_linter", "--change", "1")
    assert code == 1
    assert text.startswith("memoryd: Change 1 is of another project.")


def test_looking_makes_nothing(environment: dict[str, str], shell: Shell) -> None:
    for arguments in (["why", "x"], ["forget", "x"], ["memories"]):
        shell(*arguments)
    assert not shell.memory.exists()
    assert not os.path.exists(os.path.join(environment["HOME"], ".claude"))


def test_an_edited_memory_is_not_taken_by_undo(shell: Shell) -> None:
    shell("remember", "always run the linter")
    with (shell.memory / "feedback_always_run_the_linter.md").open("a") as file:
        file.write("And the formatter.\n")
    code, text = shell("undo")
    assert code == 1
    assert "feedback_always_run_the_linter.md was edited since and stays as it is." in text
    assert "And the formatter." in (shell.memory / "feedback_always_run_the_linter.md").read_text()


def test_memories_of_a_directory_with_odd_files(shell: Shell) -> None:
    """Each is listed or named, none is an error, none is touched."""
    shell("remember", "always run the linter")
    odd = {
        "broken.md": b"---\nname: [\n---\nbody",
        "bomb.md": b"---\na: &a [x, x]\nb: &b [*a, *a]\n---\n",
        "crlf.md": b"\xef\xbb\xbf---\r\nname: crlf\r\ndescription: windows\r\ntype: user\r\n---\r\nbody",
        "large.md": b"x" * 10_000_000,
    }
    for name, data in odd.items():
        (shell.memory / name).write_bytes(data)
    (shell.memory / "dir.md").mkdir()
    (shell.memory / "link.md").symlink_to("/etc/passwd")
    listed = shell.json("memories")
    assert isinstance(listed, list)
    assert {one["file"]: bool(one["problem"]) for one in listed} == {
        "feedback_always_run_the_linter.md": False,
        "broken.md": True,
        "bomb.md": True,
        "crlf.md": False,
        "large.md": True,
        "dir.md": True,
        "link.md": True,
    }
    assert shell("remember", "never use mocks")[0] == 0
    assert {name: (shell.memory / name).read_bytes() for name in odd} == odd
    index = (shell.memory / "MEMORY.md").read_text()
    for name in (*odd, "feedback_always_run_the_linter.md", "feedback_never_use_mocks.md"):
        assert f"({name})" in index
    assert "passwd" not in index


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["why", "nothing"], 1, "There are no memories in"),
        (["undo"], 1, "There is no change here that could be undone."),
        (["undo", "x"], 2, "'x' is no number of a change."),
        (["undo", "99"], 1, "There is no change 99."),
        (["restore", "nothing"], 1, "The history knows no nothing.md here."),
        (["diff"], 1, "No change is known of that."),
        (["remember", "  "], 2, "There is nothing to remember."),
    ],
)
def test_mistakes_are_sentences_with_a_fix(shell: Shell, arguments: list[str], code: int, sentence: str) -> None:
    done, text = shell(*arguments)
    assert done == code
    assert text.startswith(f"memoryd: {sentence}")
    assert "\n  fix: memoryd " in text


def test_a_project_that_is_no_directory_is_usage(environment: dict[str, str]) -> None:
    done = run_memoryd(environment, "memories", "--project", "/nowhere/at/all")
    assert done.returncode == 2


def test_extract_now_and_backfill(environment: dict[str, str], paths: Paths) -> None:
    session = Session()
    path = write(paths.transcripts_root, session, session.turn("from now on, use tabs"))
    assert as_json(environment, "extract-now") == []
    asked = run_memoryd(environment, "backfill")
    assert asked.returncode == 2
    assert "1 turn in 1 session of 1 project, free of charge" in asked.stderr
    with path.open("ab") as file:
        file.write(session.turn("never use mocks"))
    done = run_memoryd(environment, "extract-now")
    assert done.stdout == "saved ~/.claude/projects/-code-acme/memory/feedback_never_use_mocks.md\n"
    assert done.stderr == "1 session read, 1 memory saved.\n"
    (worked,) = as_json(environment, "backfill", "--yes")
    assert (worked["outcome"], worked["saved"]) == ("succeeded", ["feedback_use_tabs.md"])
    assert as_json(environment, "backfill", "--yes") == []


def test_demo_shows_the_whole_way_and_leaves_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = run_memoryd({**environment, "TMPDIR": str(scratch)}, "demo")
    assert done.returncode == 0
    assert "Never push to main without asking" in done.stdout
    assert "**Why:** every push deploys" in done.stdout
    assert os.listdir(scratch) == []
    assert os.listdir(environment["HOME"]) == []


def test_the_daemons_child_is_not_offered(environment: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-m", "memoryd", "--help"], env=environment, capture_output=True, check=True)
    assert b"\n    work " not in done.stdout
