"""What the documents say is what the program does."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_type_hints

import pytest

from memoryd import __version__, cli
from memoryd.cli import paths as paths_command
from memoryd.cli.dream_now import as_json as dream_as_json
from memoryd.cli.hooks import as_json as hooks_as_json
from memoryd.cli.status_json import as_json as status_as_json
from memoryd.cli.status_screen import DAMAGE_WORDS
from memoryd.clients.claude_code_hooks import Standing
from memoryd.config import Config, key_names
from memoryd.engines.offline import find
from memoryd.engines.selfcheck import Fate
from memoryd.jobs.dream import Dreamt
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.exclusion import Covered
from memoryd.model import Finding, Said, Skip, Wait
from memoryd.status import gather

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database

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
        name: cli.command_of(name).HELP for name in cli.COMMANDS
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
    commands = set(cli.COMMANDS)
    assert set(re.findall(r"`memoryd ([a-z-]+)", text)) <= commands
    tables = {name.split(".")[0] for name in key_names() if "." in name}
    for key in re.findall(r"`([a-z_]+\.[a-z_]+)`", text):
        if key.split(".")[0] in tables and not key.endswith(".py"):
            assert key in key_names(), key


def test_every_kind_of_damage_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "reading.md").read_text(), re.MULTILINE)
    assert sorted(explained) == sorted(DAMAGE_WORDS)


def test_every_reason_for_not_working_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", _extraction(), re.MULTILINE)
    of_dreams = re.findall(r"^\| `(\w+)` \| \w+ \|", _document("dream.md"), re.MULTILINE)
    named = {name for kind in (Skip, Wait, Covered) for name in _literals(kind)}
    assert sorted({*explained, *of_dreams}) == sorted(named)
    assert len(explained) == len(set(explained))
    assert set(of_dreams) <= set(_literals(Wait))


def test_the_gates_of_dreams_are_told_in_their_order(database: Database, paths: Paths) -> None:
    rows = re.findall(r"^\| `\w+` \| (\w+) \|", _document("dream.md"), re.MULTILINE)
    asked = Checks(database, paths, Config(), "/nowhere", 0.0).all()
    assert list(dict.fromkeys(rows)) == [gate.name for gate in asked]


def test_the_defaults_that_dream_md_names_are_those_of_the_config() -> None:
    named = re.findall(r"`(dream|budget)\.(\w+)` \(([\d.]+)", _document("dream.md"))
    assert len(named) == 4
    for table, key, value in named:
        assert getattr(getattr(Config(), table), key) == float(value)


def test_every_fate_is_explained() -> None:
    explained = re.findall(r"^\| (\w+) \| ", _document("dream.md").partition("## The self-check")[2], re.MULTILINE)
    assert explained[0] == "fate"
    assert sorted(explained[1:]) == sorted(_literals(Fate))


def test_every_field_of_status_and_dreams_is_in_the_contract(paths: Paths) -> None:
    status = status_as_json(gather(paths, Config(), 0.0))
    assert _fields("status") == set(status)
    (parts,) = re.findall(r"^\| `dreams` \| `\{(.+?)\}`", _document("json.md"), re.MULTILINE)
    assert parts.split(", ") == list(status["dreams"])
    assert _fields("dream-now") == set(dream_as_json(Dreamt(None, "succeeded")))


def test_every_field_of_the_status_of_hooks_is_in_the_contract() -> None:
    status = hooks_as_json("/s", [Standing("Stop", "missing")], "")
    assert _fields("hooks status") == set(status)
    (parts,) = re.findall(r"one entry for each: `\{(.+?)\}`", _document("json.md"))
    assert parts.split(", ") == list(status["hooks"][0])


def test_every_trouble_of_the_daemon_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", _document("status.md"), re.MULTILINE)
    sources = "".join(path.read_text() for path in (ROOT / "memoryd").rglob("*.py"))
    assert sorted(explained) == sorted(set(re.findall(r'Trouble\(\s*"(\w+)"', sources)))


def test_the_examples_of_facts_are_kept_with_their_type() -> None:
    rows = re.findall(r"^\| (user|feedback|project|reference) \| .* \| \"(.+)\" \|$", _extraction(), re.MULTILINE)
    assert len(rows) == 4
    for kind, words in rows:
        (one,) = find([Said("s", "m", 1.8e9, words)])
        assert isinstance(one, Finding)
        assert (one.type, one.evidence.quote) == (kind, words)


def _extraction() -> str:
    return _document("extraction.md")


def _document(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def _fields(command: str) -> set[str]:
    """The fields in the first table of a command's section of the contract."""
    section = _document("json.md").split(f"## `memoryd {command} --json`")[1].split("\n## ")[0]
    table = section.partition("| field | what |")[2].partition("\n\n")[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


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
