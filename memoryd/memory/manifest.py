"""The manifest: a line for each memory, newest first, from which a model tells what is there. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clock import iso
from memoryd.memory.glance import glance_at
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.memory.directory import FileState

MOST_LINES = 200
_DESCRIPTION_CHARACTERS = 200


def manifest_of(memories: Mapping[str, FileState], most: int = MOST_LINES) -> list[str]:
    """`- [type] file.md (2026-10-30T12:00:00Z): description`, without secrets."""
    newest = sorted(memories, key=lambda name: (-memories[name].mtime_ns, name))[:most]
    return [_line(name, memories[name]) for name in newest]


def _line(name: str, state: FileState) -> str:
    glance = glance_at(state.data)
    says = redact(" ".join((glance.description or glance.body).split()))[
        :_DESCRIPTION_CHARACTERS
    ]  # in this order: a cut hides secrets
    line = f"- [{glance.type or 'unknown'}] {name} ({iso(state.mtime_ns / 1e9)}): {says}"
    return line.encode("utf-8", "replace").decode()
