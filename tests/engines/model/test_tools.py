"""The six tools: their answers, their permissions, and what they leave behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.engines.model.tools import RESULT_BYTES, SCHEMAS, TOOLS, ToolBox, ToolResult
from memoryd.review.context import Writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


class Bench:
    """A tool box over a directory, and what its judge was asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[Writing] = []
        self.answer: str | None = None
        self.box = ToolBox(str(root), self.judge, seconds=5)

    def judge(self, writing: Writing) -> str | None:
        self.asked.append(writing)
        return self.answer

    def __call__(self, tool: str, **given: Any) -> ToolResult:
        return self.box.run(tool, given)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    root = tmp_path / "root"
    (root / "results").mkdir(parents=True)
    (root / "deploy.md").write_text("Deploys happen\non Fridays.\n")
    (root / "tests.md").write_text("Tests run on Fridays, on all Fridays.\n")
    (root / "results/7.txt").write_text("seven\n")
    made = Bench(root)
    with made.box:
        yield made


def test_the_list_of_tools_is_fixed() -> None:
    assert [schema["name"] for schema in SCHEMAS] == ["Read", "Grep", "Glob", "Bash", "Edit", "Write"]
    assert {schema["name"] for schema in SCHEMAS if "quote" in schema["input_schema"]["required"]} == {"Edit", "Write"}


def test_read_numbers_lines_and_says_where_to_go_on(bench: Bench) -> None:
    assert bench("Read", file_path="deploy.md") == ToolResult("     1\tDeploys happen\n     2\ton Fridays.")
    assert bench("Read", file_path="deploy.md", offset=1, limit=1).text == (
        "     1\tDeploys happen\n[the file has 2 lines; go on with offset 2]"
    )
    assert bench("Read", file_path="deploy.md", offset=9).text == "[the file has 2 lines]"
    assert bench("Read", file_path="nothing.md") == ToolResult("Read failed: there is no `nothing.md`.", is_error=True)


def test_an_image_is_shown_as_one(bench: Bench, tmp_path: Path) -> None:
    """Not as an empty file: nobody can look at it here."""
    (tmp_path / "images").mkdir()
    (tmp_path / "images/Logo.PNG").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(400))
    (tmp_path / "images/empty.txt").write_text("")
    with ToolBox(str(bench.root), bench.judge, mounts={"repository": str(tmp_path / "images")}) as box:
        assert box.run("Read", {"file_path": "repository/Logo.PNG"}) == ToolResult("[image]")
        assert box.run("Read", {"file_path": "repository/empty.txt"}).text == "[the file has 0 lines]"


def test_results_are_bounded(bench: Bench) -> None:
    (bench.root / "long.md").write_text(f"{'x' * 9_000}\n" * 3_000)
    (bench.root / "short.md").write_text("line\n" * 3_000)
    for result in (bench("Read", file_path="long.md"), bench("Grep", pattern="x", max_results=10**9)):
        assert len(result.text.encode()) <= RESULT_BYTES
        assert "cut" in result.text
        assert "x" * 2_001 not in result.text
    lines = bench("Read", file_path="short.md", limit=9_999).text.splitlines()
    assert lines[-2:] == ["  2000\tline", "[the file has 3000 lines; go on with offset 2001]"]


