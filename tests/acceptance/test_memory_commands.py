"""The commands around memory, as a user types them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import Daemon, as_json
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
    assert text.startswith(f"{name} is no longer there: you had it forgotten (")
    assert f"to put it back: memoryd restore {name}\n" in text
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
    assert {memory["file"]: bool(memory["problem"]) for memory in listed} == {
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
        (["why", "nothing"], 1, "There is no memory nothing in ~/"),
        (["undo"], 1, "There is no change here that could be undone."),
        (["undo", "x"], 2, "'x' is no number of a change."),
        (["undo", "99"], 1, "There is no change 99."),
        (["restore", "nothing"], 1, "There is no memory nothing in ~/"),
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


def test_search_finds_a_memory_and_what_was_said_and_writes_nothing(shell: Shell) -> None:
    session = Session(cwd=str(shell.place))
    write(shell.paths.transcripts_root, session, session.prompt("use pnpm") + session.reply("pnpm it is"), "-x")
    said = as_json(shell.environment, "search", "PNP")
    assert [list(hit) for hit in said] == 2 * [
        ["kind", "who", "text", "file", "project", "client", "session", "at", "resume", "author", "line"]
    ]
    assert [(hit["kind"], hit["who"], hit["text"]) for hit in said] == [
        ("said", "agent", "pnpm it is"),
        ("said", "user", "use pnpm"),
    ]
    assert said[0]["at"] == "2026-10-18T09:00:02Z"
    assert not os.path.exists(shell.paths.state_dir)
    shell("remember", "the registry for pnpm is on port 4873")
    done = run_memoryd(shell.environment, "search", "pnpm", "--limit", "2")
    assert done.stdout.startswith("memory  ")
    assert f"resume: cd {shell.place} && claude --resume {session.id}\n" in done.stdout
    assert done.stderr == "The 2 newest; there are more: memoryd search pnpm --limit 0\n"
    assert run_memoryd(shell.environment, "search", "nowhere").stderr == "Nothing was found.\n"


def test_audit_tells_what_was_said_more_than_once_and_what_keeps_it(shell: Shell) -> None:
    for name in (1, 2):
        session = Session(name, cwd=str(shell.place))
        write(shell.paths.transcripts_root, session, session.turn("use pnpm, not npm"), "-x")
    done = run_memoryd(shell.environment, "audit", "--days", "100000")
    assert done.stdout.startswith(
        "You said 1 thing to your agents more than once, in 2 messages of yours in 2 sessions."
    )
    assert '"use pnpm, not npm"\n    2 times in 2 sessions of Claude Code, 2026-10-18\n' in done.stdout
    assert done.stderr.endswith("memoryd setup\n")
    report = as_json(shell.environment, "audit", "--days", "100000")
    assert list(report) == ["sessions", "messages", "repeated"]
    assert list(report["repeated"][0]) == ["text", "times", "sessions", "first_at", "last_at", "said"]
    assert not os.path.exists(shell.paths.state_dir)


def test_a_part_of_a_name_is_enough_where_it_fits_one(shell: Shell) -> None:
    shell("remember", "ask dana before you touch billing")
    shell("remember", "always review in small steps")
    shell("remember", "always review on paper")
    first, second, dana = sorted(path.name for path in shell.memory.glob("[a-z]*.md"))
    code, text = shell("forget", "review")
    assert code == 1
    assert text == f"memoryd: 2 memories fit review: {first}, {second}.\n  fix: memoryd forget {first}\n"
    assert shell("forget", "Ask-Dana")[0] == 0
    assert shell("why", "dana")[1].startswith(f"{dana} is no longer there: you had it forgotten (")
    assert shell("restore", "dana") == (0, f"restore: {dana} is as it was\n")
    for command in ("why", "diff", "history"):
        assert dana in shell(command, "dana")[1]


def test_commands_say_where_else_there_is_something(shell: Shell, tmp_path: Path) -> None:
    other = Shell(shell.environment, shell.paths, tmp_path / "site")
    session = Session(cwd=str(other.place))
    write(shell.paths.transcripts_root, session, session.turn("hello"), other.memory.parent.name)
    other("remember", "always review on paper")
    (name,) = (path.name for path in other.memory.glob("[a-z]*.md"))
    run_memoryd(shell.environment, "extract-now")  # which gets to know the projects
    assert f"1 memory in {other.place}: memoryd memories --project {other.place}\n" in shell("memories")[1]
    assert f"1 change in {other.place}: memoryd history --project {other.place}\n" in shell("history")[1]
    assert shell("undo")[1] == (
        f"memoryd: There is no change here that could be undone; the last one is change 1 in {other.place}.\n"
        "  fix: memoryd undo 1\n"
    )
    code, text = shell("forget", "paper")
    assert (code, f"{name} is in {other.place}.\n  fix: memoryd forget {other.memory / name}\n" in text) == (1, True)
    assert f" s old, {other.place})\n    Always review on paper\n" in shell("memories", "--all")[1]
    assert name in shell("history", "--all")[1]
    assert shell("undo", "--all") == (0, f"undo: {name} taken away\n")


def test_memories_are_filtered_by_words_type_and_age(shell: Shell) -> None:
    shell("remember", "--type", "feedback", "always review on paper")
    shell("remember", "--type", "reference", "the board is on the wall")
    feedback, reference = sorted(shell.memory.glob("[a-z]*.md"))
    os.utime(feedback, (0, 0))

    def listed(*arguments: str) -> list[str]:
        found = shell.json("memories", *arguments)
        assert isinstance(found, list)
        return [memory["file"] for memory in found]

    assert listed("PAPER") == listed("--type", "feedback") == listed("--older", "1d") == [feedback.name]
    assert listed("--newer", "1d") == [reference.name]
    assert listed() == [reference.name, feedback.name]
    assert shell("memories", "--newer", "soon")[0] == 2
    assert "None of the 2 memories in " in shell("memories", "nowhere")[1]


def test_why_knows_the_words_after_a_rename_and_without_the_database(shell: Shell) -> None:
    session = Session(cwd=str(shell.place))
    text = "ok. never push to main without asking. then fix the parser"
    write(shell.paths.transcripts_root, session, session.turn(text), shell.memory.parent.name)
    run_memoryd(shell.environment, "backfill", "--yes")
    (path,) = shell.memory.glob("[a-z]*.md")
    path.rename(path.with_name("feedback_renamed.md"))
    text = shell("why", "renamed")[1]
    assert (
        f"It was called {path.name} when memoryd wrote it.\nYou said, in session {session.id} of Claude Code, " in text
    )
    shutil.rmtree(shell.paths.state_dir)
    text = shell("why", "renamed")[1]
    assert f"You said, in session {session.id}, at 2026-10-18T09:00:01Z:\n" in text
    assert "never push to main without asking" in text
    for transcript in Path(shell.paths.transcripts_root).glob("*/*.jsonl"):
        transcript.unlink()
    assert f"says that it rests on session {session.id}; memoryd has no record" in shell("why", "renamed")[1]


def test_why_tells_the_words_that_took_a_memory_back(shell: Shell) -> None:
    first, second = Session("first", cwd=str(shell.place)), Session("second", cwd=str(shell.place))
    write(shell.paths.transcripts_root, first, first.turn("never push to main without asking"), "-x")
    run_memoryd(shell.environment, "backfill", "--yes")
    (path,) = shell.memory.glob("[a-z]*.md")
    write(shell.paths.transcripts_root, second, second.turn("forget what I said about push to main"), "-x")
    run_memoryd(shell.environment, "backfill", "--yes")
    if path.exists():  # a doubt: the yes of the user takes it back
        shell("review", "accept", str(as_json(shell.environment, "review", "--list", "--all")[0]["id"]))
    code, text = shell("why", path.name)
    assert (code, path.exists()) == (0, False)
    assert "forget what I said about push to main" in text
    assert "took it away" in text or "taking it away" in text
    path.write_text("x")
    shell("forget", path.name)
    assert shell.json("why", path.name)["removed_by"]["kind"] == "forget"  # type: ignore[index]


def test_why_tells_what_a_memory_is_called_now(shell: Shell) -> None:
    names = []
    for text in ("remember: the harvest fair opens on March 3", "remember: the harvest fair opens on March 9 now."):
        session = Session(text, cwd=str(shell.place))
        write(shell.paths.transcripts_root, session, session.turn(text), "-x")
        run_memoryd(shell.environment, "backfill", "--yes")
        names += [path.name for path in shell.memory.glob("[a-z]*.md")]
    old, new = names
    text = " ".join(shell("why", old)[1].split())
    assert text.startswith(f"{old} is called {new} now (")
    assert "on March 9 now. what it rests on: " in text  # one full stop, and no restore that would double it
    assert shell.json("why", old)["renamed_to"] == new  # type: ignore[index]


def test_why_of_the_index_is_a_sentence(shell: Shell) -> None:
    shell("remember", "always review on paper")
    for given in ("MEMORY", "MEMORY.md", str(shell.memory / "MEMORY.md")):
        code, text = shell("why", given)
        assert (code, text.startswith("MEMORY.md is the index: a line for each memory")) == (0, True)


def test_a_memory_that_was_removed_by_hand_is_told(shell: Shell) -> None:
    shell("remember", "always review on paper")
    (path,) = shell.memory.glob("[a-z]*.md")
    path.unlink()
    assert "It was taken away by hand, or by another program" in shell("why", path.name)[1]


def test_a_difference_is_data_too(shell: Shell) -> None:
    shell("remember", "always review on paper")
    (path,) = shell.memory.glob("[a-z]*.md")
    told = shell.json("diff")
    assert isinstance(told, dict)
    assert list(told) == ["change", "at", "kind", "files", "refused"]
    (file,) = told["files"]
    assert (file["file"], file["before"], file["after"]) == (path.name, None, path.read_text())
    assert file["diff"].startswith("--- nothing\n")


def test_a_deleted_index_is_a_problem_until_the_daemon_has_looked(shell: Shell) -> None:
    session = Session(cwd=str(shell.place))
    write(shell.paths.transcripts_root, session, session.turn("never push to main without asking"), "-x")
    run_memoryd(shell.environment, "backfill", "--yes")
    index = shell.memory / "MEMORY.md"
    content = index.read_bytes()
    index.unlink()
    done = run_memoryd(shell.environment, "status")
    assert f"The index of {shell.place} is missing, so no session knows of its 1 memory." in done.stdout
    assert f"memoryd dream-now --project {shell.place}" in done.stdout
    with Daemon(shell.environment) as daemon:
        daemon.says("An index that was deleted or cut is whole again.")
    assert index.read_bytes() == content
    assert "is missing" not in run_memoryd(shell.environment, "status").stdout


def test_a_path_of_the_memory_is_printed(shell: Shell) -> None:
    assert shell("paths", "memory") == (0, f"{shell.memory}\n")


def test_a_moved_repository_is_offered_its_memories(shell: Shell, tmp_path: Path) -> None:
    for step in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *names, *step], cwd=shell.place, check=True)
    said = Session("before", cwd=str(shell.place))
    write(shell.paths.transcripts_root, said, said.turn("never push to main without asking"), "-before")
    run_memoryd(shell.environment, "backfill", "--yes")
    (name,) = (path.name for path in shell.memory.glob("[a-z]*.md"))
    moved = Shell(shell.environment, shell.paths, tmp_path / "moved")
    moved.place.rmdir()
    shell.place.rename(moved.place)
    session = Session("after", cwd=str(moved.place))
    write(shell.paths.transcripts_root, session, session.turn("hello"), "-after")
    run_memoryd(shell.environment, "backfill", "--yes")
    assert f"{moved.place} is the repository that was at {shell.place}; its 1 memory stayed there." in (
        run_memoryd(shell.environment, "status").stdout
    )
    assert f"{shell.place}, which is no longer there, has 1 memory. To take them over" in moved("memories")[1]
    assert f"take them over: memoryd projects adopt --project {moved.place}\n" in (
        run_memoryd(shell.environment, "projects").stdout
    )
    code, text = moved("projects", "adopt")
    assert (code, f"1 memory of {shell.place}; memoryd undo takes it back.\n" in text) == (0, True)
    assert '"never push to main without asking"' in moved("why", name)[1]
    assert "stayed there" not in run_memoryd(shell.environment, "status").stdout
    assert moved("undo") == (0, f"undo: {name} taken away\n")


def test_history_shows_as_many_changes_as_asked_for(shell: Shell) -> None:
    for text in ("Use tabs in this repository", "Never push to main without asking", "The staging server is delta"):
        assert shell("remember", text)[0] == 0
    numbers = [[int(line.split()[0]) for line in shell("history", "--limit", most)[1].splitlines()] for most in "210"]
    assert numbers == [[3, 2], [3], [3, 2, 1]]
    assert shell("history", "--limit", "-1")[0] == 2
