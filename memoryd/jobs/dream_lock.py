"""Locks of a dream: a process lock among the processes of memoryd, and the lock file that is shared with the client.

The lock file is recorded in the database before it changes on disk. After a kill `recovery` restores its former time, so
that the dream can come at once, or sets the new time where the dream had succeeded.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.jobs.dream_cancel import uninterrupted
from memoryd.jobs.process_lock import only_process
from memoryd.memory import lock
from memoryd.state import dreams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from memoryd.clock import Clock
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.dreams import DreamJob, HeldLock


def only_dreamer(paths: Paths, memory_dir: str) -> AbstractContextManager[None]:
    """Be the only process of ours that dreams on this directory. Raises BusyError."""
    return only_process(paths, memory_dir, "dreamers", f"A dream is going on in {memory_dir} already.")


@contextmanager
def consolidating(database: Database, directory: MemoryDirectory, job: DreamJob, clock: Clock) -> Iterator[lock.Lock]:
    """Hold the lock that is shared with the client. Raises BusyError. The caller releases it after a success.

    After an error the lock is as it was before.
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
    """Release the lock and delete its record; a lock that is no longer ours is left alone."""
    with directory.locked():
        taken.release(success=success, now=clock.now())
    dreams.forget_lock(database, job.memory_dir, job.id)


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


def prior_of(held: HeldLock) -> lock.Prior:
    """Recorded lock in the form that `memory/lock.py` restores."""
    holder = lock.Holder(held.pid, held.start_ticks, held.boot_id)
    return lock.Prior(held.existed, held.mtime_ns, held.taken_ns, holder, held.temporary)
