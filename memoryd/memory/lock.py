"""The consolidation lock file, shared with Claude Code: its body is the holder's PID or empty, its mtime the last success.

1. read, when nobody is writing, and judge: held is a live process with an mtime younger than an hour, and nobody else
2. let the caller remember what was there, so that a kill from here on costs no day
3. exchange a private file with the lock and look at what came out: not what was judged? exchange back, give way
4. wait and read again: the client writes in place and reads back, so whoever is in the file by then has it
5. release, or restore after a kill: an empty file with its mtime already set takes the place of ours, in one step

Between our own processes the kernel's lock on the memory directory decides; callers hold it around every call here that
writes. What is in the file never follows a link: everything is relative to the directory's descriptor.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoryd.errors import BusyError, StateError
from memoryd.memory.exchange import exchange, finish_exchange, rename_if_free
from memoryd.memory.limits import LOCK_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.clock import Clock

STALE_SECONDS = 60 * 60.0  # the client's own rule
# How long a client may take from its look to its write: a few milliseconds, 100 on a machine that stalls. One that is
# slower still is found by is_still_ours() before the commit.
CLIENT_WRITE_SECONDS = 1.0
# Start times and mtimes come from different counters: the boot time is kept in whole seconds, FAT stores every other one.
CLOCK_SLACK_SECONDS = 2.0

_JUST_BEGUN = ("Another process has just begun to consolidate this memory directory.", "memoryd status")
_BODY_BYTES = 64
_PID = re.compile(rb"\s*(\d{1,10})(?:\s|$)")
_LARGEST_PID = 2**31 - 1
_NANOSECONDS = 1_000_000_000
_NOT_A_FILE = (errno.ELOOP, errno.ENXIO)  # a link; a socket, and what _look() refuses


@dataclass(frozen=True, slots=True)
class LockState:
    """Content of the lock file. A pid of None: nobody holds it."""

    exists: bool
    pid: int | None = None
    mtime_ns: int = 0
    inode: int = 0


@dataclass(frozen=True, slots=True)
class Free:
    """Judgement that nobody holds the lock."""


@dataclass(frozen=True, slots=True)
class LockHeld:
    pid: int
    until: float


@dataclass(frozen=True, slots=True)
class Holder:
    """Identity of a process, independent of the clock. The boot id is empty where the system has none."""

    pid: int
    start_ticks: int
    boot_id: str


@dataclass(frozen=True, slots=True)
class Prior:
    """State before the lock was taken: what restore() needs, stored by the caller before anything changes on disk."""

    existed: bool
    mtime_ns: int
    taken_ns: int
    holder: Holder
    temporary: str


def read(directory: int) -> LockState:
    """Read the lock file. Raises StateError where its name is no regular file."""
    with _explained(directory):
        return _look(directory, LOCK_NAME)


def judge(state: LockState, *, now: float, is_live: Callable[[int, float], bool]) -> Free | LockHeld:
    """Whether the lock is held, and until when at most.

    An mtime in the future means that the clock stepped back. Within the hour it is believed, so that a running holder is
    not disturbed and nobody waits for more than two hours; beyond that it counts as stale.
    """
    mtime = state.mtime_ns / _NANOSECONDS
    if state.pid is None or abs(now - mtime) >= STALE_SECONDS or not is_live(state.pid, mtime):
        return Free()
    return LockHeld(state.pid, mtime + STALE_SECONDS)


def holder_is_alive(pid: int, mtime: float) -> bool:
    """Whether the process that wrote its PID at that time still runs; a process that started later has reused the number."""
    import psutil  # noqa: PLC0415 - only where a lock names somebody

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return process.create_time() <= mtime + CLOCK_SLACK_SECONDS
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def holder_of(pid: int) -> Holder | None:
    """The process with that number now; None where it is gone or only waits to be reaped."""
    if sys.platform != "linux":
        import psutil  # noqa: PLC0415 - Linux does without

        try:
            process = psutil.Process(pid)
            gone = process.status() == psutil.STATUS_ZOMBIE
            return None if gone else Holder(pid, round(process.create_time() * 100), "")
        except psutil.Error:
            return None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # from the third on: the second, a name, may hold anything
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in (b"Z", b"X") else Holder(pid, int(fields[22 - 3]), boot_id)


def same_process(holder: Holder) -> bool:
    """Whether that very process still runs."""
    return holder_of(holder.pid) == holder


@dataclass(frozen=True, slots=True)
class Lock:
    """Lock that is held. The descriptor of its directory stays open meanwhile."""

    directory: int
    prior: Prior
    inode: int

    def is_still_ours(self) -> bool:
        """Whether the lock is still ours; asked before every commit, as a client may have taken it after an hour."""
        try:
            return self._is_ours(read(self.directory))
        except StateError:
            return False

    def release(self, *, success: bool, now: float) -> bool:
        """Release the lock: empty with the time of this success, or as it was before. False where it is no longer ours."""
        with _explained(self.directory):
            state = _look(self.directory, LOCK_NAME)
            success_ns = _nanoseconds(now) if success else None
            return self._is_ours(state) and _vacate(self.directory, self.prior, state, success_ns)

    def _is_ours(self, state: LockState) -> bool:
        return (state.pid, state.inode) == (self.prior.holder.pid, self.inode)


def acquire(
    directory: int,
    *,
    clock: Clock,
    remember: Callable[[Prior], None],
    is_live: Callable[[int, float], bool] = holder_is_alive,
) -> Lock:
    """Take the lock, or raise BusyError. What `remember` was given can be forgotten after BusyError and after release."""
    found, now = _read_when_quiet(directory, clock), clock.now()
    judged = judge(found, now=now, is_live=is_live)
    if isinstance(judged, LockHeld):
        raise BusyError(f"Process {judged.pid} is consolidating this memory directory.", f"ps -p {judged.pid}")
    holder = holder_of(os.getpid())
    if holder is None:
        raise StateError("This process cannot find itself in /proc.", "ls -d /proc/self")
    taken_ns = _nanoseconds(now)
    prior = Prior(found.exists, found.mtime_ns, taken_ns, holder, f"{LOCK_NAME}-{holder.pid}-{taken_ns}")
    remember(prior)
    try:
        return _take(directory, found, prior, clock)
    except BaseException:
        with suppress(OSError):  # then recovery does it, once this process is gone
            _undo(directory, prior)
        raise


def restore(directory: int, prior: Prior, succeeded_at: float | None = None) -> bool:
    """Put the lock back as a killed process of ours found it. False while that runs; otherwise `prior` can be deleted.

    Where it was killed between its success and the release, `succeeded_at` is the time that it would have left. This can
    be killed anywhere and run again, also long after: a lock of another holder is left alone.
    """
    if same_process(prior.holder):
        return False
    with _explained(directory):
        _undo(directory, prior, None if succeeded_at is None else _nanoseconds(succeeded_at))
    return True


def _read_when_quiet(directory: int, clock: Clock) -> LockState:
    """Read the lock, but not between the two steps of a client, which empties the file and then writes its PID.

    Without this, with two clients at once, 2 of 12,000 races had one of them and us inside.
    """
    state = read(directory)
    if not state.exists or state.pid or abs(clock.now() - state.mtime_ns / _NANOSECONDS) >= CLIENT_WRITE_SECONDS:
        return state
    clock.wait(threading.Event(), CLIENT_WRITE_SECONDS)
    later = read(directory)
    if later.pid is None and later != state:
        raise BusyError(*_JUST_BEGUN)
    return later


def _take(directory: int, found: LockState, prior: Prior, clock: Clock) -> Lock:
    with _explained(directory):
        inode = _write(directory, prior.temporary, str(prior.holder.pid).encode(), prior.taken_ns)
        taken = _swap(directory, prior.temporary, found)
        _remove(directory, prior.temporary)
    lock = Lock(directory, prior, inode)
    if taken:
        clock.wait(threading.Event(), CLIENT_WRITE_SECONDS)
        if lock.is_still_ours():
            return lock
    raise BusyError(*_JUST_BEGUN)


def _undo(directory: int, prior: Prior, success_ns: int | None = None) -> None:
    finish_exchange(directory, prior.temporary, LOCK_NAME)
    lock, displaced = _look(directory, LOCK_NAME), _look(directory, prior.temporary)
    if displaced.pid not in (None, prior.holder.pid) and (
        _is_of(lock, prior) or (lock.pid is None and lock.mtime_ns < displaced.mtime_ns)
    ):
        # Killed between the exchange and the check: the displaced file names a holder that may be running.
        _swap(directory, prior.temporary, lock)
        lock = _look(directory, LOCK_NAME)
    _remove(directory, prior.temporary)
    if _is_of(lock, prior):
        _vacate(directory, prior, lock, success_ns)


def _is_of(lock: LockState, prior: Prior) -> bool:
    """Whether that holder made this file; the PID alone may belong to another process by now."""
    apart = abs(lock.mtime_ns - prior.taken_ns)
    return lock.pid == prior.holder.pid and apart < CLOCK_SLACK_SECONDS * _NANOSECONDS


def _vacate(directory: int, prior: Prior, ours: LockState, success_ns: int | None) -> bool:
    """Replace our lock file by an empty one; remove it after a failure where there was none before."""
    try:
        if success_ns is not None or prior.existed:
            # Emptied in place it would, for an instant, lack the PID that restore() looks for and have the wrong mtime.
            _write(directory, prior.temporary, b"", prior.mtime_ns if success_ns is None else success_ns)
            return _swap(directory, prior.temporary, ours)
        with suppress(FileNotFoundError):
            rename_if_free(directory, LOCK_NAME, prior.temporary)
        if _look(directory, prior.temporary) == ours:
            return True
        with suppress(FileNotFoundError, FileExistsError):  # somebody wrote into it meanwhile: theirs
            rename_if_free(directory, prior.temporary, LOCK_NAME)
        return False
    finally:
        _remove(directory, prior.temporary)


def _swap(directory: int, temporary: str, judged: LockState) -> bool:
    """Put the private file in the lock's place if the lock is still as it was judged; otherwise False, and nothing moves."""
    try:
        if not judged.exists:
            rename_if_free(directory, temporary, LOCK_NAME)
            return True
        exchange(directory, temporary, LOCK_NAME)
    except (FileExistsError, FileNotFoundError):  # made or removed meanwhile
        return False
    with suppress(OSError):  # a link by now: not what was judged either
        if _look(directory, temporary) == judged:
            return True
    # A client that wrote there and reads back right now finds our PID and gives way, as we do: no holder rather than two.
    with suppress(FileExistsError, FileNotFoundError):
        exchange(directory, temporary, LOCK_NAME)
    return False


