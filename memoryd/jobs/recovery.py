"""Recovery: cleans up what a dead process left in a memory directory. Every job calls it before its own work.

Commits come first: one that a dead process had begun is finished or dropped, and may close its job as succeeded. Then jobs
that are still open are ended, their turns wait again, and the lock of a dream gets its former time back.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.errors import BusyError, StateError
from memoryd.jobs.dream_lock import only_dreamer, prior_of
from memoryd.jobs.process_lock import Cleared, clear
from memoryd.memory import lock
from memoryd.memory.commit import recover
from memoryd.memory.directory import open_directory
from memoryd.state import changes, dreams, jobs

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_DIED = "its process died"


def recover_directory(database: Database, paths: Paths, memory_dir: str, now: float) -> None:
    """Clean up all that dead processes left in a memory directory. The caller is its only worker.

    A directory that cannot be used now is reported by the job that needs it; unfinished commits wait.
    """
    with suppress(FileNotFoundError, StateError):
        recover_commits(database, memory_dir, now)
    jobs.drop_lost(database, memory_dir, now)
    recover_dead_dream(database, paths, memory_dir, now)  # its turns would not be worked on


def recover_commits(database: Database, memory_dir: str, now: float) -> int:
    """Finish or drop the commits that were begun; return how many. Raises FileNotFoundError, StateError."""
    with open_directory(memory_dir) as directory, directory.locked():
        return recover(database, directory, now)


def recover_dead_dream(database: Database, paths: Paths, memory_dir: str, now: float) -> bool:
    """Clean up after dreams on this directory whose process died. False while one is alive.

    What cannot be written now waits.
    """
    if not dreams.unfinished(database, memory_dir) and not dreams.held_locks(database, memory_dir):
        return True
    try:
        with suppress(StateError), only_dreamer(paths, memory_dir):
            shutil.rmtree(paths.place_for(memory_dir, "dreams"), ignore_errors=True)  # what a model was shown
            recover_held_dream(database, memory_dir, now)
    except BusyError:
        return False
    return True


def recover_held_dream(database: Database, memory_dir: str, now: float) -> None:
    """Clean up after a dead dream; the caller holds the lock of the only dreamer.

    Raises StateError where the directory or the lock cannot be written: the record of the lock stays, and nobody may take
    the lock before it is restored. A commit that cannot be finished yet keeps its dream from being ended as killed.
    """
    held = dreams.held_locks(database, memory_dir)
    trouble: StateError | None = None
    try:
        with open_directory(memory_dir) as directory, directory.locked():
            recover(database, directory, now)
            for held_lock in held:
                succeeded_at = dreams.succeeded_at(database, held_lock.job_id)
                if lock.restore(directory.descriptor, prior_of(held_lock), succeeded_at):
                    dreams.forget_lock(database, memory_dir, held_lock.job_id)
    except FileNotFoundError:
        for held_lock in held:
            dreams.forget_lock(database, memory_dir, held_lock.job_id)
    except StateError as error:
        trouble = error
    if trouble is None or not changes.prepared(database, memory_dir):
        for job in dreams.unfinished(database, memory_dir):
            dreams.end(database, job, "killed", now, detail=_DIED, is_lost=True)
    if trouble is not None:
        raise trouble


def remove_leftovers(paths: Paths, since: float) -> Cleared:
    """Remove the private copies of processes that are gone, and their locks that nobody has used since then."""
    workers, dreamers = clear(paths, "workers", "staging", since), clear(paths, "dreamers", "dreams", since)
    return Cleared(workers.copies + dreamers.copies, workers.locks + dreamers.locks)
