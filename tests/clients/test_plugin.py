"""The plugin's folder in Claude Code's directory: there whole, or not at all, and never somebody else's."""

from __future__ import annotations

import json
import os
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd import __version__
from memoryd.clients.claude_code.plugin import (
    HOOKS_FILE,
    MANIFEST,
    SERVERS_FILE,
    SOURCE,
    install,
    plugin_files,
    plugin_folder,
    plugin_state,
    set_call_hook,
)
from memoryd.errors import ClientError
from memoryd.setup.take_back import _remove_plugin

if TYPE_CHECKING:
    from memoryd.paths import Paths

PYTHON = "/opt/my memoryd/bin/python"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(paths: Paths) -> Path:
    return Path(plugin_folder(paths))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def removed(folder: Path) -> list[str]:
    """As uninstall takes it away: by its own record of the names."""
    return _remove_plugin(str(folder), list(plugin_files(("memoryd",))))


def test_the_folder_of_the_package_is_the_same_plugin_with_the_command_from_the_path() -> None:
    assert contents(Path(SOURCE)) == plugin_files(("memoryd",))
    assert json.loads((Path(SOURCE) / MANIFEST).read_text())["version"] == __version__
    (plugin,) = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())["plugins"]
    assert (ROOT / plugin["source"]).resolve() == Path(SOURCE).resolve()


def test_hooks_and_server_are_run_without_a_shell_by_this_python(paths: Paths, folder: Path) -> None:
    install(paths, PYTHON)
    hooks = json.loads((folder / HOOKS_FILE).read_text())["hooks"]
    assert hooks["SessionEnd"] == [
        {
            "hooks": [
                {
                    "type": "command",
                    "command": PYTHON,
                    "args": ["-P", "-m", "memoryd", "hook", "session-end"],
                    "timeout": 2,
                }
            ]
        }
    ]
    servers = json.loads((folder / SERVERS_FILE).read_text())["mcpServers"]
    assert servers == {"memoryd": {"command": PYTHON, "args": ["-P", "-m", "memoryd", "mcp"]}}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_twice_is_once_and_an_upgrade_takes_away_what_it_no_longer_has(paths: Paths, folder: Path) -> None:
    install(paths, PYTHON)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    install(paths, PYTHON)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    (folder / "skills/old").mkdir()
    (folder / "skills/old/SKILL.md").write_text("of an earlier version")
    (folder / "skills/dream/SKILL.md").write_text("of an earlier version")
    assert plugin_state(paths, PYTHON) == "outdated"
    install(paths, PYTHON, ["skills/old/SKILL.md", MANIFEST])
    assert contents(folder) == plugin_files((PYTHON, "-P", "-m", "memoryd"))
    assert not (folder / "skills/old").exists()


@pytest.mark.parametrize("name", ["SKILL.md", "hooks/mine.json"])
def test_a_folder_that_memoryd_did_not_make_stays_as_it_is(paths: Paths, folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("mine")
    with pytest.raises(ClientError, match="did not put there"):
        install(paths, PYTHON)
    assert contents(folder) == {name: b"mine"}


def test_a_link_is_not_followed(paths: Paths, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder.parent.mkdir(parents=True)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ClientError):
        install(paths, PYTHON)
    assert os.listdir(tmp_path / "elsewhere") == []
    assert removed(folder) == []


def test_what_somebody_put_beside_ours_is_left(paths: Paths, folder: Path) -> None:
    install(paths, PYTHON)
    (folder / "skills/mine").mkdir()
    (folder / "skills/mine/SKILL.md").write_text("mine")
    assert removed(folder) == [f"{folder} holds something that is not memoryd's, which stays."]
    assert contents(folder) == {"skills/mine/SKILL.md": b"mine"}


def test_what_a_killed_process_left_is_finished_or_taken_away(paths: Paths, folder: Path) -> None:
    """The manifest is not there yet, so the client sees no plugin."""
    (folder / "hooks").mkdir(parents=True)
    (folder / "hooks/.hooks.json.new").write_text("{")
    (folder / ".mcp.json").write_text("{}")
    assert plugin_state(paths, PYTHON) == "missing"
    assert removed(folder) == [f"Removed the plugin {folder}."]
    assert not folder.exists()
    (folder / "hooks").mkdir(parents=True)
    (folder / "hooks/.hooks.json.new").write_text("{")
    install(paths, PYTHON)
    assert contents(folder) == plugin_files((PYTHON, "-P", "-m", "memoryd"))
    removed(folder)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_a_sentence(paths: Paths) -> None:
    Path(paths.claude_dir).mkdir()
    Path(paths.claude_dir, "skills").write_text("a file")
    with pytest.raises(ClientError, match="cannot be written"):
        install(paths, PYTHON)


def test_the_hook_before_calls_comes_and_goes_and_nothing_else_changes(paths: Paths, folder: Path) -> None:
    install(paths, PYTHON)
    before = contents(folder)
    assert set_call_hook(paths, is_wanted=True)
    hooks = json.loads((folder / HOOKS_FILE).read_text())["hooks"]
    assert hooks["PreToolUse"][0]["matcher"] == "Bash|Edit|Write|MultiEdit|NotebookEdit"
    assert hooks["PreToolUse"][0]["hooks"][0]["args"][-1] == "pre-tool-use"
    assert plugin_state(paths, PYTHON) == "installed"
    assert install(paths, PYTHON).before == "installed"  # setup again leaves it
    assert set_call_hook(paths, is_wanted=False)
    assert contents(folder) == before
    set_call_hook(paths, is_wanted=True)
    assert removed(folder) == [f"Removed the plugin {folder}."]
    assert not folder.exists()


def test_hooks_that_somebody_has_changed_or_taken_away_stay_so(paths: Paths, folder: Path) -> None:
    assert not set_call_hook(paths, is_wanted=True)
    assert not folder.exists()
    install(paths, PYTHON)
    (folder / HOOKS_FILE).write_text((folder / HOOKS_FILE).read_text() + " ")
    assert not set_call_hook(paths, is_wanted=True)
    install(paths, PYTHON)
    (folder / MANIFEST).unlink()  # uninstall has begun
    assert not set_call_hook(paths, is_wanted=True)


def test_uninstall_and_a_change_of_the_hooks_at_once_leave_nothing(paths: Paths, folder: Path) -> None:
    fork = get_context("fork")
    for _ in range(15):
        install(paths, PYTHON)
        setting = fork.Process(target=partial(set_call_hook, paths, is_wanted=True))
        setting.start()
        removed(folder)
        setting.join()
        assert not (folder / MANIFEST).exists()
        removed(folder)  # what was written behind its back is no plugin, and goes with the next
        assert not folder.exists()
