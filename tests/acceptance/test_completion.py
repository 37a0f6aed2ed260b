"""Completions and the manual page, as a shell and man use them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from memoryd.cli import COMMANDS, command_of
from memoryd.cli.completion import SHELLS
from tests.acceptance.command import memoryd

if TYPE_CHECKING:
    from pathlib import Path

_COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); COMPREPLY=()
$(complete -p memoryd | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
echo "${COMPREPLY[@]}"
"""


def test_bash_completes_commands_options_and_names_of_memories(environment: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "shop"
    place.mkdir()
    memoryd(environment, "remember", "always review on paper", "--project", str(place))
    script = tmp_path / "memoryd.bash"
    script.write_text(memoryd(environment, "completion", "bash").stdout)
    environment = environment | {"PATH": f"{os.path.dirname(sys.executable)}:{environment['PATH']}"}

    def completed(*words: str) -> list[str]:
        command = ["bash", "-c", _COMPLETE, "bash", str(script), "memoryd", *words]
        return subprocess.run(
            command, env=environment, cwd=place, capture_output=True, text=True, check=True
        ).stdout.split()

    assert completed("forg") == ["forget"]
    assert completed("memories", "--ty") == ["--type"]
    assert completed("memories", "--type", "f") == ["feedback"]
    assert completed("why", "feed") == ["feedback_always_review_on_paper"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_the_script_of_every_shell(environment: dict[str, str], shell: str) -> None:
    script = memoryd(environment, "completion", shell).stdout
    assert all(name in script for name in COMMANDS)
    assert "child" not in script.split()
    assert "memoryd completion names" in script
    if program := shutil.which(shell):
        flags = ["-n"] if shell != "fish" else ["--no-execute"]
        assert subprocess.run([program, *flags], input=script, text=True, check=False).returncode == 0


def test_the_manual_page_has_every_command(environment: dict[str, str]) -> None:
    page = memoryd(environment, "completion", "man").stdout
    for name in COMMANDS:
        assert f"\n.B memoryd {name.replace('-', chr(92) + '-')}\n" in page
    if groff := shutil.which("groff"):
        done = subprocess.run([groff, "-man", "-ww", "-Tascii"], input=page, capture_output=True, text=True, check=True)
        assert done.stderr == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_help_stand_on_lines_of_their_own(name: str) -> None:
    """What is not indented is filled: examples would run together."""
    for paragraph in (command_of(name).__doc__ or "").split("\n\n"):
        lines = paragraph.splitlines()
        assert not (len(lines) > 1 and all(line.startswith("memoryd ") for line in lines)), paragraph
