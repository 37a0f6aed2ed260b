"""The terms of unconfirmed memories: they stand in the state database, and are searched beside the files of a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.memory.quick_parse import quick_parse
from memoryd.recall.store import LearntMemory
from memoryd.recall.weights import weights_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.recall.store import Directory, Store

_BESIDE = "#unconfirmed"


def up_to_date_quotes(store: Store, memory_dir: str, quotes: Mapping[str, bytes], now: float) -> Directory | None:
    """The terms of the quotes of a directory, by their names; what has left the inbox is forgotten. None where there are none.

    A quote never changes: a name that is known stands for the same words.
    """
    place = memory_dir + _BESIDE
    directory = store.directory(place)
    known = {one.name for one in store.known(directory.id)} if directory is not None else set()
    if known != quotes.keys():
        with store.transaction():
            directory_id = store.record_check(place, 0, now)
            store.forget(directory_id, known - quotes.keys())
            store.learn(directory_id, [_learnt(name, quotes[name]) for name in quotes if name not in known])
        directory = store.directory(place)
    return directory if quotes else None


def _learnt(name: str, data: bytes) -> LearntMemory:
    parsed = quick_parse(data)
    return LearntMemory(name, (0, 0, len(data)), parsed.type or "", False, weights_of(parsed))
