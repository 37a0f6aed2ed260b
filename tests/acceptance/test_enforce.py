"""`memoryd enforce`: shown before it counts, refused where it is not plain, taken back without a trace."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.memory.document import parse
from tests.acceptance.command import as_json, memoryd

if TYPE_CHECKING:
    from memoryd.paths import Paths

FILE = "feedback_never_run_npm_install_here.md"


@pytest.fixture
def project(environment: dict[str, str], tmp_path: Path) -> Path:
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    for words in ("Never run npm install here", "Keep every commit under 200 changed lines"):
        done = memoryd(environment, "remember", "--type", "feedback", "--project", str(place), words)
        assert done.returncode == 0
    return place


def memory(paths: Paths, name: str) -> Path:
    (found,) = Path(paths.transcripts_root).glob(f"*/memory/{name}")
    return found


def test_a_memory_binds_and_binds_no_more(environment: dict[str, str], paths: Paths, project: Path) -> None:
    here = ("--project", str(project))
    file = memory(paths, FILE)
    before, stat = file.read_bytes(), file.stat()
    asked = memoryd(environment, "enforce", "npm_install", *here)
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert file.read_bytes() == before
    done = memoryd(environment, "enforce", "npm_install", "--yes", *here)
    assert (done.returncode, "run `npm install`" in done.stdout) == (0, True)
    assert '  enforce: "run npm install"\n' in file.read_text()
    assert file.stat().st_mtime_ns == stat.st_mtime_ns  # it says what it said
    assert as_json(environment, "status")["rules"]["binding"] == [
        {
            "memory_dir": str(file.parent),
            "file": FILE,
            "refuses": ["run npm install"],
            "asks": [],
            "refused": 0,
            "allowed": 0,
        }
    ]
    assert "It binds (run npm install)" in memoryd(environment, "why", FILE, *here).stdout
    assert memoryd(environment, "enforce", "npm_install", "--off", *here).returncode == 0
    assert file.read_bytes() == before
    assert as_json(environment, "enforce", *here) == []
    assert [change["kind"] for change in as_json(environment, "history", *here)][:2] == ["enforce", "enforce"]


def test_what_is_not_plain_has_to_be_named(environment: dict[str, str], paths: Paths, project: Path) -> None:
    here = ("--project", str(project))
    refused = memoryd(environment, "enforce", "commit", "--yes", *here)
    assert refused.returncode == 2
    assert "--run" in refused.stderr
    file = memory(paths, "*commit*")
    assert "enforce" not in file.read_text()
    for wrong in (("--run", "a;b"), ("--run", " "), ("--edit", ""), ("--edit", "./"), ("--edit", "/")):
        assert memoryd(environment, "enforce", "commit", "--yes", *wrong, *here).returncode == 2
    given = ("--run", "git  commit --no-verify", "--edit", "db/migrations/")
    assert memoryd(environment, "enforce", "commit", "--yes", *given, *here).returncode == 0
    assert 'enforce: "run git commit --no-verify; edit db/migrations/"' in file.read_text()
    (binding,) = as_json(environment, "enforce", *here)
    assert binding["refuses"] == ["run git commit --no-verify", "edit db/migrations/"]
    assert memoryd(environment, "undo", *here).returncode == 0
    assert "enforce" not in file.read_text()


def test_nothing_is_allowed_where_nothing_binds(environment: dict[str, str], project: Path) -> None:
    done = memoryd(environment, "enforce", "npm_install", "--allow-once", "--project", str(project))
    assert done.returncode == 2
    assert "does not bind" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--run", "npm install"),
        ("--edit", "db/"),
        ("--off",),
        ("--allow-once",),
        ("npm_install", "--off", "--run", "npm"),
        ("npm_install", "--session", "s1"),
    ],
)
def test_an_option_that_would_be_left_aside_is_refused(
    environment: dict[str, str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = memoryd(environment, "enforce", "--yes", "--project", str(tmp_path), *options)
    assert done.returncode == 2
    assert "memoryd enforce" in done.stderr


def test_a_file_that_asks_to_be_binding_is_shown_and_binds_when_the_user_says_so(
    environment: dict[str, str], paths: Paths, project: Path
) -> None:
    here = ("--project", str(project))
    file = memory(paths, FILE)
    file.write_bytes(parse(file.read_bytes()).with_value(("metadata", "enforce"), "run npm ci; edit db/").render())
    assert memoryd(environment, "recall", "npm install here", *here).returncode == 0  # which reads it
    asks = f"asks to be binding (run npm ci; edit db/); memoryd enforce {FILE} makes it so"
    assert asks in memoryd(environment, "status").stdout.replace("\n", " ")
    (check,) = [each for each in as_json(environment, "doctor") if each["name"] == "binding"]
    assert (check["verdict"], asks in check["text"]) == ("note", True)
    assert "asks to be binding" in memoryd(environment, "why", FILE, *here).stdout
    assert memoryd(environment, "enforce", FILE, "--allow-once", *here).returncode == 2
    assert as_json(environment, "enforce", *here)[0]["refuses"] == []
    done = memoryd(environment, "enforce", FILE, "--yes", *here)
    assert (done.returncode, "run `npm ci`" in done.stdout) == (0, True)
    assert as_json(environment, "enforce", *here)[0]["refuses"] == ["run npm ci", "edit db/"]
    shutil.rmtree(Path(paths.state_dir, "binding"))  # lost: asked again
    (rule,) = as_json(environment, "enforce", *here)
    assert (rule["refuses"], rule["asks"]) == ([], ["run npm ci", "edit db/"])


def test_what_was_undone_does_not_bind_again_because_somebody_writes_it(
    environment: dict[str, str], paths: Paths, project: Path
) -> None:
    here = ("--project", str(project))
    file = memory(paths, FILE)
    memoryd(environment, "enforce", "npm_install", "--yes", *here)
    bound = file.read_bytes()
    assert memoryd(environment, "undo", *here).returncode == 0
    file.write_bytes(bound)
    (rule,) = as_json(environment, "enforce", *here)
    assert (rule["refuses"], rule["asks"]) == ([], ["run npm install"])
