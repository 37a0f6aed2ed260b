"""Settings of Claude Code: who says what, and whose word counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import settings as client_settings
from memoryd.clients.settings import ClientSettings, Switch
from tests.clients.user_settings import set_client

if TYPE_CHECKING:
    from memoryd.paths import Paths


def test_what_the_client_is_set_to_do(paths: Paths, tmp_path: Path) -> None:
    managed = tmp_path / "managed"
    (managed / "managed-settings.d").mkdir(parents=True)
    (managed / "managed-settings.json").write_text('{"cleanupPeriodDays": 7, "autoDreamEnabled": true}')
    (managed / "managed-settings.d" / "10-ours.json").write_text('{"cleanupPeriodDays": 9}')
    (managed / "managed-settings.d" / "20-broken.json").write_text("{")
    hook = {"hooks": [{"type": "command", "command": "bun", "args": ["/x/claude-mem/worker.js"]}]}
    set_client(
        paths,
        cleanupPeriodDays=99,
        autoMemoryEnabled=True,
        env={"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"},
        hooks={"Stop": [hook], "SessionStart": "nonsense"},
        enabledPlugins={"a@b": True, "c@d": False},
    )
    Path(paths.home, ".claude.json").write_text('{"mcpServers": {"mem": {"command": "npx", "args": ["mem0"]}}}')
    pieces = managed / "managed-settings.d"
    assert client_settings.read_settings(paths, {}, str(managed)) == ClientSettings(
        auto_memory=Switch(False, f"CLAUDE_CODE_DISABLE_AUTO_MEMORY in {paths.claude_settings}"),
        auto_dream=Switch(True, f"autoDreamEnabled in {managed / 'managed-settings.json'}"),
        cleanup_days=9.0,
        cleanup_by=str(pieces / "10-ours.json"),
        writes_transcripts=Switch(True),
        hooks=("bun /x/claude-mem/worker.js",),
        plugins=("a@b",),
        servers=("mem npx mem0",),
        broken=(str(pieces / "20-broken.json"),),
    )


@pytest.mark.parametrize(
    ("variable", "setting", "expected"),
    [(None, None, None), (None, False, False), ("1", True, False), ("0", False, True), ("", False, False)],
)
def test_the_variable_beats_the_setting(
    paths: Paths, tmp_path: Path, variable: str | None, setting: bool | None, expected: bool | None
) -> None:
    set_client(paths, **({} if setting is None else {"autoMemoryEnabled": setting}))
    environment = {} if variable is None else {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": variable}
    assert client_settings.read_settings(paths, environment, str(tmp_path)).auto_memory.is_on is expected


def test_who_switches_hooks_off_is_named(paths: Paths, tmp_path: Path) -> None:
    managed = tmp_path / "managed-settings.json"

    def off() -> Switch:
        return client_settings.read_settings(paths, {}, str(tmp_path)).hooks_off

    set_client(paths, allowManagedHooksOnly=True)
    assert off() == Switch(None)  # that is not for users to say
    set_client(paths, disableAllHooks=True)
    assert off() == Switch(True, f"disableAllHooks in {paths.claude_settings}")
    managed.write_text('{"disableAllHooks": false, "allowManagedHooksOnly": true}')
    assert off() == Switch(True, f"allowManagedHooksOnly in {managed}")
    managed.write_text('{"disableAllHooks": true}')
    assert off() == Switch(True, f"disableAllHooks in {managed}")
