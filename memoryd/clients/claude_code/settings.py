"""Settings of Claude Code: its own memory and dreams, when it deletes transcripts, who else uses its hooks.

Read, never written: memoryd does not turn off a client's own memory (`settings_file.py` puts hooks in, when asked).
Settings of single projects are not looked at.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

from memoryd.clients.settings import ClientSettings, Switch
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.paths import Paths

DEFAULT_CLEANUP_DAYS = 30.0
MANAGED = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
_MOST_BYTES = 16 << 20
"""The file with the client's own state grows to megabytes."""
_MOST_HOOKS = 200
_DISABLE_MEMORY = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_MEMORY_DIR = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
_NO_TRANSCRIPTS = "CLAUDE_CODE_SKIP_PROMPT_HISTORY"
_TRUE = ("1", "true", "yes", "on")


class _File(NamedTuple):
    path: str
    values: Mapping[str, Any]


def read_settings(paths: Paths, environment: Mapping[str, str], managed_dir: str = MANAGED) -> ClientSettings:
    """Put together what managed settings, the user's and the environment say; the first that says something counts."""
    broken: list[str] = []
    files = [
        _File(path, values)
        for path in (*_managed_files(managed_dir), paths.claude_settings)
        if (values := _json(path, broken)) is not None
    ]
    state = next((values for path in _state_files(paths) if (values := _json(path, broken)) is not None), {})
    cleanup, cleanup_by = DEFAULT_CLEANUP_DAYS, ""
    for path, values in files:
        days = values.get("cleanupPeriodDays")
        if isinstance(days, int | float) and not isinstance(days, bool):
            cleanup, cleanup_by = float(days), path
            break
    return ClientSettings(
        _auto_memory(files, environment),
        _setting(files, "autoDreamEnabled"),
        cleanup,
        cleanup_by,
        _transcripts(files, environment),
        tuple(hook for file in files for hook in _hooks(file.values))[:_MOST_HOOKS],
        tuple(
            dict.fromkeys(name for file in files for name, on in _table(file.values, "enabledPlugins") if on is True)
        ),
        tuple(_servers(state)),
        tuple(broken),
        _hooks_off(files, paths.claude_settings),
        environment.get(_MEMORY_DIR),
    )


def _managed_files(directory: str) -> Iterator[str]:
    """A file of its own, and pieces beside it, of which later ones weigh more."""
    pieces = os.path.join(directory, "managed-settings.d")
    try:
        names = sorted((name for name in os.listdir(pieces) if name.endswith(".json")), reverse=True)
    except OSError:
        names = []
    for name in names:
        yield os.path.join(pieces, name)
    yield os.path.join(directory, "managed-settings.json")


def _state_files(paths: Paths) -> Iterator[str]:
    """Where the client keeps the user's MCP servers: beside its directory, or inside one that was moved."""
    yield os.path.join(paths.claude_dir, ".claude.json")
    yield os.path.join(paths.home, ".claude.json")


def _json(path: str, broken: list[str]) -> Mapping[str, Any] | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            data = file.read(_MOST_BYTES)
        values = json.loads(data) if data.strip() else {}
    except (OSError, ValueError, RecursionError):
        broken.append(path)
        return None
    return values if isinstance(values, dict) else None


def _auto_memory(files: list[_File], environment: Mapping[str, str]) -> Switch:
    """The variable wins over the setting; it may stand in the settings' own `env` table."""
    disabled = _variable(files, environment, _DISABLE_MEMORY)
    if disabled.by:
        return Switch(not disabled.is_on, disabled.by)
    return _setting(files, "autoMemoryEnabled")


def _transcripts(files: list[_File], environment: Mapping[str, str]) -> Switch:
    skipped = _variable(files, environment, _NO_TRANSCRIPTS)
    return Switch(not skipped.is_on, skipped.by)


def _setting(files: list[_File], key: str) -> Switch:
    for path, values in files:
        if isinstance(values.get(key), bool):
            return Switch(values[key], f"{key} in {path}")
    return Switch(None)


def _variable(files: list[_File], environment: Mapping[str, str], name: str) -> Switch:
    for path, values in files:
        for key, value in _table(values, "env"):
            if key == name:
                return Switch(str(value).lower() in _TRUE, f"{name} in {path}")
    if environment.get(name):
        return Switch(environment[name].lower() in _TRUE, f"{name} in the environment")
    return Switch(None)


def _table(values: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    table = values.get(key)
    return list(table.items()) if isinstance(table, dict) else []


def _hooks(values: Mapping[str, Any]) -> Iterator[str]:
    for _, matchers in _table(values, "hooks"):
        for matcher in matchers if isinstance(matchers, list) else []:
            entries = matcher.get("hooks") if isinstance(matcher, dict) else None
            for entry in entries if isinstance(entries, list) else []:
                if isinstance(entry, dict):
                    yield _command(entry)


def _hooks_off(files: list[_File], users: str) -> Switch:
    """By a switch that anybody has, or by one that only managed settings have."""
    managed = [file for file in files if file.path != users]
    switches = (_setting(files, "disableAllHooks"), _setting(managed, "allowManagedHooksOnly"))
    return next((switch for switch in switches if switch.is_on), Switch(None))


def _servers(state: Mapping[str, Any]) -> Iterator[str]:
    for name, entry in _table(state, "mcpServers"):
        yield f"{name} {_command(entry) if isinstance(entry, dict) else ''}".rstrip()


def _command(entry: Mapping[str, Any]) -> str:
    arguments = entry.get("args")
    words = [entry.get("command"), entry.get("url"), *(arguments if isinstance(arguments, list) else [])]
    return " ".join(word for word in words if isinstance(word, str))