def test_a_secret_is_redacted_also_where_the_result_is_cut(bench: Bench) -> None:
    """Wherever the cut falls, the secret before it was seen whole."""
    for length in range(RESULT_BYTES - 120, RESULT_BYTES + 20, 7):
        (bench.root / "key.md").write_text("x " * (length // 2) + TOKEN + "\n" + "y " * 1_000)
        for result in (bench("Bash", command="cat key.md"), bench("Read", file_path="key.md")):
            assert "a1B2" not in result.text


def test_a_secret_is_redacted_where_reading_ends(bench: Bench) -> None:
    (bench.root / "key.md").write_text("x\n" * ((1 << 19) + 8_180) + TOKEN + "\n")
    assert "a1B2" not in bench("Read", file_path="key.md", offset=(1 << 19) - 10).text
    assert "a1B2" not in bench("Read", file_path="key.md", offset=(1 << 19) + 8_100).text


def test_grep_answers_file_line_text(bench: Bench) -> None:
    everywhere = "deploy.md:2:on Fridays.\ntests.md:1:Tests run on Fridays, on all Fridays."
    assert bench("Grep", pattern="Fri(day)s").text == everywhere
    assert bench("Grep", pattern="fridays", glob="t*.md", ignore_case=True).text == everywhere.splitlines()[1]
    assert bench("Grep", pattern="seven", path="results").text == "results/7.txt:1:seven"
    assert bench("Grep", pattern="seven", glob="results/*").text == "results/7.txt:1:seven"
    assert bench("Grep", pattern="-v").text == "no matches"
    assert bench("Grep", pattern=".", max_results=1).text == (
        "deploy.md:1:Deploys happen\n[3 more lines; narrow the search]"
    )


def test_glob_lists_files_by_name(bench: Bench) -> None:
    assert bench("Glob", pattern="*.md").text == "deploy.md\ntests.md"
    assert bench("Glob", pattern="**/*.*").text == "deploy.md\nresults/7.txt\ntests.md"
    assert bench("Glob", pattern="[a-d]*").text == "deploy.md"
    assert bench("Glob", pattern="?.txt", path="results").text == "results/7.txt"
    assert bench("Glob", pattern="*.py").text == "no files match"


def test_a_directory_of_too_many_names_is_not_walked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryd.engines.model.sandbox.MOST_ENTRIES", 3)
    assert "narrower path" in bench("Glob", pattern="*").text
    assert bench("Glob", pattern="*", path="results").text == "results/7.txt"


def test_write_makes_replaces_and_removes(bench: Bench) -> None:
    """The judge sees each before it happens; the file is new each time, so no other name of it changes."""
    assert bench("Write", file_path="new.md", content="New.\n", quote="new") == ToolResult(
        "Write of new.md staged.", changed=True
    )
    assert oct(os.stat(bench.root / "new.md").st_mode) == "0o100600"
    assert bench("Write", file_path="./new.md", content="Newer.\n", quote="newer").changed
    assert (bench.root / "new.md").read_text() == "Newer.\n"
    assert bench("Write", file_path="new.md", content="", quote="") == ToolResult(
        "Removal of new.md staged.", changed=True
    )
    assert bench.asked == [
        Writing("new.md", None, b"New.\n", "new", is_whole=True),
        Writing("new.md", b"New.\n", b"Newer.\n", "newer", is_whole=True),
        Writing("new.md", b"Newer.\n", None, "", is_whole=True),
    ]
    assert sorted(os.listdir(bench.root)) == ["deploy.md", "results", "tests.md"]


def test_edit_replaces_one_passage_or_all(bench: Bench) -> None:
    edit = {"file_path": "tests.md", "old_string": "Fridays", "new_string": "Mondays", "quote": "Mondays now"}
    assert "stands 2 times" in bench("Edit", **edit).text
    assert bench("Edit", **edit, replace_all=True) == ToolResult("Edit of tests.md staged.", changed=True)
    assert (bench.root / "tests.md").read_text() == "Tests run on Mondays, on all Mondays.\n"
    assert "is not in" in bench("Edit", **edit).text
    assert "nothing would be left" in bench("Edit", **edit | {"old_string": "Tests run on Mondays, on all Mondays.\n", "new_string": ""}).text  # fmt: skip
    assert [writing.quote for writing in bench.asked] == ["Mondays now"]


def test_what_changes_nothing_is_said_and_not_judged(bench: Bench) -> None:
    same = (bench.root / "deploy.md").read_text()
    results = [
        bench("Write", file_path="deploy.md", content=same, quote=""),
        bench("Write", file_path="nothing.md", content="", quote=""),
        bench("Edit", file_path="deploy.md", old_string="x", new_string="x", quote=""),
    ]
    assert [(result.is_noop, result.changed) for result in results] == [(True, False)] * 3
    assert bench.asked == []


def test_the_judge_has_the_last_word(bench: Bench) -> None:
    bench.answer = "The user did not say that."
    result = bench("Write", file_path="new.md", content="New.\n", quote="new")
    assert result == ToolResult("Write refused: The user did not say that.", is_error=True)
    assert bench.box.refusals == ["Write refused: The user did not say that"]
    assert not (bench.root / "new.md").exists()


def test_a_link_planted_before_the_write_is_replaced_not_followed(bench: Bench, tmp_path: Path) -> None:
    """The judge's look is the last moment before; whatever stands there then, only its name is ours."""
    victim = tmp_path / "victim.md"
    victim.write_text("mine\n")

    def plant(_: Writing) -> None:
        os.symlink(victim, bench.root / "new.md")
        os.symlink(victim, bench.root / ".memoryd-write")

    with ToolBox(str(bench.root), plant) as box:
        assert box.run("Write", {"file_path": "new.md", "content": "New.\n", "quote": ""}).changed
    assert victim.read_text() == "mine\n"
    assert not (bench.root / "new.md").is_symlink()
    assert (bench.root / "new.md").read_text() == "New.\n"


def test_a_memory_with_a_secret_is_neither_edited_nor_made(bench: Bench) -> None:
    """To edit around a secret tells its letters one by one, or makes it look like none."""
    (bench.root / "key.md").write_text(f"the token {TOKEN}\n")
    edits = [("token", "word"), (TOKEN[:5], "x"), ("not there", "x")]
    found = {bench("Edit", file_path="key.md", old_string=old, new_string=new, quote="").text for old, new in edits}
    assert found == {"Edit refused: `key.md` holds a secret, so only the user edits it."}
    assert "would hold a secret" in bench("Write", file_path="new.md", content=f"{TOKEN}\n", quote="").text
    assert bench.asked == []


def test_what_the_user_wrote_may_be_large_and_oddly_named(bench: Bench) -> None:
    (bench.root / "My notes.md").write_text("start\n" + "word " * 20_000)
    edit = {"file_path": "My notes.md", "old_string": "start", "new_string": "begin", "quote": ""}
    assert bench("Edit", **edit).changed
    assert "larger" in bench("Edit", **edit | {"old_string": "begin", "new_string": "long beginning"}).text
    assert "larger" in bench("Write", file_path="My notes.md", content="x" * 70_000, quote="").text


def test_what_a_job_does_not_permit_is_refused_and_told_in_the_log(bench: Bench) -> None:
    with ToolBox(str(bench.root), bench.judge, permits=frozenset({"Read"})) as box:
        for tool, given in (("Bash", {"command": "ls"}), ("Glob", {"pattern": "*"})):
            assert box.run(tool, given).text == f"{tool} refused: this job does not permit it."
        assert not box.run("Read", {"file_path": "deploy.md"}).is_error
        assert box.refusals == [
            "Bash refused: this job does not permit it",
            "Glob refused: this job does not permit it",
        ]


def test_refusals_name_what_was_tried(bench: Bench) -> None:
    bench("Bash", command="find . -exec id ';'")
    bench("Read", file_path="../x")
    assert bench.box.refusals[0].startswith("Bash refused: find `-exec` is not allowed")
    assert bench.box.refusals[1].startswith("Read refused: `../x` leads upwards")


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_wrong_parameters_name_what_is_expected(bench: Bench, tool: str) -> None:
    required = next(schema["input_schema"]["required"] for schema in SCHEMAS if schema["name"] == tool)
    for given in (None, {}, {"nonsense": 1}, dict.fromkeys(required, 1), dict.fromkeys(required, "x") | {"more": 1}):
        result = bench.box.run(tool, given)
        assert result.is_error
        assert f"expected {required[0]}: string" in result.text


def test_a_kept_result_is_read_like_any_file(bench: Bench) -> None:
    assert bench.box.keep(1, "one\n") == "results/1.txt"
    assert bench("Read", file_path="results/1.txt").text == "     1\tone"
    (bench.root / "results/1.txt").unlink()
    (bench.root / "results/7.txt").unlink()
    (bench.root / "results").rmdir()
    assert bench.box.keep(2, "two\n") == "results/2.txt"
    assert (bench.root / "results/2.txt").read_text() == "two\n"


def test_an_unknown_tool_is_an_error(bench: Bench) -> None:
    result = bench("WebFetch", url="http://localhost")
    assert result.text == "WebFetch failed: there is no such tool; there are Read, Grep, Glob, Bash, Edit, Write."
