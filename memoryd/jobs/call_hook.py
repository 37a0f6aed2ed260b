"""Indexes that tell of global memories, and the hook before tool calls in the plugins of clients: both follow commits.

The hook is there only while some memory speaks of such calls. Clients read their hooks when a session begins. What cannot be
written now is tried again with the next change.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from memoryd.clients.registry import WITH_PLUGIN
from memoryd.errors import MemorydError
from memoryd.recall.index import read_triggers, up_to_date_index
from memoryd.recall.store import open_store

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.recall.store import Store


def follow_commits(paths: Paths, config: Config, now: float) -> bool:
    """Bring up to date what depends on memories, after commits in whichever directory; whether that changed any hook.

    A commit replaces files, so the time of its directory is not the one that recall knows.
    """
    from memoryd.jobs.enforce import withdraw_unasked  # noqa: PLC0415 - 100 ms that `follow_edits` need not pay
    from memoryd.jobs.index_repair import refresh_global_lines  # noqa: PLC0415 - as above
    from memoryd.state import changes  # noqa: PLC0415 - as above
    from memoryd.state.database import open_database  # noqa: PLC0415 - as above

    withdraw_unasked(paths)
    with suppress(MemorydError), closing(open_database(paths)) as database:
        refresh_global_lines(database, config, now)
        with closing(open_store(paths)) as store:
            for memory_dir in changes.directories(database):
                known = store.directory(memory_dir)
                with suppress(OSError):
                    if known is None or known.mtime_ns != os.stat(memory_dir).st_mtime_ns:
                        up_to_date_index(store, memory_dir, now, thorough=True)
                        read_triggers(store, memory_dir)
            return set_call_hooks(paths, store)
    return False


def follow_edits(paths: Paths, memory_dir: str, now: float, *, seconds: float) -> None:
    """The same after a client or a person may have edited the memories of one directory in their place.

    `seconds`: somebody waits, and no more memories are read than can be in so long.
    """
    with suppress(MemorydError), closing(open_store(paths)) as store:
        up_to_date_index(store, memory_dir, now, seconds=seconds)
        read_triggers(store, memory_dir, seconds=seconds)
        set_call_hooks(paths, store)


def set_call_hooks(paths: Paths, store: Store) -> bool:
    """The same, where the store is open and knows the memories."""
    is_wanted = store.has_triggers()
    is_changed = False
    for client in WITH_PLUGIN:
        with suppress(OSError):
            is_changed |= client.set_call_hook(paths, is_wanted=is_wanted)
    return is_changed
