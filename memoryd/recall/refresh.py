"""Refresh of recall after sessions were worked on: new terms, which memories were used, what rotted.

All of it can wait or be lost: it is done behind the work, and what fails is one line in the log.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import client_named
from memoryd.errors import MemorydError, StateError
from memoryd.jobs import prefetch
from memoryd.jobs.call_hook import set_call_hooks
from memoryd.jobs.meter import measure
from memoryd.log.writer import open_log
from memoryd.memory.tier_names import place_of
from memoryd.memory.tiers import Tiers
from memoryd.recall import shown, use
from memoryd.recall.index import read_triggers, up_to_date_index
from memoryd.recall.outcomes import outcomes
from memoryd.recall.reading import read_memory
from memoryd.recall.store import open_store_to_write
from memoryd.rot.check import Repository, check
from memoryd.transcripts.read import recent_replies
from memoryd.transcripts.recent_activity import recent_activity_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.model import WaitingSession
    from memoryd.paths import Paths
    from memoryd.recall.store import Directory, Store

_DAY_SECONDS = 86_400.0
_KEPT_SECONDS = 90 * _DAY_SECONDS
"""For so long it is known what a session was shown."""


class MemoryPlace(NamedTuple):
    """A memory directory, the root of its project, and the sessions that were worked on."""

    memory_dir: str
    root: str
    sessions: tuple[WaitingSession, ...] = ()


def after_work(paths: Paths, config: Config, clock: Clock, places: Iterable[MemoryPlace]) -> None:
    try:
        with closing(open_store_to_write(paths)) as store:
            for place in places:
                _care(store, paths, config, place, clock.now())
            set_call_hooks(paths, store)
    except (MemorydError, OSError) as error:
        _tell(paths, config, error)


def nightly(paths: Paths, config: Config, clock: Clock, places: Iterable[MemoryPlace]) -> None:
    """The same for every project, and what is damaged or too old goes."""
    try:
        with closing(open_store_to_write(paths)) as store:
            store.check()
    except MemorydError as error:
        _tell(paths, config, error)
    after_work(paths, config, clock, places)
    try:
        shown.drop_before(paths, clock.now() - _KEPT_SECONDS)
        prefetch.drop_before(paths, clock.now() - _DAY_SECONDS)
        with closing(open_store_to_write(paths)) as store, store.transaction():
            for directory_id, path in store.directories():
                if not os.path.isdir(path):
                    store.drop_directory(directory_id)
            _record_uses(store, paths)
    except (MemorydError, OSError) as error:
        _tell(paths, config, error)


def _record_uses(store: Store, paths: Paths) -> None:
    """How often each memory was handed over and used, for its rank. What had to be said again was about the matter, too."""
    counted: dict[str, dict[str, tuple[int, int]]] = {}
    for (memory_dir, name), outcome in outcomes(paths).items():
        place, own_name = place_of(name, memory_dir, paths.global_dir)
        sessions, used = counted.setdefault(place, {}).get(own_name, (0, 0))
        counted[place][own_name] = sessions + outcome.sessions, used + outcome.used + outcome.corrected
    for directory_id, path in store.directories():
        store.record_uses(directory_id, counted.get(path, {}))


def _care(store: Store, paths: Paths, config: Config, place: MemoryPlace, now: float) -> None:
    directory = up_to_date_index(store, place.memory_dir, now, thorough=True)
    if directory is None:
        return
    read_triggers(store, place.memory_dir)
    for session in place.sessions:
        _note_use(paths, place.memory_dir, session, now)
        measure(paths, client_named(session.client), session.session_id, session.path, place.memory_dir, now)
    if config.features.rot_check and place.root:
        _compare(store, directory, place, now)


def _note_use(paths: Paths, memory_dir: str, session: WaitingSession, now: float) -> None:
    """What the session has read, or repeated, of what it was shown and had not used before."""
    unused = shown.unused(paths, session.session_id, memory_dir)
    if not unused:
        return
    client = client_named(session.client)
    read = recent_activity_of(client, session.path, memory_dir).files
    replies = list(recent_replies(client, session.path))
    used = {}
    for name in unused:
        if name in read:
            used[name] = use.READ
        elif use.is_quoted(name, read_memory(*Tiers(memory_dir, paths.global_dir).place_of(name)), replies):
            used[name] = use.QUOTED
    if used:
        shown.record_use(paths, session.session_id, used, now)


def _compare(store: Store, directory: Directory, place: MemoryPlace, now: float) -> None:
    """Once for each state of the repository and of the memories."""
    repository = Repository(place.root)
    stamp = f"{repository.stamp()} {store.newest_change(directory.id)} {directory.memories}"
    if stamp == store.rot_stamp(directory.id):
        return
    texts = {}
    for known in store.known(directory.id):
        glance = read_memory(place.memory_dir, known.name)
        texts[known.name] = f"{glance.description}\n\n{glance.body}"
    gone = {
        name: [f"{one.claim.text} ({one.why})" for one in found] for name, found in check(texts, repository).items()
    }
    with store.transaction():
        store.record_rot(directory.id, gone, stamp, now)


def _tell(paths: Paths, config: Config, error: Exception) -> None:
    with suppress(StateError), closing(open_log(paths, config.log.level)) as log:
        log.warning("recall was not brought up to date", why=getattr(error, "sentence", None) or error)
