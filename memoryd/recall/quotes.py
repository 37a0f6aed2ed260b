"""The terms of what has no file and is searched beside those of a directory: unconfirmed memories, notes of the last session."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.errors import BusyError
from memoryd.memory.quick_parse import quick_parse
from memoryd.memory_types import MEMORY_TYPES
from memoryd.recall.reading import with_kept_keys, with_prompts
from memoryd.recall.weights import learnt_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.memory.quick_parse import QuickParse
    from memoryd.recall.store import Directory, LearntMemory, Store
    from memoryd.state.quotes import Quote

_BESIDE = "#unconfirmed"
_NOTES = "#notes"


def place_of_quotes(memory_dir: str) -> str:
    """What stands for a directory in the store of recall, for the quotes beside its files."""
    return memory_dir + _BESIDE


def name_of_quote(row_id: int) -> str:
    """The name that the terms of an unconfirmed memory are kept under."""
    return f"unconfirmed:{row_id}"


def parsed_quote(quote: Quote) -> QuickParse:
    """An unconfirmed memory, or a line of a daily log, which does not tell its type itself."""
    parsed = quick_parse(quote.text)
    kind = next((kind for kind in MEMORY_TYPES if kind == quote.type), None)
    return parsed if parsed.type else parsed._replace(type=kind)


def up_to_date_quotes(
    store: Store, memory_dir: str, quotes: Mapping[str, QuickParse], now: float, *, wait: bool = True
) -> Directory | None:
    """The terms of the quotes of a directory, by their names; what has left the inbox is forgotten. None where there are none.

    A quote never changes: a name that is known stands for the same words. Without `wait`, while another process writes, the
    terms are those that are known, and may be of quotes that have left; whoever asks next takes in the rest.
    """
    return _up_to_date(store, place_of_quotes(memory_dir), quotes, now, wait=wait)


def up_to_date_notes(
    store: Store, memory_dir: str, parts: Mapping[str, QuickParse], now: float, *, wait: bool = True
) -> Directory | None:
    """The same for the parts of the notes of a session."""
    return _up_to_date(store, memory_dir + _NOTES, parts, now, wait=wait)


def _up_to_date(
    store: Store, place: str, quotes: Mapping[str, QuickParse], now: float, *, wait: bool
) -> Directory | None:
    directory = store.directory(place)
    known = {one.name for one in store.known(directory.id)} if directory is not None else set()
    if known != quotes.keys():
        learnt = _learnt(store, {name: quotes[name] for name in quotes if name not in known})
        with suppress(*() if wait else (BusyError,)), store.transaction(wait=wait):
            directory_id = store.record_check(place, 0, now)
            store.forget(directory_id, known - quotes.keys())
            store.learn(directory_id, learnt)
        directory = store.directory(place)
    return directory if quotes else None


def _learnt(store: Store, quotes: Mapping[str, QuickParse]) -> list[LearntMemory]:
    parsed = with_kept_keys(store.paths, list(quotes.values()))
    return [
        learnt_memory(name, (0, 0, 0), memory, triggers=with_prompts(memory))
        for name, memory in zip(quotes, parsed, strict=True)
    ]
