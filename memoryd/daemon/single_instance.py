"""Single-instance lock: one daemon per user. The kernel holds it, so kill -9 leaves nothing behind."""

from __future__ import annotations

import fcntl
import json
import os
import select
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd import __version__
from memoryd.errors import BusyError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.paths import Paths


_BODY_BYTES = 4096
_TRIES = 20
_TRY_SECONDS = 0.02


class Trouble(NamedTuple):
    """Named state that makes the daemon slower or blind; it goes on working."""

    name: str
    """watch_limit, polling_only, root_missing, clock_jumped, disk_nearly_full, database_busy, config_broken."""
    text: str
    fix: str = ""
    """Empty where the user need not do anything."""


class Instance(NamedTuple):
    pid: int
    since: float
    watching: str = ""
    """`events` where the system reports what grows, `polling` where it does not; empty before that is known."""
    troubles: tuple[Trouble, ...] = ()
    """Kept in the lock file, because the database may be what fails."""
    version: str = __version__
    """Empty for a daemon that is too old to say it."""


class InstanceLock:
    """The lock, held by this process."""

    def __init__(self, paths: Paths, since: float) -> None:
        """Take the lock. Raises BusyError, which names the holder, and StateError."""
        self._paths = paths
        self._since = since
        self._state: tuple[str, tuple[Trouble, ...]] = ("", ())
        self._descriptor = _taken(paths)

    def write_state(self, watching: str = "", troubles: Iterable[Trouble] = ()) -> None:
        """Write holder and troubles into the lock file, always in the same length, so that it fits on a full disk."""
        self._state = watching, tuple(troubles)
        told = [[trouble.name, trouble.text[:700], trouble.fix[:300]] for trouble in self._state[1]]
        while True:
            who = {"pid": os.getpid(), "since": self._since, "version": __version__}
            body = json.dumps({**who, "watching": watching, "troubles": told}).encode()
            if len(body) <= _BODY_BYTES:
                break
            told.pop()
        os.pwrite(self._descriptor, body.ljust(_BODY_BYTES), 0)

    def keep(self) -> bool:
        """Take the lock again if its file was deleted, since a second daemon could start; True if it was.

        Raises BusyError where one has started.
        """
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self._paths.daemon_lock, follow_symlinks=False), os.fstat(self._descriptor)):
                return False
        fresh = _taken(self._paths)
        self.release()
        self._descriptor = fresh
        with suppress(OSError):  # on a full disk the holder is written with the next state
            self.write_state(*self._state)
        return True

    def release(self) -> None:
        os.close(self._descriptor)


@contextmanager
def only_instance(paths: Paths, since: float) -> Iterator[InstanceLock]:
    """Hold the daemon's lock. Raises BusyError, which names the holder."""
    held = InstanceLock(paths, since)
    try:
        try:
            held.write_state()
        except OSError as error:
            raise StateError(
                f"The state directory {paths.state_dir} cannot be written: {error.strerror}.",
                f"df -h {paths.state_dir}",
            ) from error
        yield held
    finally:
        held.release()


def _taken(paths: Paths) -> int:
    """A descriptor of the lock file, with the lock."""
    try:
        os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
        descriptor = os.open(paths.daemon_lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(
            f"The state directory {paths.state_dir} cannot be used: {error.strerror}.", f"ls -ld {paths.state_dir}"
        ) from error
    try:
        _take(descriptor)
    except BlockingIOError as error:
        holder = _body(descriptor)
        os.close(descriptor)
        name = f"process {holder.pid}" if holder else "another process"
        raise BusyError(f"memoryd is already running ({name}).", "memoryd status") from error
    return descriptor


def _take(descriptor: int) -> None:
    """Take the lock, with some attempts: a command that asks whether a daemon runs holds it for an instant."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            select.select([], [], [], _TRY_SECONDS)
        else:
            return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def running_instance(paths: Paths) -> Instance | None:
    """The daemon that runs now, if one does."""
    try:
        descriptor = os.open(paths.daemon_lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _body(descriptor) or Instance(0, 0.0)  # it has the lock and has not written its state yet
    except OSError:
        return None
    else:
        return None
    finally:
        os.close(descriptor)


def _body(descriptor: int) -> Instance | None:
    try:
        body = json.loads(os.pread(descriptor, _BODY_BYTES, 0))
        troubles = tuple(Trouble(*map(str, fields)) for fields in body["troubles"])
        who = int(body["pid"]), float(body["since"])
        return Instance(*who, str(body["watching"]), troubles, str(body.get("version", "")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
