"""`memoryd recall` and `memoryd context`, as people and clients without hooks use them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.recall.manners import WITHOUT_MEMORY
from tests.acceptance.command import PATIENCE_SECONDS, as_json, memoryd
from tests.recall.memories import FIVE, RELEASE, ROLE, Library, topic

if TYPE_CHECKING:
    from memoryd.paths import Paths

PROMPT = "which branch do we release from?"
DOCUMENT = (Path(__file__).parents[2] / "docs" / "json.md").read_text()


@pytest.fixture
def project(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Path:
    """A project with five memories."""
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    memory_dir = as_json(environment, "context", "--project", str(place))["memory_dir"]
    library = Library(paths, memory_dir)
    library.write(FIVE)
    (library.place / "MEMORY.md").write_text(f"- [release]({RELEASE}) — from stable\n")
    return place


def documented(command: str) -> str:
    return DOCUMENT.split(f"## `memoryd {command} --json`")[1].split("\n## ")[0]


def test_asked_to_leave_memory_aside_the_command_says_only_that(environment: dict[str, str], project: Path) -> None:
    here = ("--project", str(project))
    done = memoryd(environment, "recall", *here, f"Ignore your memory: {PROMPT}")
    assert (done.returncode, done.stdout.strip()) == (0, WITHOUT_MEMORY.strip())
    answer = as_json(environment, "recall", *here, f"Ignore your memory: {PROMPT}")
    assert (answer["selected"], answer["why_not"]) == ([], "the prompt asks to leave memory aside")


def test_a_prompt_is_answered_as_a_client_would_be(environment: dict[str, str], project: Path) -> None:
    done = memoryd(environment, "recall", "--project", str(project), PROMPT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<memoryd-recall>\n")
    assert done.stdout.endswith("\n</memoryd-recall>\n")
    assert f"### {RELEASE} (project, today)\n{FIVE[RELEASE][0]}" in done.stdout
    assert memoryd(environment, "recall", "--project", str(project), *PROMPT.split()).stdout == done.stdout


def test_nothing_relevant_is_nothing_on_standard_output(environment: dict[str, str], project: Path) -> None:
    done = memoryd(environment, "recall", "--project", str(project), "why is the sky blue?")
    assert (done.returncode, done.stdout) == (0, "")
    assert (
        done.stderr == "Nothing: nothing is relevant enough; memoryd recall --min-score 0 shows what comes closest.\n"
    )
    done = memoryd(environment, "recall", "--project", str(project), "release")
    assert (done.stdout, done.stderr) == ("", "Nothing: fewer than two words say too little.\n")


def test_json_has_the_documented_fields(environment: dict[str, str], project: Path) -> None:
    told = as_json(environment, "recall", "--project", str(project), PROMPT)
    section = documented("recall")
    assert list(told) == re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    (one,) = told["selected"]
    (fields,) = re.findall(r"the best first: `\{(.+?)\}`", section)
    assert list(one) == fields.split(", ")
    assert (one["file"], one["type"], one["description"], one["gone"]) == (RELEASE, "project", FIVE[RELEASE][0], [])
    assert 0.2 <= one["score"] <= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", one["modified_at"])
    assert (told["selector"], told["why_not"], told["fallback"]) == ("local", None, None)
    nothing = as_json(environment, "recall", "--project", str(project), "why is the sky blue?")
    assert nothing == {
        "selected": [],
        "selector": "local",
        "why_not": "nothing is relevant enough",
        "fallback": None,
    }


def test_a_session_gets_it_once_and_nobody_as_often_as_he_asks(environment: dict[str, str], project: Path) -> None:
    given = ("recall", "--project", str(project), PROMPT)
    first, second = (as_json(environment, *given, "--session", "s") for _ in range(2))
    assert [memory["file"] for memory in first["selected"]] == [RELEASE]
    assert (second["selected"], second["why_not"]) == ([], "the session knows what is relevant")
    assert as_json(environment, *given, "--session", "other")["selected"] == first["selected"]
    assert as_json(environment, *given)["selected"] == as_json(environment, *given)["selected"] == first["selected"]


def test_what_it_cost_a_session_is_told(environment: dict[str, str], project: Path) -> None:
    given = memoryd(environment, "recall", "--session", "s", "--project", str(project), PROMPT).stdout
    (row,) = as_json(environment, "usage", "--by", "session")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*Z", row.pop("last_at"))
    tokens = -(-(len(given.encode()) - len("\n")) // 4)
    assert row == {
        "session": "s",
        "shown": 1,
        "prompts": 1,
        "calls": 0,
        "tokens": tokens,
        "prompt_tokens": tokens,
        "used": 0,
    }
    assert all(f"`{field}`" in documented("usage") for field in row)
    told = as_json(environment, "status")["recall"]
    assert told == {
        "shown": 1,
        "sessions": 1,
        "used": 0,
        "tokens": tokens,
        "prompts": 1,
        "prompt_tokens": tokens,
        "session_tokens": tokens,
    }
    done = memoryd(environment, "usage", "--by", "session")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["session", "s"]
    assert done.stderr.startswith(f"Together about {tokens} tokens handed over")


def test_the_manual_of_a_tool_in_use_is_left_out(environment: dict[str, str], project: Path) -> None:
    place = Path(as_json(environment, "context", "--project", str(project))["memory_dir"])
    (place / "manual.md").write_bytes(
        topic("Linear MCP create_issue usage", "create_issue(title, team) files a finding.", kind="reference")
    )
    given = ("recall", "--project", str(project), "--min-score", "0", "create_issue for these findings")
    assert "manual.md" in [memory["file"] for memory in as_json(environment, *given)["selected"]]
    told = as_json(environment, *given, "--tool", "Bash", "--tool", "mcp__linear__create_issue")
    assert "manual.md" not in [memory["file"] for memory in told["selected"]]


def test_how_sure_to_be_can_be_said(environment: dict[str, str], project: Path) -> None:
    given = ("recall", "--project", str(project), "--json", "the user is what?")
    counts = [
        len(json.loads(memoryd(environment, *given, "--min-score", score).stdout)["selected"]) for score in ("0", "1")
    ]
    assert counts[0] > counts[1] == 0


@pytest.mark.parametrize("score", ["-0.1", "1.01", "nan", "inf"])
def test_a_score_out_of_range_is_told_in_words(environment: dict[str, str], project: Path, score: str) -> None:
    done = memoryd(environment, "recall", "--project", str(project), f"--min-score={score}", PROMPT)
    assert (done.returncode, done.stdout) == (2, "")
    assert "A score is a number from 0 to 1" in done.stderr
    assert "memoryd recall --help" in done.stderr


def test_a_score_that_is_no_number_and_no_prompt_at_all(environment: dict[str, str], project: Path) -> None:
    assert memoryd(environment, "recall", "--min-score", "much", PROMPT).returncode == 2
    assert memoryd(environment, "recall", "--project", str(project)).returncode == 2


def test_outside_a_project_there_are_no_memories_and_a_bad_directory_is_told(
    environment: dict[str, str], tmp_path: Path
) -> None:
    done = memoryd(environment, "recall", "--project", str(tmp_path), PROMPT)
    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(
        r"There are no memories in ~/.*/memory yet; memoryd projects tells where there are\.\n", done.stderr
    )
    for command in ("recall", "context"):
        query = [PROMPT] if command == "recall" else []
        done = memoryd(environment, command, "--project", str(tmp_path / "none"), *query)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"There is no directory {tmp_path / 'none'}." in done.stderr


def test_bytes_that_are_no_text_are_asked_about_without_a_traceback(environment: dict[str, str], project: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable.encode(), b"-m", b"memoryd", b"recall", b"--project", str(project).encode()),
            *(b"--session", b"\xff", b"--tool", b"\xff", b"release branch \xff stable"),
        ],
        env=environment,
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0
    assert RELEASE.encode() in done.stdout
    assert done.stderr == b""


# --- context ----------------------------------------------------------------------------------------------------------


def test_context_is_the_guide_and_the_index(environment: dict[str, str], project: Path) -> None:
    done = memoryd(environment, "context", "--project", str(project))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# Memory\n")
    assert done.stdout.endswith(f"## MEMORY.md\n- [release]({RELEASE}) — from stable\n")
    told = as_json(environment, "context", "--project", str(project))
    fields = re.findall(r"`(\w+)`", documented("context").partition("With\n")[0])
    assert list(told) == fields
    assert told["text"] == done.stdout.rstrip("\n")
    assert told["cut"] is False
    assert told["index"].strip() in told["text"]


def test_context_of_a_project_without_memories(environment: dict[str, str], tmp_path: Path) -> None:
    done = memoryd(environment, "context", "--project", str(tmp_path))
    assert done.stdout.endswith("There are no memories yet.\n")
    assert not (Path(environment["HOME"]) / ".claude").exists()


def test_context_of_a_path_is_the_instruction_files_that_apply_to_it(
    environment: dict[str, str], project: Path
) -> None:
    (project / "CLAUDE.md").write_text("Use tabs.\n")
    (project / "src").mkdir()
    (project / "src" / "CLAUDE.md").write_text("Use spaces here.\n")
    (project / "src" / "app.py").write_text("")
    own = Path(environment["HOME"], ".claude", "CLAUDE.md")
    own.parent.mkdir(exist_ok=True)
    own.write_text("Be short.\n")
    expected = [(str(own), "Be short."), (str(project / "CLAUDE.md"), "Use tabs.")]
    below = [*expected, (str(project / "src" / "CLAUDE.md"), "Use spaces here.")]
    for about, files in (("src/app.py", below), ("src", below), ("src/new.py", below), ("main.py", expected)):
        told = as_json(environment, "context", "--file", str(project / about))
        assert list(told) == ["files"]
        assert [(file["path"], file["text"].strip()) for file in told["files"]] == files
    done = memoryd(environment, "context", "--file", str(project / "main.py"))
    assert done.stdout == f"<!-- {own} -->\nBe short.\n\n<!-- {project / 'CLAUDE.md'} -->\nUse tabs.\n\n"
    assert done.stderr == ""


def test_where_no_instruction_file_applies_it_is_said_beside(environment: dict[str, str], tmp_path: Path) -> None:
    done = memoryd(environment, "context", "--file", str(tmp_path / "a.py"))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"No instruction file applies to {tmp_path / 'a.py'}.\n"


def test_the_memories_of_a_person_come_without_a_type_where_there_is_none(
    environment: dict[str, str], project: Path
) -> None:
    place = Path(as_json(environment, "context", "--project", str(project))["memory_dir"])
    (place / ROLE).write_text("The user is a data scientist who knows statistics and Python.\n")
    given = ("recall", "--project", str(project), "does the user know statistics and python?")
    (one,) = as_json(environment, *given)["selected"]
    assert (one["file"], one["type"], one["description"]) == (ROLE, None, "")
