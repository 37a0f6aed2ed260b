"""Codex's connection to memoryd: hooks in `hooks.json`, the MCP server in `config.toml`, and whether the hooks are trusted.

Codex runs a hook only once the user has trusted it, and notes the hash of each in `config.toml`. A new or changed one is passed
over without a word.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from typing import TYPE_CHECKING, Any

from memoryd.clients.connections import ClientPiece, Obstacle, hook_places, toml_in
from memoryd.clients.hook_dialect import server_entry
from memoryd.clients.json_entries import SERVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.clients.json_entries import SettingsEntry

_TABLE = f"mcp_servers.{SERVER}"


def pieces(home: str, hooks: tuple[SettingsEntry, ...], python: str) -> tuple[ClientPiece, ...]:
    hooks_file = os.path.join(home, "hooks.json")
    server = server_entry(python)
    # A string of JSON is one of TOML, but for a letter that TOML wants to be escaped.
    lines = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in server.items())
    table = f"[{_TABLE}]\n{lines}".replace("\x7f", "\\u007f")
    return (
        ClientPiece(hooks_file, "json", "hooks", hooks),
        ClientPiece(
            os.path.join(home, "config.toml"), "toml", "MCP server", text=table, table=_TABLE, trusts=hooks_file
        ),
    )


def obstacle(home: str, hooks: Sequence[SettingsEntry]) -> Obstacle | None:
    """Why Codex passes over the hooks: they are switched off, or not trusted as they are now."""
    file = os.path.join(home, "config.toml")
    config = toml_in(file)
    features = config.get("features")
    if isinstance(features, dict) and False in (features.get("hooks"), features.get("codex_hooks")):
        return Obstacle(
            f"Codex runs no hooks: they are off in {file}, [features]", f"${{EDITOR:-vi}} {shlex.quote(file)}"
        )
    state = config.get("hooks", {})
    state = state.get("state") if isinstance(state, dict) else None
    if all(_is_trusted(state, key, wanted) for key, wanted in _trusted(home, hooks)):
        return None
    sentence = (
        "Codex runs memoryd's hooks only once you trust them: start codex, type /hooks, and trust those of memoryd"
    )
    return Obstacle(sentence, "codex")


def _trusted(home: str, hooks: Sequence[SettingsEntry]) -> list[tuple[str, str]]:
    """The key of each hook in Codex's notes, and the hash that stands there if it is trusted."""
    file = os.path.join(home, "hooks.json")
    wanted = {entry.way[1]: entry.value for entry in hooks}
    return [
        (f"{file}:{_snake(event)}:{group}:{at}", _hash(event, wanted[event]))
        for event, group, at in hook_places(file)
        if event in wanted
    ]


def _is_trusted(state: Any, key: str, wanted: str) -> bool:
    noted = state.get(key) if isinstance(state, dict) else None
    return isinstance(noted, dict) and noted.get("trusted_hash") == wanted and noted.get("enabled") is not False


def _hash(event: str, group: dict[str, Any]) -> str:
    """As Codex makes it: of the hook's meaning, not of its spelling."""
    (entry,) = group["hooks"]
    meaning = {**group, "event_name": _snake(event), "hooks": [{**entry, "async": False}]}
    text = json.dumps(meaning, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
