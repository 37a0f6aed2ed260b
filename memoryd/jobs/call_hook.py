"""The hook before tool calls: in the clients' plugins only while some memory speaks of such calls."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from memoryd.clients import WITH_PLUGIN
from memoryd.errors import MemorydError
from memoryd.recall.index import up_to_date_index
from memoryd.recall.store import open_store

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.recall.store import Store


def follow_rules(paths: Paths, memory_dir: str = "", now: float = 0.0, *, seconds: float | None = None) -> bool:
    """Put the hook into the plugins or take it out, after the memories of a directory have changed; whether that changed any.

    Clients read their hooks when a session begins. What cannot be written now is tried again with the next change.
    `seconds`: somebody waits, and no more memories are read than can be in so long.
    """
    with suppress(MemorydError), closing(open_store(paths)) as store:
        if memory_dir:
            up_to_date_index(store, memory_dir, now, seconds=seconds)
        return set_call_hooks(paths, store)
    return False


def set_call_hooks(paths: Paths, store: Store) -> bool:
    """The same, where the store is open and knows the memories."""
    is_wanted = store.has_triggers()
    is_changed = False
    for client in WITH_PLUGIN:
        with suppress(OSError):
            is_changed |= client.set_call_hook(paths, is_wanted=is_wanted)
    return is_changed
