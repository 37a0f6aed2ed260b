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


def manifest_of(memories: Iterable[StoredMemory], *, with_unknown_times: bool = False) -> list[str]:
    """`- [type] file.md (2026-10-30T12:00:00Z): description`, without secrets; the time is when it was said.

    `with_unknown_times`: a time that is only that of the file is told as such, for who counts days from it.
    """
    newest = sorted(memories, key=lambda memory: (-memory.written_at, memory.name))[:MOST_LINES]
    return [_line(memory, is_time_told=with_unknown_times and not memory.is_time_known) for memory in newest]


def _line(memory: StoredMemory, *, is_time_told: bool) -> str:
    # Redacted before it is cut: half a secret is not recognised.
    says = redact(" ".join((memory.description or memory.body).split()))[:_DESCRIPTION_CHARACTERS]
    time = f"said at an unknown time, file of {iso(memory.written_at)}" if is_time_told else iso(memory.written_at)
    line = f"- [{memory.type or 'unknown'}] {memory.name} ({time}): {says}"
    return line.encode("utf-8", "replace").decode()
