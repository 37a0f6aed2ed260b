"""What recall learns after sessions were worked on: new terms, which memories were of use, what the code has left behind.

All of it can wait or be lost: it is done behind the work, and what fails is one line in the log.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import MemorydError, StateError
from memoryd.log import open_log
from memoryd.recall import sessions, use
from memoryd.recall.catalogue import catalogue_of, read_memory
from memoryd.recall.store import open_store
from memoryd.rot.check import Repository, check
from memoryd.transcripts.claude_code import entries_of, may_be_a_reply
from memoryd.transcripts.glimpse import glimpse_of, tail_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.recall.store import Directory, Store

_KEPT_SECONDS = 90 * 86_400.0
"""For so long it is known what a session was shown."""


class Place(NamedTuple):
    """A memory directory, the root of its project, and the sessions that were worked on, by id, with their transcripts."""

    memory_dir: str
    root: str
    sessions: tuple[tuple[str, str], ...] = ()


def after_work(paths: Paths, config: Config, clock: Clock, places: Iterable[Place]) -> None:
    try:
        with closing(open_store(paths)) as store:
            for place in places:
                _care(store, paths, config, place, clock.now())
    except (MemorydError, OSError) as error:
        _tell(paths, config, error)


def nightly(paths: Paths, config: Config, clock: Clock, places: Iterable[Place]) -> None:
    """The same for every project, and what is damaged or too old goes."""
    try:
        with closing(open_store(paths)) as store:
            store.let_go_if_damaged()
    except MemorydError as error:
        _tell(paths, config, error)
    after_work(paths, config, clock, places)
    try:
        sessions.drop_before(paths, clock.now() - _KEPT_SECONDS)
        with closing(open_store(paths)) as store, store.transaction():
            for directory_id, path in store.directories():
                if not os.path.isdir(path):
                    store.drop_directory(directory_id)
    except (MemorydError, OSError) as error:
        _tell(paths, config, error)


def _care(store: Store, paths: Paths, config: Config, place: Place, now: float) -> None:
    directory = catalogue_of(store, place.memory_dir, now, thorough=True)
    if directory is None:
        return
    for session_id, transcript in place.sessions:
        _note_use(paths, place.memory_dir, session_id, transcript, now)
    if config.features.rot_check and place.root:
        _compare(store, directory, place, now)


def _note_use(paths: Paths, memory_dir: str, session_id: str, transcript: str, now: float) -> None:
    """What the session has read, or repeated, of what it was shown and had not used before."""
    unused = sessions.unused(paths, session_id, memory_dir)
    if not unused:
        return
    read = glimpse_of(transcript, memory_dir).files
    replies = list(_replies(transcript))
    used = {}
    for name in unused:
        if name in read:
            used[name] = use.READ
        elif use.is_quoted(name, read_memory(memory_dir, name), replies):
            used[name] = use.QUOTED
    if used:
        sessions.record_use(paths, session_id, used, now)


def _replies(transcript: str) -> Iterator[str]:
    """What the assistant said lately."""
    from collections import Counter  # noqa: PLC0415

    damage: Counter[str] = Counter()
    for line in tail_of(transcript).split(b"\n"):
        if may_be_a_reply(line):
            for entry in entries_of(line, damage):
                yield from getattr(entry, "texts", ())


def _compare(store: Store, directory: Directory, place: Place, now: float) -> None:
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
