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
    """What keeps a daemon from working as well as it could, by name; it goes on all the same."""

    name: str
    """watch_limit, polling_only, root_missing, clock_jumped, disk_nearly_full, database_busy, config_broken."""
    text: str
    fix: str = ""
    """Where there is none, it is no problem of the user's: it passes by itself, or is no harm."""


class Instance(NamedTuple):
    pid: int
    since: float
    watching: str = ""
    """`events` where the system reports what grows, `polling` where it does not; empty before that is known."""
    troubles: tuple[Trouble, ...] = ()
    """They stand here and not in the database, because that may be what fails."""
    version: str = __version__
    """Empty: older than any that tells."""


class InstanceHeld:
    """The lock, held by this process."""

    def __init__(self, paths: Paths, since: float) -> None:
        """Take it. Raises BusyError, which names the holder, and StateError."""
        self._paths = paths
        self._since = since
        self._told: tuple[str, tuple[Trouble, ...]] = ("", ())
        self._descriptor = _taken(paths)

    def tell(self, watching: str = "", troubles: Iterable[Trouble] = ()) -> None:
        """Say in the lock file who holds it and what troubles it. Always the same length, so that it fits on a full disk."""
        self._told = watching, tuple(troubles)
        told = [[one.name, one.text[:700], one.fix[:300]] for one in self._told[1]]
        while True:
            who = {"pid": os.getpid(), "since": self._since, "version": __version__}
            body = json.dumps({**who, "watching": watching, "troubles": told}).encode()
            if len(body) <= _BODY_BYTES:
                break
            told.pop()
        os.pwrite(self._descriptor, body.ljust(_BODY_BYTES), 0)

    def keep(self) -> bool:
        """Take the lock anew where somebody has deleted its file: a second daemon could start beside us.

        Whether that was so. Raises BusyError where one has.
        """
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self._paths.daemon_lock, follow_symlinks=False), os.fstat(self._descriptor)):
                return False
        fresh = _taken(self._paths)
        self.release()
        self._descriptor = fresh
        with suppress(OSError):  # on a full disk: who holds it is told with the next news
            self.tell(*self._told)
        return True

    def release(self) -> None:
        os.close(self._descriptor)


@contextmanager
def only_instance(paths: Paths, since: float) -> Iterator[InstanceHeld]:
    """Hold the daemon's lock. Raises BusyError, which names the holder."""
    held = InstanceHeld(paths, since)
    try:
        try:
            held.tell()
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
    """Take the lock. Whoever asks whether a daemon runs holds it for an instant, so one refusal is none."""
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
        return _body(descriptor) or Instance(0, 0.0)  # it has the lock and is about to write who it is
    except OSError:
        return None
    else:
        return None
    finally:
        os.close(descriptor)


def _body(descriptor: int) -> Instance | None:
    try:
        body = json.loads(os.pread(descriptor, _BODY_BYTES, 0))
        troubles = tuple(Trouble(*map(str, one)) for one in body["troubles"])
        who = int(body["pid"]), float(body["since"])
        return Instance(*who, str(body["watching"]), troubles, str(body.get("version", "")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
