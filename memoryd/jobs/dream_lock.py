"""Being the only one who consolidates a memory directory: among our processes by the kernel, beside others by the lock.

What kill -9 leaves is in the database before it is on disk, and whoever comes next puts it right: the lock has its old
time again and the dream can come at once; or the new one, where the dream had succeeded.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from memoryd.errors import BusyError, StateError
from memoryd.jobs.alone import only_one
from memoryd.jobs.interruption import uninterrupted
from memoryd.memory import lock
from memoryd.memory.commit import recover
from memoryd.memory.directory import open_directory
from memoryd.state import changes, dreams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from memoryd.clock import Clock
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.dreams import DreamJob, HeldLock

_DIED = "its process died"


def only_dreamer(paths: Paths, memory_dir: str) -> AbstractContextManager[None]:
    """Be the only process of ours that dreams on this directory. Raises BusyError."""
    return only_one(paths, memory_dir, "dreamers", f"A dream is going on in {memory_dir} already.")


@contextmanager
def consolidating(database: Database, directory: MemoryDirectory, job: DreamJob, clock: Clock) -> Iterator[lock.Lock]:
    """Hold the lock that is shared with the client. Raises BusyError. The caller releases it where it succeeded.

    Left by an error, the lock is as it was before.
    """
    with directory.locked():
        taken = lock.acquire(
            directory.descriptor, clock=clock, remember=lambda prior: dreams.remember_lock(database, _held(job, prior))
        )
    try:
        yield taken
    finally:
        with uninterrupted():
            release(database, directory, taken, job, clock, success=False)


def release(
    database: Database, directory: MemoryDirectory, taken: lock.Lock, job: DreamJob, clock: Clock, *, success: bool
) -> None:
    """Once is enough: what is no longer ours is not touched."""
    with directory.locked():
        taken.release(success=success, now=clock.now())
    dreams.forget_lock(database, job.memory_dir, job.id)


def bury(database: Database, paths: Paths, memory_dir: str, now: float) -> bool:
    """Put right what dreams on this directory left whose process died. False while one is alive.

    1. what it had begun to write is finished, which may close it as succeeded
    2. the lock gets the time of that success, or the one it had before
    3. its job ends, and its turns wait on
    """
    if not dreams.unfinished(database, memory_dir) and not dreams.held_locks(database, memory_dir):
        return True
    try:
        with suppress(StateError), only_dreamer(paths, memory_dir):  # what cannot be written now waits until it can be
            shutil.rmtree(paths.place_for(memory_dir, "dreams"), ignore_errors=True)  # what a model was shown
            bury_held(database, memory_dir, now)
    except BusyError:
        return False
    return True


def bury_held(database: Database, memory_dir: str, now: float) -> None:
    """The same, for the one who is the only dreamer.

    Raises StateError where the directory or the lock cannot be written: then what stood in the lock is still known, and
    nobody may take it before it is back. A commit that cannot be finished yet keeps its dream from being ended as killed.
    """
    held = dreams.held_locks(database, memory_dir)
    trouble: StateError | None = None
    try:
        with open_directory(memory_dir) as directory, directory.locked():
            recover(database, directory, now)
            for one in held:
                if lock.restore(directory.descriptor, _prior(one), dreams.succeeded_at(database, one.job_id)):
                    dreams.forget_lock(database, memory_dir, one.job_id)
    except FileNotFoundError:
        for one in held:
            dreams.forget_lock(database, memory_dir, one.job_id)
    except StateError as error:
        trouble = error
    if trouble is None or not changes.prepared(database, memory_dir):
        for job in dreams.unfinished(database, memory_dir):
            dreams.end(database, job, "killed", now, detail=_DIED, is_lost=True)
    if trouble is not None:
        raise trouble


def _held(job: DreamJob, prior: lock.Prior) -> HeldLock:
    holder = prior.holder
    return dreams.HeldLock(
        job.memory_dir,
        job.id,
        prior.existed,
        prior.mtime_ns,
        prior.taken_ns,
        holder.pid,
        holder.start_ticks,
        holder.boot_id,
        prior.temporary,
    )


def _prior(held: HeldLock) -> lock.Prior:
    holder = lock.Holder(held.pid, held.start_ticks, held.boot_id)
    return lock.Prior(held.existed, held.mtime_ns, held.taken_ns, holder, held.temporary)
