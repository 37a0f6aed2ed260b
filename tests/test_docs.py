"""What the documents say is what the program does."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from memoryd import __version__, cli
from memoryd.cli import paths as paths_command
from memoryd.cli.status import _DAMAGE_WORDS
from memoryd.config import key_names
from memoryd.engines.offline import find
from memoryd.jobs.exclusion import Covered
from memoryd.model import Finding, Said, Skip, Wait

ROOT = Path(os.path.dirname(__file__), "..").resolve()
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def ids(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", DOCUMENTS, ids=ids)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_the_readme_lists_every_command_with_its_help() -> None:
    listed = dict(re.findall(r"^\| `memoryd ([a-z-]+)` \| (.+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert {name: text.removesuffix(", and how to fix it") for name, text in listed.items()} == {
        command.NAME: command.HELP for command in cli.COMMANDS
    }


def test_the_readme_shows_this_version() -> None:
    assert set(re.findall(r"memoryd (\d+\.\d+\.\d+)", (ROOT / "README.md").read_text())) == {__version__}


def test_the_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for path in DOCUMENTS:
        for target in re.findall(r"\$ make (\w+)", path.read_text()):
            assert f"\n{target}:" in makefile


@pytest.mark.parametrize("path", DOCUMENTS, ids=ids)
def test_commands_and_keys_that_are_named_exist(path: Path) -> None:
    text = path.read_text()
    commands = {command.NAME for command in cli.COMMANDS}
    assert set(re.findall(r"`memoryd ([a-z-]+)", text)) <= commands
    tables = {name.split(".")[0] for name in key_names() if "." in name}
    for key in re.findall(r"`([a-z_]+\.[a-z_]+)`", text):
        if key.split(".")[0] in tables and not key.endswith(".py"):
            assert key in key_names(), key


def test_every_kind_of_damage_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "reading.md").read_text(), re.MULTILINE)
    assert sorted(explained) == sorted(_DAMAGE_WORDS)


def test_every_reason_for_not_working_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", _extraction(), re.MULTILINE)
    named = {name for kind in (Skip, Wait, Covered) for name in _literals(kind)}
    assert sorted(explained) == sorted(named)


def test_the_examples_of_facts_are_kept_with_their_type() -> None:
    rows = re.findall(r"^\| (user|feedback|project|reference) \| .* \| \"(.+)\" \|$", _extraction(), re.MULTILINE)
    assert len(rows) == 4
    for kind, words in rows:
        (one,) = find([Said("s", "m", 1.8e9, words)])
        assert isinstance(one, Finding)
        assert (one.type, one.evidence.quote) == (kind, words)


def _extraction() -> str:
    return (ROOT / "docs" / "extraction.md").read_text()


def _literals(kind: type) -> list[str]:
    """The names that a field of this value type can have."""
    return [name for hint in get_type_hints(kind).values() for name in get_args(hint) if isinstance(name, str)]


def test_every_path_is_in_the_contract() -> None:
    section = (ROOT / "docs" / "json.md").read_text().split("## `memoryd paths --json`")[1].split("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", section)) == set(paths_command.NAMES)


def test_exit_codes_are_the_same_everywhere() -> None:
    readme = (ROOT / "README.md").read_text()
    codes = re.findall(r"(\d+) (?:ok|failed|usage|not running|busy|key refused|bad config|interrupted)", cli.EPILOG)
    assert codes == ["0", "1", "2", "3", "75", "77", "78", "130"]
    line = readme[readme.index("Exit codes:") :].split("\n\n")[0]
    assert re.findall(r"(?:^|[ ·\n])(\d+) [a-z]", line) == codes
