"""`memoryd hooks` as a user runs it, and the commands that it installs as the client's shell runs them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import as_json, memoryd

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.paths import Paths

EVENTS = ["UserPromptSubmit", "SessionStart", "Stop", "SessionEnd"]
UNDO = "New sessions of Claude Code use them. To undo this: memoryd hooks remove\n"


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


def commands(settings: Path) -> dict[str, list[str]]:
    events = json.loads(settings.read_bytes())["hooks"]
    return {
        event: [entry["command"] for group in groups for entry in group["hooks"]] for event, groups in events.items()
    }


def test_install_status_and_remove_leave_the_file_as_it_was(
    environment: dict[str, str], paths: Paths, settings: Path
) -> None:
    before = settings.read_bytes()
    done = memoryd(environment, "hooks", "install")
    first, second = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, UNDO)
    assert first == "Changed ~/.claude/settings.json: 4 hooks of memoryd are in it."
    backup = second.removeprefix("What was in it before: ").replace("~", paths.home)
    assert Path(backup).read_bytes() == before
    assert commands(settings)["Stop"] == ["other", f"{sys.executable} -P -m memoryd hook stop || true"]

    installed = settings.read_bytes()
    again = memoryd(environment, "hooks", "install", "claude-code")
    assert again.stdout == "~/.claude/settings.json has all 4 hooks already, and stays as it is.\n"
    assert settings.read_bytes() == installed

    done = memoryd(environment, "hooks", "status")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "settings          ~/.claude/settings.json",
        *(f"{event:<16}  installed" for event in EVENTS),
    ]

    done = memoryd(environment, "hooks", "remove")
    assert done.stdout.startswith("Took the hooks of memoryd out of ~/.claude/settings.json.")
    assert settings.read_bytes() == before
    assert (
        memoryd(environment, "hooks", "remove").stdout == "There were no hooks of memoryd in ~/.claude/settings.json.\n"
    )
    assert os.listdir(settings.parent) == ["settings.json"]


def test_without_settings_there_are_none_again_after_removal(environment: dict[str, str], paths: Paths) -> None:
    assert memoryd(environment, "hooks", "install").stdout.startswith("Made ~/.claude/settings.json: 4 hooks")
    done = memoryd(environment, "hooks", "remove")
    assert done.stdout.startswith("Removed ~/.claude/settings.json: nothing but hooks of memoryd was in it.\n")
    assert os.listdir(paths.claude_dir) == []


def test_status_tells_what_is_missing_and_which_python_is_gone(environment: dict[str, str], settings: Path) -> None:
    assert memoryd(environment, "hooks", "status").returncode == 3
    memoryd(environment, "hooks", "install")
    events = json.loads(settings.read_bytes())
    del events["hooks"]["SessionEnd"]
    settings.write_text(
        json.dumps(events).replace(f"{sys.executable} -P -m memoryd hook stop", "/gone -m memoryd hook stop")
    )
    done = memoryd(environment, "hooks", "status")
    assert done.returncode == 3
    assert done.stdout.splitlines()[3:] == [
        "Stop              outdated, /gone is gone",
        "SessionEnd        missing",
        "fix: memoryd hooks install",
    ]
    found = as_json(environment, "hooks", "status")
    assert (found["client"], found["file"], found["installed"]) == ("claude-code", str(settings), False)
    assert found["hooks"][2:] == [
        {
            "event": "Stop",
            "state": "outdated",
            "command": "/gone -m memoryd hook stop || true",
            "python": "/gone",
            "python_exists": False,
        },
        {"event": "SessionEnd", "state": "missing", "command": None, "python": None, "python_exists": None},
    ]
    doctor = [check for check in as_json(environment, "doctor", "--offline") if check["name"] == "hooks"]
    assert [(check["verdict"], check["fix"]) for check in doctor] == [("problem", "memoryd hooks install")]
    assert memoryd(environment, "hooks", "install").returncode == 0
    assert as_json(environment, "hooks", "status")["installed"] is True


def test_hooks_that_are_switched_off_are_installed_and_that_is_said(
    environment: dict[str, str], settings: Path
) -> None:
    settings.write_text('{"disableAllHooks": true}')
    done = memoryd(environment, "hooks", "install")
    by = f"disableAllHooks in {settings}"
    told = f"Claude Code will not run them: {by}.\nTo undo this: memoryd hooks remove\n"
    assert (done.returncode, done.stderr) == (0, told)
    assert as_json(environment, "hooks", "status")["disabled_by"] == by
    status = memoryd(environment, "hooks", "status")
    assert status.returncode == 3
    assert f"Claude Code does not run them: {by}." in status.stdout


def test_a_client_that_nobody_knows_is_a_mistake(environment: dict[str, str], paths: Paths) -> None:
    done = memoryd(environment, "hooks", "install", "codex")
    assert done.returncode == 2
    assert done.stderr == (
        "memoryd: memoryd has no hooks for 'codex'; it knows claude-code.\n  fix: memoryd hooks install claude-code\n"
    )
    assert os.listdir(paths.home) == []


def test_settings_that_are_a_link_are_changed_only_when_told(
    environment: dict[str, str], settings: Path, tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    before = real.read_bytes()
    done = memoryd(environment, "hooks", "install")
    assert done.returncode == 1
    assert f"is a link to {real}" in done.stderr
    assert done.stderr.endswith("  fix: memoryd hooks install claude-code --follow\n")
    assert memoryd(environment, "hooks", "install", "claude-code", "--follow").returncode == 0
    assert (settings.is_symlink(), memoryd(environment, "hooks", "status").returncode) == (True, 0)
    assert memoryd(environment, "hooks", "remove", "--follow").returncode == 0
    assert (settings.is_symlink(), real.read_bytes()) == (True, before)


def test_settings_that_are_no_json_stay_and_the_line_is_named(environment: dict[str, str], settings: Path) -> None:
    settings.write_text('{\n  "a": 1,\n}\n')
    for action in ("install", "remove", "status"):
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
    environment: dict[str, str], settings: Path, protect: Callable[[Path], None], fix: str
) -> None:
    before = settings.read_bytes()
    protect(settings)
    rights = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    done = subprocess.run(
        [*rights, sys.executable, "-m", "memoryd", "hooks", "install"],
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


@pytest.mark.parametrize("python", ["/gone/python", sys.executable])
def test_an_installed_hook_never_blocks_a_prompt(
    environment: dict[str, str], paths: Paths, settings: Path, tmp_path: Path, python: str
) -> None:
    """Also where the Python is gone, or memoryd is one that does not know this hook; nor does it import the project."""
    memoryd(environment, "hooks", "install")
    (tmp_path / "memoryd").mkdir()
    (tmp_path / "memoryd" / "__main__.py").write_text("raise SystemExit('the project was imported')")
    for event, (*_, command) in commands(settings).items():
        assert shlex.split(command)[:4] == [sys.executable, "-P", "-m", "memoryd"]
        told = {
            "session_id": "s",
            "transcript_path": "",
            "cwd": paths.home,
            "hook_event_name": event,
            "prompt": "hello",
        }
        done = subprocess.run(
            ["sh", "-c", command.replace(sys.executable, python)],
            input=json.dumps(told),
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0
        assert "the project was imported" not in done.stderr
