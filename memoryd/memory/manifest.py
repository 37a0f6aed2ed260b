"""Manifest: a line for each memory, newest first, that shows a model what exists. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clock import iso
from memoryd.security.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.model import StoredMemory

MOST_LINES = 200
_DESCRIPTION_CHARACTERS = 200


def manifest_of(memories: Iterable[StoredMemory], most: int = MOST_LINES) -> list[str]:
    """`- [type] file.md (2026-10-30T12:00:00Z): description`, without secrets; the time is when it was said."""
    newest = sorted(memories, key=lambda memory: (-memory.written_at, memory.name))[:most]
    return [_line(memory) for memory in newest]


def _line(memory: StoredMemory) -> str:
    # Redacted before it is cut: half a secret is not recognised.
    says = redact(" ".join((memory.description or memory.body).split()))[:_DESCRIPTION_CHARACTERS]
    line = f"- [{memory.type or 'unknown'}] {memory.name} ({iso(memory.written_at)}): {says}"
    return line.encode("utf-8", "replace").decode()
