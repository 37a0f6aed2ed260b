"""One daemon per user: who runs, since when. A kernel lock decides, so nothing is left behind by kill -9."""

from __future__ import annotations

import fcntl
import json
import os
import select
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths


_BODY_BYTES = 4096
_TRIES = 20
_TRY_SECONDS = 0.02


class Instance(NamedTuple):
    pid: int
    since: float
    trouble: str = ""
    """Why it cannot work at the moment, for `status`: it stands here because the database may be what fails."""
    fix: str = ""


class Held:
    """The lock, held by this process."""

    def __init__(self, descriptor: int, since: float) -> None:
        self._descriptor = descriptor
        self._since = since

    def tell(self, trouble: str = "", fix: str = "") -> None:
        """Say in the lock file who holds it and what troubles it. Always the same length, so that it fits on a full disk."""
        body = json.dumps({"pid": os.getpid(), "since": self._since, "trouble": trouble[:1500], "fix": fix[:500]})
        os.pwrite(self._descriptor, body.encode().ljust(_BODY_BYTES)[:_BODY_BYTES], 0)


@contextmanager
def only_instance(paths: Paths, since: float) -> Iterator[Held]:
    """Hold the daemon's lock. Raises BusyError, which names the holder."""
    try:
        os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
        descriptor = os.open(paths.daemon_lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(
            f"The state directory {paths.state_dir} cannot be used: {error.strerror}.", f"ls -ld {paths.state_dir}"
        ) from error
    try:
        try:
            _take(descriptor)
        except BlockingIOError as error:
            holder = _body(descriptor)
            name = f"process {holder.pid}" if holder else "another process"
            raise BusyError(f"memoryd is already running ({name}).", "memoryd status") from error
        try:
            held = Held(descriptor, since)
            held.tell()
        except OSError as error:
            raise StateError(
                f"The state directory {paths.state_dir} cannot be written: {error.strerror}.",
                f"df -h {paths.state_dir}",
            ) from error
        yield held
    finally:
        os.close(descriptor)


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
        return Instance(int(body["pid"]), float(body["since"]), str(body["trouble"]), str(body["fix"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
