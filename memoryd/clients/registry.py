"""All clients that memoryd knows, and what is asked of all of them together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.aider import AiderClient
from memoryd.clients.codex import CodexClient
from memoryd.clients.copilot_cli import CopilotClient
from memoryd.clients.gemini_cli import GeminiClient
from memoryd.clients.goose import GooseClient
from memoryd.clients.memory_reader import CLAUDE_CODE, MEMORY_READER
from memoryd.clients.opencode import OpencodeClient
from memoryd.clients.pi import PiClient
from memoryd.clients.qwen_code import QwenCodeClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.clients.base import CodingClient, ConnectedClient, HookClient, PluginClient
    from memoryd.model import Found
    from memoryd.paths import Paths

_CODEX, _GEMINI, _QWEN, _COPILOT = CodexClient(), GeminiClient(), QwenCodeClient(), CopilotClient()
_PI, _OPENCODE = PiClient(), OpencodeClient()

ALL: tuple[CodingClient, ...] = (
    CLAUDE_CODE,
    _CODEX,
    _GEMINI,
    _QWEN,
    _COPILOT,
    _PI,
    _OPENCODE,
    GooseClient(),
    AiderClient(),
)
WITH_HOOKS: tuple[HookClient, ...] = (CLAUDE_CODE, _CODEX, _GEMINI, _QWEN, _COPILOT, _PI, _OPENCODE)
"""The first is meant where a hook does not say whose it is."""
WITH_PLUGIN: tuple[PluginClient, ...] = (CLAUDE_CODE,)
CONNECTED: tuple[ConnectedClient, ...] = (_CODEX, _GEMINI, _QWEN, _COPILOT, _PI, _OPENCODE)


def client_named(name: str) -> CodingClient:
    """Raises KeyError."""
    return {client.name: client for client in ALL}[name]


def title_of(name: str) -> str:
    """The title of a client; its name where only a later memoryd knows it."""
    return next((client.title for client in ALL if client.name == name), name)


def present_clients(paths: Paths) -> list[CodingClient]:
    """Those that have a place for sessions on this machine: somebody has used them here."""
    return [client for client in ALL if _is_present(client, paths)]


def is_another_used(paths: Paths) -> bool:
    """Whether somebody uses a client here for which memories are not kept where it reads."""
    return any(_is_present(client, paths) for client in ALL if client is not MEMORY_READER)


def _is_present(client: CodingClient, paths: Paths) -> bool:
    return any(os.path.isdir(place.root) for place in client.session_places(paths, ()))


def all_sessions(paths: Paths, projects: Sequence[str] = ()) -> Iterator[tuple[CodingClient, Found]]:
    """The sessions of all clients; of those that keep them in their projects, in these alone."""
    for client in ALL:
        for place in client.session_places(paths, projects):
            for found in client.inventory(place).found:
                yield client, found


def instruction_files_at(cwd: str, paths: Paths) -> list[tuple[str, str]]:
    """The instruction files that apply at a directory for the clients in use, with their texts; later ones weigh more."""
    used = [client for client in ALL if client is MEMORY_READER or _is_present(client, paths)]
    return list(dict(file for client in used for file in client.instruction_files_at(cwd, paths)).items())


def instructions_at(cwd: str, paths: Paths) -> list[str]:
    return [text for _, text in instruction_files_at(cwd, paths)]