def _look(directory: int, name: str) -> LockState:
    # Without O_NONBLOCK the open of a named pipe would wait for its writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except FileNotFoundError:
        return LockState(exists=False)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO), name)
        word = _PID.match(os.pread(descriptor, _BODY_BYTES, 0))
    finally:
        os.close(descriptor)
    pid = int(word[1]) if word and 0 < int(word[1]) <= _LARGEST_PID else None
    return LockState(exists=True, pid=pid, mtime_ns=status.st_mtime_ns, inode=status.st_ino)


def _write(directory: int, name: str, body: bytes, mtime_ns: int) -> int:
    """Make a private file, on disk before it gets a name that counts, and return its inode."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=directory)
    try:
        os.write(descriptor, body)
        os.utime(descriptor, ns=(mtime_ns, mtime_ns))
        os.fsync(descriptor)
        return os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


def _remove(directory: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)
    os.fsync(directory)


@contextmanager
def _explained(directory: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path = LOCK_NAME
        with suppress(OSError):
            path = os.path.join(os.readlink(f"/proc/self/fd/{directory}"), LOCK_NAME)
        if error.errno in _NOT_A_FILE:
            sentence, fix = f"The lock {path} is not a regular file; it was left alone.", f"mv {path} {path}.aside"
        else:
            sentence, fix = f"The lock {path} cannot be used: {error.strerror}.", f"ls -ld {path}"
        raise StateError(sentence, fix) from error


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1_000_000) * 1000  # a float of today's size holds no more than microseconds
