"""What the documents say is what the program does."""

from __future__ import annotations

import argparse
import ast
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_type_hints

import pytest

from bench import scale
from memoryd import __version__, cli
from memoryd.cli import paths as paths_command
from memoryd.cli.dream_now import as_json as dream_as_json
from memoryd.cli.hooks import as_json as hooks_as_json
from memoryd.cli.review import as_json as review_as_json
from memoryd.cli.setup_show import as_json as setup_as_json
from memoryd.cli.status_json import as_json as status_as_json
from memoryd.cli.status_screen import DAMAGE_WORDS
from memoryd.clients.registry import WITH_PLUGIN
from memoryd.clients.settings import HooksState
from memoryd.clock import SystemClock
from memoryd.config import Config, key_names
from memoryd.config.parse import REVIEWS
from memoryd.config.schema import ProjectOptions
from memoryd.diagnosis.status import gather
from memoryd.engines.offline import find
from memoryd.jobs.dream import DreamOutcome
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.exclusion import CoveredTurn
from memoryd.model import HeldGroup, Skip, UserMessage, Wait
from tests.inbox_rows import held, store

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database

ROOT = Path(os.path.dirname(__file__), "..").resolve()
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=ids)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_the_files_and_functions_that_architecture_names_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = re.findall(r"`(memoryd/[\w/]+\.py)(?::(\w+))?`", text)
    assert len(named) > 40
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text())
        defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        assert not name or name in defined, f"{path} has no {name}"


def test_architecture_tells_of_every_folder_and_file_at_the_top() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("## The folders")[2].partition("## The way")[0]
    told = set(re.findall(r"`(\w+(?:/|\.py))`", text))
    folders = {f"{path.parent.name}/" for path in (ROOT / "memoryd").glob("*/__init__.py")}
    files = {path.name for path in (ROOT / "memoryd").glob("*.py") if not path.name.startswith("__")}
    assert folders | files <= told


def test_the_index_of_the_docs_leads_to_every_page() -> None:
    linked = re.findall(r"\]\(([a-z-]+\.md)\)", (ROOT / "docs" / "README.md").read_text())
    assert sorted(linked) == sorted(path.name for path in (ROOT / "docs").glob("[a-z]*.md"))


