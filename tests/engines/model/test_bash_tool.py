"""The Bash tool: what it prints, how it restores names, and that it ends what goes on too long."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from memoryd.engines.model import bash_tool
from memoryd.engines.model.bash_commands import PROGRAMS, BashWord, parse
from memoryd.engines.model.bash_tool import Output, run
from memoryd.engines.model.sandbox import NotAllowedError, Sandbox, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_SECONDS = 120
TOKEN = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
def view(tmp_path: Path) -> Iterator[Sandbox]:
    (tmp_path / "deploy.md").write_text("Deploys happen\non Fridays.\n/dev/fd/4:2\n")
    (tmp_path / "tests.md").write_text("Tests run on Fridays.\n")
    (tmp_path / "results/old").mkdir(parents=True)
    (tmp_path / "results/7.txt").write_text("seven\n")
    (tmp_path / "results/old/6.txt").write_text("six on Fridays\n")
    (tmp_path / ".hidden.md").write_text("Fridays\n")
    for path in (*tmp_path.rglob("*"), tmp_path):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    opened = Sandbox(str(tmp_path))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("ls", "deploy.md\nresults\ntests.md"),
        ("ls -a -r", "tests.md\nresults\ndeploy.md"),
        ("ls -R results", "results:\n7.txt\nold\n\nresults/old:\n6.txt"),
        ("ls -d results/* results", "results\n\nresults/7.txt\nresults/old"),
        ("ls -l deploy.md", f"-rw-r--r-- 1 {os.getuid()} {os.getgid()} 39 2023-11-14 22:13 deploy.md"),
        ("ls -lh results/7.txt", f"-rw-r--r-- 1 {os.getuid()} {os.getgid()} 6 2023-11-14 22:13 results/7.txt"),
        ("find", ".\n./deploy.md\n./results\n./results/7.txt\n./results/old\n./results/old/6.txt\n./tests.md"),
        ("find . -name '*.txt' -print", "./results/7.txt\n./results/old/6.txt"),
        ("find results -type f -path 'results/o*'", "results/old/6.txt"),
        (r"find ./results \( -name '6*' -o -name '7*' \) ! -size +9c -maxdepth 1", "results/7.txt"),
        ("find . results -maxdepth 0", ".\nresults"),
        ("grep -rn Fridays", "deploy.md:2:on Fridays.\nresults/old/6.txt:1:six on Fridays\ntests.md:1:Tests run on Fridays."),
        ("grep -rl Fridays . --include=*.md", "deploy.md\ntests.md"),
        ("grep -rc Fridays --exclude=*.txt --exclude-dir=old .", "deploy.md:1\ntests.md:1"),
        ("grep -h on *.md", "on Fridays.\nTests run on Fridays."),
        ("grep -i DEPLOYS deploy.md", "Deploys happen"),
        ("grep -Hn -A1 Deploys deploy.md", "deploy.md:1:Deploys happen\ndeploy.md:2-on Fridays."),
        ("grep -e seven -e six -r results", "results/7.txt:seven\nresults/old/6.txt:six on Fridays"),
        ("grep -oE 'Fri(days)' tests.md", "Fridays"),
        ("grep -- 'happen$' deploy.md", "Deploys happen"),
        ("grep dev -H deploy.md", "deploy.md:/dev/fd/4:2"),
        ("grep nothing deploy.md", "no matches"),
        ("cat results/7.txt 'tests.md'", "seven\nTests run on Fridays."),
        ("cat -n results/7.txt", "     1\tseven"),
        ("head -1 *.md", "==> deploy.md <==\nDeploys happen\n\n==> tests.md <==\nTests run on Fridays."),
        ("head --lines=1 deploy.md", "Deploys happen"),
        ("head -qn1 *.md", "Deploys happen\nTests run on Fridays."),
        ("tail -n +3 deploy.md", "/dev/fd/4:2"),
        ("tail -c 3 deploy.md", ":2"),
        ("wc -l *.md", " 3 deploy.md\n 1 tests.md\n 4 total"),
        ("stat results/7.txt", "results/7.txt: regular file, 6 bytes, modified 2023-11-14 22:13:20.000000000 +0000"),
        ("stat -c '%s %n' deploy.md results/old/6.txt", "39 deploy.md\n15 results/old/6.txt"),
    ],
)  # fmt: skip
def test_commands_print_what_they_would_in_a_shell(view: Sandbox, command: str, printed: str) -> None:
    """Names are as they were given, files in their order, and everything is the same the second time."""
    assert run(view, command) == Output(printed)
    assert run(view, command) == Output(printed)


@pytest.mark.parametrize("command", ["cat results", "cat nothing.md", "grep x results", "ls *.txt", "wc", "grep x"])
def test_what_cannot_be_done_is_an_error_that_says_why(view: Sandbox, command: str) -> None:
    with pytest.raises(ToolError) as error:
        run(view, command)
    assert not isinstance(error.value, NotAllowedError)


def test_the_error_of_a_program_is_told(view: Sandbox) -> None:
    assert run(view, "grep '[' deploy.md").is_error
    assert "grep: " in run(view, "grep '[' deploy.md").text


@pytest.mark.parametrize("program", PROGRAMS)
def test_only_the_options_of_the_tables_are_taken(program: str) -> None:
    """Every letter and every long option of GNU that follows, waits, writes or reads names elsewhere."""
    for option in (
        *("--help", "--version", "--dereference", "--files0-from=x", "--follow", "--file=x", "-Z", "-P", "-X", "-@"),
        *("--hyperlink", "--exclude-from=x", "--recurs", "--nu", "--li=1", "--zero", "-\u00e9", "---", "--=x"),
    ):  # fmt: skip
        with pytest.raises(NotAllowedError, match="not allowed"):
            parse(f"{program} {option} deploy.md")


def test_quotes_are_understood_as_a_shell_does() -> None:
    words = parse(r"""cat 'a b' "c \"d\" \e" f\ g h'i'"j" *.md '*.md' \* "" a#b""").operands
    assert words == tuple(
        BashWord(text, is_pattern)
        for text, is_pattern in (
            *(("a b", False), ('c "d" \\e', False), ("f g", False), ("hij", False), ("*.md", True)),
            *(("*.md", False), ("*", False), ("", False), ("a#b", False)),
        )
    )


