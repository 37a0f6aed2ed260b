"""Hooks in the settings of Claude Code, as versions of memoryd before the plugin put them there: what there is to take out."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd import atomic_file
from memoryd.clients.json_entries import SettingsEntry, with_entries

if TYPE_CHECKING:
    from memoryd.paths import Paths


class Hook(NamedTuple):
    event: str
    name: str
    timeout_seconds: int
    """The client's own limit. A prompt waits for its hook, and the end of a session for all of them."""

    def command(self, python: str) -> str:
        return f"{shlex.quote(python)} -P -m memoryd hook {self.name} || true"

    def group(self, python: str) -> dict[str, Any]:
        entry = {"type": "command", "command": self.command(python), "timeout": self.timeout_seconds}
        return {"hooks": [entry]}


HOOKS = (
    Hook("UserPromptSubmit", "user-prompt-submit", 5),
    Hook("SessionStart", "session-start", 5),
    Hook("Stop", "stop", 5),
    Hook("PreCompact", "pre-compact", 2),
    Hook("SessionEnd", "session-end", 2),
)


def with_hooks(text: str, python: str) -> str:
    """With every hook, in a text that has none."""
    return with_entries(text, [SettingsEntry(("hooks", hook.event), hook.group(python)) for hook in HOOKS])


def install(paths: Paths, python: str) -> None:
    """Put the hooks into the settings, and note what was there before, as older versions did."""
    path = os.path.realpath(paths.claude_settings)
    before = None
    if os.path.exists(path):
        with open(path, "rb") as file:
            before = file.read().decode()
    os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
    note = os.path.join(paths.state_dir, "hooks", "claude-code.json")
    notes = {}
    if os.path.exists(note):
        with open(note, "rb") as file:
            notes = json.loads(file.read())
    atomic_file.write(note, json.dumps({**notes, path: before}).encode())
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(with_hooks(before or "", python).encode())
