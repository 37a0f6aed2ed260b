"""Memory directories of sub-agents: `agent-memory/<name>/` of the user, of a project, and of a project on this machine alone."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.formatting import is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.paths import Paths

_MOST_AGENTS = 100
"""Of one scope; a repository that ships more is not worked on further."""


class AgentMemory(NamedTuple):
    """The memory of one sub-agent."""

    path: str
    root: str
    """Of its project; empty for an agent of the user, who has it in all of them."""


def agent_memories(paths: Paths, roots: Iterable[str]) -> Iterator[AgentMemory]:
    """The memory directories of all sub-agents: the user's, then those in these projects. No link is followed."""
    yield from _in_folder(os.path.join(paths.claude_dir, "agent-memory"), "")
    for root in roots:
        if os.path.realpath(os.path.join(root, ".claude")) == os.path.realpath(paths.claude_dir):
            continue  # the home directory as a project: these are the user's own
        for folder in ("agent-memory", "agent-memory-local"):
            if not os.path.islink(os.path.join(root, ".claude")):
                yield from _in_folder(os.path.join(root, ".claude", folder), root)


def _in_folder(folder: str, root: str) -> Iterator[AgentMemory]:
    if os.path.islink(folder):
        return
    with suppress(OSError), os.scandir(folder) as entries:
        names = sorted(
            entry.name
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and is_utf8(entry.name)
        )
        for name in names[:_MOST_AGENTS]:
            yield AgentMemory(os.path.join(folder, name), root)
