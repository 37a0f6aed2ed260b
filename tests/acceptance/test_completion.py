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


_COMPLETE_IN_FISH = 'source $argv[1]; complete -C "$argv[2]" | string split -f 1 \\t'
_COMPLETE_IN_ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; PROMPT=; echo LOAD''ED"
while zpty -r shell line; do [[ $line == *LOADED* ]] && break; done
zpty -n -w shell "$2"$'\t'
zpty -n -w shell $'\C-a: \n'  # what the line has become, as a command that does nothing
zpty -w shell "fc -ln -1; echo EN''DED"
while zpty -r shell line; do [[ $line == *ENDED* ]] && break; print -r -- "$line"; done
"""


@pytest.fixture
def place(environment: dict[str, str], tmp_path: Path) -> Path:
    """A project with one memory."""
    environment["PATH"] = f"{os.path.dirname(sys.executable)}:{environment['PATH']}"
    found = tmp_path / "shop"
    found.mkdir()
    memoryd(environment, "remember", "always review on paper", "--project", str(found))
    return found


def _output(environment: dict[str, str], place: Path, *command: str) -> str:
    return subprocess.run(
        command, env=environment, cwd=place, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def _shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; fix: apt install {name}")
    return found


def test_bash_completes_commands_options_and_names_of_memories(environment: dict[str, str], place: Path) -> None:
    script = place.with_name("memoryd.bash")
    script.write_text(memoryd(environment, "completion", "bash").stdout)

    def completed(*words: str) -> list[str]:
        return _output(environment, place, "bash", "-c", _COMPLETE, "bash", str(script), "memoryd", *words).split()

    assert completed("forg") == ["forget"]
    assert completed("memories", "--ty") == ["--type"]
    assert completed("memories", "--type", "f") == ["feedback"]
    assert completed("why", "feed") == ["feedback_always_review_on_paper"]


def test_fish_completes_commands_options_and_names_of_memories(environment: dict[str, str], place: Path) -> None:
    fish = _shell("fish")
    script = place.with_name("memoryd.fish")
    script.write_text(memoryd(environment, "completion", "fish").stdout)

    def completed(line: str) -> list[str]:
        return _output(environment, place, fish, "-c", _COMPLETE_IN_FISH, str(script), line).split()

    assert completed("memoryd forg") == ["forget"]
    assert completed("memoryd memories --ty") == ["--type"]
    assert completed("memoryd memories --type f") == ["feedback"]
    assert completed("memoryd why feed") == ["feedback_always_review_on_paper"]


def test_zsh_completes_commands_and_names_of_memories(environment: dict[str, str], place: Path) -> None:
    zsh = _shell("zsh")
    functions = place.with_name("functions")
    functions.mkdir()
    (functions / "_memoryd").write_text(memoryd(environment, "completion", "zsh").stdout)

    def completed(line: str) -> str:
        return _output(environment, place, zsh, "-f", "-c", _COMPLETE_IN_ZSH, "zsh", str(functions), line)

    assert ": memoryd forget" in completed("memoryd forg")
    assert ": memoryd memories --type feedback" in completed("memoryd memories --type f")
    assert ": memoryd why feedback_always_review_on_paper" in completed("memoryd why feed")


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
