"""From nothing to a memory in the real client's request: the built wheel, `memoryd setup`, a session; and all of it back."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from tests.acceptance.client import Client, Model, words_of
from tests.messages_server import Reply, text

if TYPE_CHECKING:
    from tests.messages_server import Request

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 300
SAID = "Never push to main without asking, because every push deploys."
KEPT = "Never push to main without asking"
OF_THE_CLIENT = (".claude.json", ".claude/", ".cache/", ".local/share/claude", ".local/state/claude", ".npm")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the files that are there, without fetching anything."""
    place = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", place, ROOT],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    (found,) = place.glob("memoryd-*.whl")
    return found


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed program, in an environment of its own that borrows what it depends on, as the network would give it."""
    place = tmp_path_factory.mktemp("tool")
    venv.create(place)
    pip = (sys.executable, "-m", "pip", "--python", place / "bin" / "python")
    subprocess.run([*pip, "install", "--quiet", "--no-deps", wheel], check=True, timeout=PATIENCE_SECONDS)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return place / "bin" / "memoryd"


def test_everything_that_setup_needs_is_inside(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    plugin = "memoryd/clients/claude_code/plugin"
    assert {
        f"{plugin}/.claude-plugin/plugin.json",
        f"{plugin}/.mcp.json",
        f"{plugin}/hooks/hooks.json",
        *(f"{plugin}/skills/{skill}/SKILL.md" for skill in ("remember", "forget", "dream", "memory")),
        "memoryd/service/memoryd.service",
        "memoryd/service/local.memoryd.plist",
        "memoryd/setup/take_back.py",
        *(f"memoryd/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
    } <= names


def listing(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): sha256(path.read_bytes()).hexdigest()
        for path in home.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_two_commands_lead_from_nothing_to_a_memory_in_the_request(
    environment: dict[str, str], command: Path, tmp_path: Path
) -> None:
    home, project = Path(environment["HOME"]), tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    plain = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [command, *arguments],
            env=plain,
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def agree(_request: Request) -> Reply:
        return Reply(text("Understood."))

    with Model(agree) as model:
        client = Client(str(home), project, model)
        client.ask(SAID)  # before there was a memoryd
        before = listing(home)
        assert "Kept 1 memory" in run("setup", "--yes")
        hooks = home / ".claude/skills/memoryd/hooks/hooks.json"
        assert os.path.dirname(command) in hooks.read_text()
        client.ask("What do I have to know before I push?")
        words = words_of(model.requests[-1])
        assert any(KEPT in line for line in words if line.startswith("- ["))  # the index, which the client loads
        assert any(line.startswith("### feedback_never_push") for line in words)  # the memory, with the prompt
        assert any("What this user told their coding agents" in line for line in words)  # the server's instructions
    run("uninstall", "--purge", "--yes")
    after = listing(home)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert not [name for name in changed if not name.startswith(OF_THE_CLIENT)]
    assert not [name for name in after if "memoryd" in name and "mcp-logs" not in name]
    assert not list(home.rglob("memory/*.md"))