def test_the_readme_lists_every_command_with_its_help() -> None:
    listed = dict(re.findall(r"^\| `memoryd ([a-z-]+)` \| (.+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert {name: text.removesuffix(", and how to fix it") for name, text in listed.items()} == {
        name: cli.command_of(name).HELP for name in cli.COMMANDS
    }


def test_the_readme_shows_this_version() -> None:
    assert set(re.findall(r"memoryd (\d+\.\d+\.\d+)", (ROOT / "README.md").read_text())) == {__version__}


@pytest.mark.parametrize("screen", ["audit", "setup"])
def test_the_screens_of_the_readme_are_as_they_were_recorded(screen: str) -> None:
    recorded = (ROOT / "docs" / "screens" / f"{screen}.txt").read_text(encoding="utf-8")
    assert f"```console\n{recorded}```\n" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for path in DOCUMENTS:
        for target in re.findall(r"\$ make (\w+)", path.read_text()):
            assert f"\n{target}:" in makefile


@pytest.mark.parametrize("path", DOCUMENTS, ids=ids)
def test_commands_and_keys_that_are_named_exist(path: Path) -> None:
    text = path.read_text()
    commands = set(cli.COMMANDS)
    assert set(re.findall(r"`memoryd ([a-z][a-z-]*)", text)) <= commands
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
    named = {name for kind in (Skip, Wait, CoveredTurn) for name in _literals(kind)}
    assert sorted({*explained, *of_dreams}) == sorted(named)
    assert len(explained) == len(set(explained))
    assert set(of_dreams) <= set(_literals(Wait))


def test_the_gates_of_dreams_are_told_in_their_order(database: Database, paths: Paths) -> None:
    rows = re.findall(r"^\| `\w+` \| (\w+) \|", _document("dream.md"), re.MULTILINE)
    told = list(dict.fromkeys(rows))
    asked = Checks(database, paths, Config(), "/nowhere", 0.0).all()
    assert [name for name in told if name != "lines"] == [gate.name for gate in asked]
    database.execute(
        "INSERT INTO projects (root, slug, memory_dir, first_seen_at, is_shared) VALUES ('/code', '-code', '/nowhere', 0, 0)"
    )
    daily = Config(project={"/code": ProjectOptions(daily_log=True)})
    asked = Checks(database, paths, daily, "/nowhere", 86_400.0).all()
    assert [name for name in told if name not in ("throttle", "sessions")] == [gate.name for gate in asked]


def test_the_defaults_that_dream_md_names_are_those_of_the_config() -> None:
    named = re.findall(r"`(dream|budget)\.(\w+)` \(([\d.]+)", _document("dream.md"))
    assert len(named) == 4
    for table, key, value in named:
        assert getattr(getattr(Config(), table), key) == float(value)


def test_every_state_of_what_a_dream_did_not_do_is_explained() -> None:
    section = _document("dream.md").partition("## What is not done")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| (\w+) \| ", section, re.MULTILINE)
    assert explained == ["verdict", *(state for state in _literals(HeldGroup) if state != "unconfirmed")]


def test_every_field_of_status_and_dreams_is_in_the_contract(paths: Paths) -> None:
    status = status_as_json(gather(paths, Config(), 0.0))
    assert _fields("status") == set(status)
    (parts,) = re.findall(r"^\| `dreams` \| `\{(.+?)\}`", _document("json.md"), re.MULTILINE)
    assert parts.split(", ") == list(status["dreams"])
    assert _fields("dream-now") == set(dream_as_json(DreamOutcome(None, "succeeded")))


def test_every_field_of_the_status_of_hooks_is_in_the_contract(paths: Paths) -> None:
    status = hooks_as_json(WITH_PLUGIN[0], paths, [HooksState("Stop", "missing")], (), "")
    assert _fields("hooks status") == set(status)
    (parts,) = re.findall(r"one entry for each: `\{(.+?)\}`", _document("json.md"))
    assert parts.split(", ") == list(status["hooks"][0])


def test_every_field_of_the_record_of_setup_is_in_the_contract(paths: Paths) -> None:
    context = cli.Context(argparse.Namespace(), paths, Config(), SystemClock(), {})
    assert _fields("setup --show") == set(setup_as_json(context, None))


def test_every_field_of_review_is_in_the_contract(database: Database) -> None:
    both = held()
    two_files = both.group._replace(changes=(*both.group.changes, *held("b.md").group.changes))
    (row,) = store(database, "/memory", both._replace(group=two_files), now=1.0)
    assert _fields("review") == set(review_as_json(row))


def test_the_values_of_review_are_explained() -> None:
    explained = re.findall(r'^\| `"(\w+)"` \|', _document("review.md"), re.MULTILINE)
    assert tuple(explained) == REVIEWS


def test_every_trouble_of_the_daemon_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", _document("status.md"), re.MULTILINE)
    sources = "".join(path.read_text() for path in (ROOT / "memoryd").rglob("*.py"))
    assert sorted(explained) == sorted(set(re.findall(r'Trouble\(\s*"(\w+)"', sources)))


def test_the_examples_of_facts_are_kept_with_their_type() -> None:
    rows = re.findall(r"^\| (user|feedback|project|reference) \| .* \| \"(.+)\" \|$", _extraction(), re.MULTILINE)
    assert len(rows) == 4
    for kind, words in rows:
        (one,) = find([UserMessage("s", "m", 1.8e9, words)]).written
        assert one.reason == "learnt"
        assert (one.type, one.evidence[-1].quote) == (kind, words)


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


def test_the_simulated_figures_of_scale_md_are_those_of_the_simulation() -> None:
    told = (ROOT / "docs/scale.md").read_text().splitlines()
    assert [row for row in (*scale.meeting_rows(), *scale.request_rows()) if row not in told] == []


def test_exit_codes_are_the_same_everywhere() -> None:
    readme = (ROOT / "README.md").read_text()
    codes = re.findall(r"(\d+) (?:ok|failed|usage|not running|busy|key refused|bad config|interrupted)", cli.EPILOG)
    assert codes == ["0", "1", "2", "3", "75", "77", "78", "130"]
    line = readme[readme.index("Exit codes:") :].split("\n\n")[0]
    assert re.findall(r"(?:^|[ ·\n])(\d+) [a-z]", line) == codes
