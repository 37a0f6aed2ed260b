"""Keys for memories that have none: a model writes search words for a few dozen of them in one request, at night.

They are kept in the state database by what the memory says: no file is changed, whoever wrote it. A kill loses the keys of
one request at most, whose reserved amount counts as spent.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import elapsed
from memoryd.engines.model import credentials, keys_brief
from memoryd.engines.model.budget import RunCapError
from memoryd.engines.model.client import BadRequestError, EndpointError, PromptTooLongError
from memoryd.engines.model.keys_brief import Keyless
from memoryd.errors import MemorydError
from memoryd.jobs.holds import engine_wait
from memoryd.jobs.single_request import ask_once
from memoryd.memory.quick_parse import quick_parse
from memoryd.recall.index import memory_names
from memoryd.recall.quotes import name_of_quote, place_of_quotes
from memoryd.recall.reading import read_memory
from memoryd.recall.store import open_store_to_write
from memoryd.state import jobs, memory_keys
from memoryd.state.quotes import unconfirmed_quotes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.memory.quick_parse import QuickParse
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_SECONDS = 300.0
"""For one request."""
_KEPT_SECONDS = 90 * 86_400.0
"""Keys of a text that nobody has any more are kept for so long."""


class KeysOutcome(NamedTuple):
    """What a night brought."""

    written: int = 0
    """Memories that got keys."""
    without: int = 0
    """Memories that have none, and were not asked about yet."""
    why_not: str = ""
    """Why it ended before all were asked about."""


class _Found(NamedTuple):
    """Memories of one directory that have no keys, by the digest of what they say."""

    memory_dir: str
    keyless: dict[bytes, Keyless]
    names: dict[bytes, str]
    """As recall knows them."""


def write_keys(
    database: Database,
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    memory_dirs: Iterable[str],
) -> KeysOutcome:
    """Ask a model for the keys of memories without any, at most `recall.keys_per_night` of them.

    1. whether a model may be asked
    2. memories and unconfirmed sentences without keys of their own or kept ones
    3. one request for a few dozen of them, until the night's share is used up or the model rests
    4. recall reads those that got keys again
    """
    left = config.recall.keys_per_night
    if not left or not credentials.is_chosen(config):
        return KeysOutcome()
    everywhere = [_without_keys(database, memory_dir) for memory_dir in dict.fromkeys(memory_dirs)]
    memory_keys.drop_unseen(
        database, [digest for found in everywhere for digest in found.names], clock.now(), _KEPT_SECONDS
    )
    missing = [_not_asked_about(database, found) for found in everywhere]
    written, without, why_not = 0, sum(len(found.keyless) for found in missing), ""
    for found in missing:
        todo = list(found.keyless.items())
        while todo and left > 0 and not why_not:
            some, todo = dict(todo[: min(left, keys_brief.MOST_AT_ONCE)]), todo[min(left, keys_brief.MOST_AT_ONCE) :]
            left -= len(some)
            if wait := engine_wait(database, paths, config, clock.now()):
                why_not = wait.why
                break
            keys, why_not = _asked(database, paths, config, environment, clock, found.memory_dir, some)
            # Also before: keys that are kept are not asked for again, so after a kill nobody would let recall read them.
            _read_again(paths, found, keys)
            memory_keys.record_keys(database, keys, clock.now())
            _read_again(paths, found, keys)  # what a prompt took in meanwhile
            written += sum(map(bool, keys.values()))
            without -= len(keys)
    return KeysOutcome(written, without, why_not)


def _without_keys(database: Database, memory_dir: str) -> _Found:
    """Every memory of a directory that carries no keys in its file, the newest first, and every unconfirmed sentence."""
    found = _Found(memory_dir, {}, {})
    quotes = unconfirmed_quotes(database, memory_dir)
    parsed = [(name, read_memory(memory_dir, name)) for name in memory_names(memory_dir)]
    parsed += [(name_of_quote(quote.row_id), quick_parse(quote.text)) for quote in quotes]
    for name, memory in parsed:
        if not memory.keys and (memory.description or memory.body.strip()):
            digest = _digest(memory)
            found.keyless[digest] = Keyless(memory.name, memory.description, memory.body)
            found.names[digest] = name
    return found


def _not_asked_about(database: Database, found: _Found) -> _Found:
    known = memory_keys.keys_by_digest(database, found.keyless)
    return found._replace(keyless={digest: one for digest, one in found.keyless.items() if digest not in known})


def _asked(
    database: Database,
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    memory_dir: str,
    memories: Mapping[bytes, Keyless],
) -> tuple[dict[bytes, str], str]:
    """The keys of these memories, and why there are none where the model did not answer."""
    job_id = jobs.begin_request(database, jobs.RECALL, memory_dir, clock.now())
    keys: dict[bytes, str] = {}
    why_not = ""
    asked = list(memories.values())
    try:
        answer = ask_once(
            database,
            paths,
            config,
            environment,
            clock,
            job_id=job_id,
            memory_dir=memory_dir,
            request=keys_brief.request_of(asked, credentials.with_models(config)),
            prompt_name=keys_brief.prefix_name(),
            until=elapsed() + _SECONDS,
            read=lambda reply: keys_brief.keys_in(reply, asked),
        )
        keys = dict(zip(memories, answer, strict=True))
    except (keys_brief.NoKeysError, RunCapError, BadRequestError, PromptTooLongError, EndpointError) as error:
        why_not = f"the model wrote no keys: {error}"
    except MemorydError as error:
        why_not = error.sentence
    outcome = "failed" if why_not else "succeeded" if any(keys.values()) else "succeeded_no_output"
    with suppress(MemorydError):  # keys count also where that could not be recorded
        jobs.end_request(database, job_id, outcome, clock.now(), why_not or f"keys for {len(keys)} memories")
    return keys, why_not


def _read_again(paths: Paths, found: _Found, keys: Mapping[bytes, str]) -> None:
    """Let recall forget the terms of memories that got keys: its next look takes them in anew."""
    names = [found.names[digest] for digest, text in keys.items() if text]
    if not names:
        return
    with closing(open_store_to_write(paths)) as store, store.transaction():
        for place in (found.memory_dir, place_of_quotes(found.memory_dir)):
            if (directory := store.directory(place)) is not None:
                store.forget(directory.id, names)


def _digest(memory: QuickParse) -> bytes:
    return memory_keys.digest_of(memory.name, memory.description, memory.body)
