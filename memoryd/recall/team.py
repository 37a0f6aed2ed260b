"""The team's memories in recall: a folder of its own beside the user's, other people's text, marked with its author."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.memory.tier_names import TEAM_FOLDER
from memoryd.recall.index import up_to_date_index
from memoryd.recall.reading import read_memory
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from memoryd.memory.quick_parse import QuickParse
    from memoryd.recall.store import Directory, Store

NOBODY = "somebody of the team"


class SharedMemory(NamedTuple):
    """A memory of the team, as recall hands it over."""

    name: str
    """With its folder, so that it is not taken for the user's own."""
    parsed: QuickParse
    author: str


def up_to_date_team(store: Store, memory_dir: str, now: float, *, seconds: float | None) -> Directory | None:
    """The team's folder, its terms true to its files; None where there is none, or nothing in it."""
    found = up_to_date_index(store, os.path.join(memory_dir, TEAM_FOLDER), now, seconds=seconds)
    return found if found is not None and found.memories else None


def shared_memory(memory_dir: str, name: str) -> SharedMemory | None:
    """A memory of the team; None where the user has the very same."""
    parsed = read_memory(os.path.join(memory_dir, TEAM_FOLDER), name)
    own = read_memory(memory_dir, name)
    if own.body.strip() == parsed.body.strip():
        return None
    return SharedMemory(f"{TEAM_FOLDER}/{name}", parsed, parsed.author or NOBODY)