def test_secrets_are_gone_before_a_program_reads(view: Sandbox, tmp_path: Path) -> None:
    """No option and no pattern takes a secret apart: its pieces are not there."""
    (tmp_path / "key.md").write_text(f"the token {TOKEN} works\n")
    for command in (
        "cat key.md",
        "head -c 25 key.md",
        "grep -o 'gh._.....' key.md",
        "grep -c ghp_a key.md",
        "tail -c 20 key.md",
    ):
        assert not re.search("gh[p]|a1B2|D4e5|^1$", run(view, command).text), command
    assert run(view, "cat key.md").text == "the token [redacted: github token] works"


def test_a_program_that_prints_too_much_is_cut(view: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("line\n" * 200_000)
    output = run(view, "cat long.md")
    assert output.text.endswith("The output was cut: narrow the command.")
    assert bash_tool.OUTPUT_BYTES < len(output.text) < 2 * bash_tool.OUTPUT_BYTES
    assert not output.is_error


def test_a_program_that_takes_too_long_is_stopped(view: Sandbox, tmp_path: Path) -> None:
    """References back make grep try everything: it would be at it for hours."""
    (tmp_path / "long.md").write_text("a" * 601 + "\n")
    with pytest.raises(ToolError, match=r"after 0\.3 seconds"):
        run(view, r"grep -E '^(aa+)(aa+)(aa+)\1\2\3\3\2\1b*$' long.md", 0.3)


def test_a_program_that_wants_all_memory_fails(view: Sandbox) -> None:
    """By the limit of memory, long before that of time: on a busy machine it takes its time to get there."""
    try:
        said = run(view, "grep -E '((((a{1,255}){1,255}){1,255}){1,255})' deploy.md", PATIENCE_SECONDS).text
    except ToolError as error:
        said = str(error)
    assert "memory" in said.lower()


def test_more_files_than_descriptors_are_searched(view: Sandbox, tmp_path: Path) -> None:
    for number in range(450):
        (tmp_path / f"results/many-{number:03}.txt").write_text(f"needle {number}\n")
    output = run(view, "grep -rh needle results")
    assert output.text.splitlines() == [f"needle {number}" for number in range(450)]


def test_more_than_one_call_may_read_is_not_read(
    view: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bash_tool, "_ALL_FILES_BYTES", 59)
    assert run(view, "grep -rc on .").text.splitlines() == [
        *("deploy.md:1", "results/7.txt:0", "`results/old/6.txt` and what follows was not read: it is too much for one call.")
    ]  # fmt: skip
    (tmp_path / "long.md").write_text("word " * 20)
    with pytest.raises(ToolError, match="too much"):
        run(view, "cat long.md")


def test_nothing_is_left_open(view: Sandbox) -> None:
    def run_some() -> int:
        for command in ("ls -l", "find .", "cat *.md", "grep -r x", "cat nothing", "stat deploy.md", "tail -f x"):
            try:
                run(view, command)
            except ToolError:
                continue
        return len(os.listdir("/dev/fd"))

    assert run_some() == run_some()
