"""`memoryd hooks` as a user runs it: what the plugin has, and what an older memoryd left in the settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import plugin
from tests.acceptance.command import as_json, memoryd
from tests.clients import old_hooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.paths import Paths

EVENTS = ["UserPromptSubmit", "SessionStart", "Stop", "PreCompact", "SessionEnd"]


@pytest.fixture
def settings(paths: Paths) -> Path:
    """As somebody keeps them who has hooks of another tool."""
    path = Path(paths.claude_settings)
    path.parent.mkdir()
    path.write_bytes(
        b'\xef\xbb\xbf{\r\n    "model": "opus",\r\n    "hooks": {\r\n        "Stop": [\r\n'
        b'            {"hooks": [{"type": "command", "command": "other"}]}\r\n        ]\r\n    }\r\n}'
    )
    return path


def test_hooks_of_an_older_memoryd_are_told_and_removed_to_the_byte(
    environment: dict[str, str], paths: Paths, settings: Path
) -> None:
    before = settings.read_bytes()
    old_hooks.install(paths, sys.executable)
    plugin.install(paths, sys.executable)
    done = memoryd(environment, "hooks", "status")
    assert done.returncode == 3
    assert done.stdout.splitlines() == [
        "plugin            ~/.claude/skills/memoryd",
        *(f"{event:<16}  installed" for event in EVENTS),
        f"~/.claude/settings.json still has those of an older memoryd: Stop, {', '.join(e for e in EVENTS if e != 'Stop')}.",
        "fix: memoryd setup",
    ]
    done = memoryd(environment, "hooks", "remove")
    assert done.stdout.startswith("Took the hooks of memoryd out of ~/.claude/settings.json.")
    assert settings.read_bytes() == before
    assert memoryd(environment, "hooks", "remove").stdout == (
        "There were no hooks of memoryd in ~/.claude/settings.json.\n"
    )
    assert memoryd(environment, "hooks", "status").returncode == 0


def test_without_settings_there_are_none_again_after_removal(environment: dict[str, str], paths: Paths) -> None:
    old_hooks.install(paths, sys.executable)
    done = memoryd(environment, "hooks", "remove")
    assert done.stdout.startswith("Removed ~/.claude/settings.json: nothing but hooks of memoryd was in it.\n")
    assert os.listdir(paths.claude_dir) == []


def test_install_names_the_command_that_does_it(environment: dict[str, str], paths: Paths) -> None:
    done = memoryd(environment, "hooks", "install")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "  fix: memoryd setup")
    assert not os.path.exists(paths.claude_dir)


def test_status_tells_what_is_missing_and_which_python_is_gone(environment: dict[str, str], paths: Paths) -> None:
    assert memoryd(environment, "hooks", "status").returncode == 3
    folder = Path(plugin.install(paths, sys.executable).folder)
    hooks = json.loads((folder / plugin.HOOKS_FILE).read_text())
    del hooks["hooks"]["SessionEnd"]
    hooks["hooks"]["Stop"][0]["hooks"][0]["command"] = "/gone"
    (folder / plugin.HOOKS_FILE).write_text(json.dumps(hooks))
    done = memoryd(environment, "hooks", "status")
    assert done.returncode == 3
    assert done.stdout.splitlines()[3:] == [
        "Stop              outdated, /gone is gone",
        "PreCompact        installed",
        "SessionEnd        missing",
        "fix: memoryd setup",
    ]
    found = as_json(environment, "hooks", "status")
    assert (found["client"], found["file"], found["installed"]) == ("claude-code", str(folder), False)
    assert found["left_in_settings"] == []
    assert [hook for hook in found["hooks"] if hook["state"] != "installed"] == [
        {
            "event": "Stop",
            "state": "outdated",
            "command": "/gone -P -m memoryd hook stop",
            "python": "/gone",
            "python_exists": False,
        },
        {"event": "SessionEnd", "state": "missing", "command": None, "python": None, "python_exists": None},
    ]
    doctor = [check for check in as_json(environment, "doctor", "--offline") if check["name"] == "hooks"]
    assert [(check["verdict"], check["fix"]) for check in doctor] == [("problem", "memoryd setup")]


def test_hooks_that_are_switched_off_are_told(environment: dict[str, str], paths: Paths, settings: Path) -> None:
    settings.write_text('{"disableAllHooks": true}')
    plugin.install(paths, sys.executable)
    by = f"disableAllHooks in {settings}"
    assert as_json(environment, "hooks", "status")["disabled_by"] == by
    status = memoryd(environment, "hooks", "status")
    assert status.returncode == 3
    assert f"Claude Code does not run them: {by}." in status.stdout


def test_a_client_that_nobody_knows_is_a_mistake(environment: dict[str, str], paths: Paths) -> None:
    done = memoryd(environment, "hooks", "remove", "codex")
    assert done.returncode == 2
    assert done.stderr == (
        "memoryd: memoryd has no hooks for 'codex'; it knows claude-code.\n  fix: memoryd hooks remove claude-code\n"
    )
    assert os.listdir(paths.home) == []


def test_settings_that_are_a_link_are_changed_only_when_told(
    environment: dict[str, str], paths: Paths, settings: Path, tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    before = real.read_bytes()
    old_hooks.install(paths, sys.executable)
    done = memoryd(environment, "hooks", "remove")
    assert done.returncode == 1
    assert f"is a link to {real}" in done.stderr
    assert done.stderr.endswith("  fix: memoryd hooks remove claude-code --follow\n")
    assert memoryd(environment, "hooks", "remove", "--follow").returncode == 0
    assert (settings.is_symlink(), real.read_bytes()) == (True, before)


def test_settings_that_are_no_json_stay_and_the_line_is_named(environment: dict[str, str], settings: Path) -> None:
    settings.write_text('{\n  "a": 1,\n}\n')
    for action in ("remove", "status"):
        done = memoryd(environment, "hooks", action)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"memoryd: {settings} is not valid JSON (line 3), so it stays as it is.\n  fix: ${{EDITOR:-vi}} {settings}\n"
        )
    assert settings.read_text() == '{\n  "a": 1,\n}\n'


@pytest.mark.parametrize(
    ("protect", "fix"),
    [
        (lambda settings: settings.chmod(0o444), "chmod u+w {settings}"),
        (lambda settings: settings.parent.chmod(0o555), "chmod u+wx {settings.parent}"),
        (lambda settings: settings.chmod(0), "chmod u+rw {settings}"),
    ],
    ids=["read-only", "folder", "unreadable"],
)
def test_what_the_user_protected_stays(
    environment: dict[str, str], paths: Paths, settings: Path, protect: Callable[[Path], None], fix: str
) -> None:
    old_hooks.install(paths, sys.executable)
    before = settings.read_bytes()
    protect(settings)
    rights = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    done = subprocess.run(
        [*rights, sys.executable, "-m", "memoryd", "hooks", "remove"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    settings.parent.chmod(0o755)
    settings.chmod(0o600)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [f"  fix: {fix.format(settings=settings)}"]
    assert settings.read_bytes() == before


def test_a_hook_of_the_plugin_never_blocks_a_prompt(environment: dict[str, str], paths: Paths, tmp_path: Path) -> None:
    """Nor does it import the project that it is started in."""
    folder = Path(plugin.install(paths, sys.executable).folder)
    (tmp_path / "memoryd").mkdir()
    (tmp_path / "memoryd" / "__main__.py").write_text("raise SystemExit('the project was imported')")
    for event, ((group,)) in json.loads((folder / plugin.HOOKS_FILE).read_text())["hooks"].items():
        (entry,) = group["hooks"]
        told = {"session_id": "s", "transcript_path": "", "cwd": paths.home, "hook_event_name": event, "prompt": "hi"}
        done = subprocess.run(
            [entry["command"], *entry["args"]],
            input=json.dumps(told),
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
