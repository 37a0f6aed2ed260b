"""Clients: a folder each behind the contract in `base`; `hook` answers their hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clients.claude_code import ClaudeCodeClient

if TYPE_CHECKING:
    from memoryd.clients.base import CodingClient
    from memoryd.paths import Paths

ALL: tuple[CodingClient, ...] = (ClaudeCodeClient(),)
"""The first is the one beside whose sessions memories are kept, and whose hooks are meant where none is named."""


def client_named(name: str) -> CodingClient:
    """Raises KeyError."""
    return {client.name: client for client in ALL}[name]


def instruction_files_at(cwd: str, paths: Paths) -> list[tuple[str, str]]:
    """All clients' instruction files that apply at a directory, with their texts; later ones weigh more."""
    return [file for client in ALL for file in client.instruction_files_at(cwd, paths)]


def instructions_at(cwd: str, paths: Paths) -> list[str]:
    return [text for _, text in instruction_files_at(cwd, paths)]
