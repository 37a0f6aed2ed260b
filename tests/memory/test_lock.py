"""The lock that is shared with Claude Code: who holds it, and that no kill costs a day."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.errors import BusyError, StateError
from memoryd.memory import exchange as exchange_module
from memoryd.memory import lock as lock_module
from memoryd.memory.limits import LOCK_NAME
from memoryd.memory.lock import (
    STALE_SECONDS,
    Free,
    Holder,
    LockHeld,
    LockState,
    Prior,
    acquire,
    holder_is_alive,
    holder_of,
    judge,
    read,
    restore,
    same_process,
)

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from memoryd.clock import Clock
    from memoryd.memory.lock import Lock
    from tests.torture.campaign import Campaign

NOW = 1_792_000_000.25
DAYS_AGO_NS = 1_791_700_000_123_456_789
NOW_NS = 1_792_000_000_250_000_000
GONE = 2**22 + 1  # a number above every PID


class StillClock:
    """A clock that stands, and lets the client act while the lock settles."""

    def __init__(self, now: float = NOW, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._now = now
        self._meanwhile = meanwhile

    def now(self) -> float:
        return self._now

    def wait(self, event: threading.Event, seconds: float) -> bool:
        assert not event.is_set()
        assert seconds == lock_module.CLIENT_WRITE_SECONDS
        self._meanwhile()
        return False


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory"
    path.mkdir()
    return path


@pytest.fixture
def directory(memory: Path) -> Iterator[int]:
    descriptor = os.open(memory, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def stranger() -> Iterator[int]:
    """The PID of a live process that is not ours."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def put(memory: Path, body: bytes = b"", mtime_ns: int = DAYS_AGO_NS) -> None:
    """Write the lock as the client does: in place."""
    (memory / LOCK_NAME).write_bytes(body)
    os.utime(memory / LOCK_NAME, ns=(mtime_ns, mtime_ns))


def found(memory: Path) -> dict[str, tuple[bytes, int]]:
    """Every file in the directory with its body and mtime."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in memory.iterdir()}


def identities(memory: Path) -> dict[str, tuple[int, ...]]:
    """Every name in the directory with which file it is, and when it was changed."""
    statuses = {path.name: path.lstat() for path in memory.iterdir()}
    return {
        name: (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns) for name, status in statuses.items()
    }


def everybody_lives(_pid: int, _mtime: float) -> bool:
    return True


def nobody_lives(_pid: int, _mtime: float) -> bool:
    return False


def take(directory: int, clock: Clock | None = None) -> Lock:
    return acquire(directory, clock=clock or StillClock(), remember=lambda _: None)


# --- who holds it -----------------------------------------------------------------------------------------------------

MINUTES = 60.0


@pytest.mark.parametrize(
    ("pid", "age", "is_live", "expected"),
    [
        pytest.param(7, 59 * MINUTES, everybody_lives, LockHeld(7, NOW + MINUTES), id="young and alive"),
        pytest.param(7, 0.0, everybody_lives, LockHeld(7, NOW + 60 * MINUTES), id="just taken"),
        pytest.param(7, 60 * MINUTES, everybody_lives, Free(), id="an hour old, whoever holds it"),
        pytest.param(7, 0.0, nobody_lives, Free(), id="young and dead"),
        pytest.param(None, 0.0, everybody_lives, Free(), id="nobody, released just now"),
        pytest.param(7, -59 * MINUTES, everybody_lives, LockHeld(7, NOW + 119 * MINUTES), id="the clock stepped back"),
        pytest.param(7, -60 * MINUTES, everybody_lives, Free(), id="a time that says nothing"),
        pytest.param(7, -59 * MINUTES, nobody_lives, Free(), id="dead, with a time to come"),
    ],
)
def test_judge(pid: int | None, age: float, is_live: Callable[[int, float], bool], expected: Free | LockHeld) -> None:
    state = LockState(exists=True, pid=pid, mtime_ns=NOW_NS - int(age * 1e9), inode=1)
    assert judge(state, now=NOW, is_live=is_live) == expected


def test_where_there_is_none_it_is_free() -> None:
    assert judge(LockState(exists=False), now=NOW, is_live=everybody_lives) == Free()


@pytest.mark.parametrize(
    ("body", "pid"),
    [
        (b"4711", 4711),
        (b" 4711\n", 4711),
        (b"4711\nand more, as a later client may write", 4711),
        (b"", None),
        (b"\n", None),
        (b"0", None),
        (b"-1", None),
        (b"4711x", None),
        (b"4711.5", None),
        (b"2147483648", None),
        (b"9" * 5000, None),
        (b"\0" * 5000, None),
        (b"\xff\xfe4711", None),
        (b" " * 64 + b"4711", None),
        ("٤٧١١".encode(), None),
    ],
)
def test_a_body_names_a_process_or_nobody_and_its_time_counts_either_way(
    memory: Path, directory: int, body: bytes, pid: int | None
) -> None:
    put(memory, body)
    inode = (memory / LOCK_NAME).stat().st_ino
    assert read(directory) == LockState(exists=True, pid=pid, mtime_ns=DAYS_AGO_NS, inode=inode)


def test_no_file_is_nobody_and_never(directory: int) -> None:
    assert read(directory) == LockState(exists=False, pid=None, mtime_ns=0, inode=0)


@pytest.mark.parametrize("kind", ["link", "dangling link", "directory", "pipe", "socket"])
def test_what_is_not_a_file_is_named_and_left_alone(
    memory: Path, directory: int, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = memory / LOCK_NAME
    (tmp_path / "precious").write_text("keep me")
    match kind:
        case "link":
            os.symlink(tmp_path / "precious", path)
        case "dangling link":
            os.symlink("nowhere", path)
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            monkeypatch.chdir(memory)  # a socket's path is short
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(LOCK_NAME)
    before = path.lstat()
    with pytest.raises(StateError, match=re.escape(str(path))) as raised:
        take(directory)
    assert raised.value.fix == f"mv {path} {path}.aside"
    assert path.lstat() == before
    assert os.listdir(memory) == [LOCK_NAME]
    assert (tmp_path / "precious").read_text() == "keep me"


def test_a_live_process(stranger: int) -> None:
    assert holder_is_alive(stranger, time.time())


def test_a_process_that_started_after_the_lock_was_written_has_only_its_number(stranger: int) -> None:
    assert not holder_is_alive(stranger, time.time() - 60)


def test_a_number_that_nobody_has() -> None:
    assert not holder_is_alive(GONE, time.time())
    assert not holder_is_alive(2**31 - 1, time.time())
    assert holder_of(GONE) is None


def test_a_zombie_holds_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not reaped
        assert not holder_is_alive(process.pid, time.time())
        assert holder_of(process.pid) is None


def test_our_own_holders_are_known_by_what_no_clock_changes() -> None:
    holder = holder_of(os.getpid())
    assert holder
    assert holder.pid == os.getpid()
    assert holder == holder_of(os.getpid())
    assert same_process(holder)
    assert not same_process(replace(holder, start_ticks=holder.start_ticks + 1))
    assert not same_process(replace(holder, boot_id="another"))
    assert not same_process(replace(holder, pid=GONE))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_may_call_itself_anything(tmp_path: Path) -> None:
    """Its name stands in brackets before the fields that are read."""
    program = tmp_path / ") Z 1 (x"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "60"]) as process:
        while Path(f"/proc/{process.pid}/comm").read_text() != ") Z 1 (x\n":
            os.sched_yield()
        holder = holder_of(process.pid)
        process.kill()
    assert holder
    assert os.sysconf("SC_CLK_TCK") * time.clock_gettime(time.CLOCK_BOOTTIME) - holder.start_ticks < 6000


# --- taking it --------------------------------------------------------------------------------------------------------


def test_taken_it_names_us_and_is_young(memory: Path, directory: int) -> None:
    put(memory)
    lock = take(directory)
    assert found(memory) == {LOCK_NAME: (str(os.getpid()).encode(), NOW_NS)}
    assert (memory / LOCK_NAME).stat().st_mode & 0o777 == 0o600
    assert lock.is_still_ours()
    assert judge(read(directory), now=NOW, is_live=everybody_lives) == LockHeld(os.getpid(), NOW + STALE_SECONDS)


def test_where_there_was_none_it_is_made(memory: Path, directory: int) -> None:
    assert take(directory).is_still_ours()
    assert found(memory) == {LOCK_NAME: (str(os.getpid()).encode(), NOW_NS)}


@pytest.mark.parametrize("body", [b"%d" % GONE, b"garbage", b""])
def test_what_a_dead_one_left_is_taken_however_young(memory: Path, directory: int, body: bytes) -> None:
    put(memory, body, NOW_NS - 1)
    assert take(directory).is_still_ours()


def test_an_hour_is_enough_for_anybody(memory: Path, directory: int, stranger: int) -> None:
    put(memory, b"%d" % stranger, NOW_NS - 3600 * 10**9)
    assert acquire(directory, clock=StillClock(), remember=lambda _: None, is_live=everybody_lives).is_still_ours()


def test_a_live_holder_is_given_way_and_named(memory: Path, directory: int, stranger: int) -> None:
    now = time.time()
    put(memory, b"%d" % stranger, int(now * 1e9))
    before = found(memory)
    remembered: list[Prior] = []
    with pytest.raises(BusyError, match=f"Process {stranger} "):
        acquire(directory, clock=StillClock(now), remember=remembered.append)
    assert found(memory) == before
    assert remembered == []


def test_what_was_there_is_remembered_before_anything_changes(memory: Path, directory: int) -> None:
    put(memory, b"%d" % GONE)
    before = found(memory)
    holder = holder_of(os.getpid())
    assert holder

    def remember(prior: Prior) -> None:
        assert found(memory) == before
        name = f"{LOCK_NAME}-{holder.pid}-{NOW_NS}"
        assert prior == Prior(existed=True, mtime_ns=DAYS_AGO_NS, taken_ns=NOW_NS, holder=holder, temporary=name)

    acquire(directory, clock=StillClock(), remember=remember)


def test_what_cannot_be_remembered_is_not_taken(memory: Path, directory: int) -> None:
    def remember(_: Prior) -> None:
        raise StateError("The disk is full.")

    put(memory)
    before = found(memory)
    with pytest.raises(StateError, match="disk is full"):
        acquire(directory, clock=StillClock(), remember=remember)
    assert found(memory) == before


@pytest.mark.parametrize("existed", [True, False])
def test_a_client_that_takes_it_between_our_look_and_our_exchange_keeps_it(
    memory: Path, directory: int, stranger: int, existed: bool
) -> None:
    if existed:
        put(memory)
    theirs = (b"%d" % stranger, NOW_NS)
    with pytest.raises(BusyError, match="just begun"):
        acquire(directory, clock=StillClock(), remember=lambda _: put(memory, *theirs))
    assert found(memory) == {LOCK_NAME: theirs}


def test_a_client_that_has_emptied_it_and_not_yet_written_keeps_its_file(memory: Path, directory: int) -> None:
    """It opens with O_TRUNC, which shows in the mtime alone where the file was empty."""
    put(memory)
    inode = (memory / LOCK_NAME).stat().st_ino
    with pytest.raises(BusyError), open(memory / LOCK_NAME, "r+b") as client:

        def truncate(_: Prior) -> None:
            os.utime(client.fileno(), ns=(NOW_NS, NOW_NS))

        acquire(directory, clock=StillClock(), remember=truncate)
    assert (memory / LOCK_NAME).stat().st_ino == inode


def test_two_inside_after_a_look_between_a_clients_two_steps(memory: Path, directory: int) -> None:
    """One client is inside; another, late, has emptied the file and not yet written: it was taken for nobody's."""
    put(memory, b"", NOW_NS)
    theirs = (b"4711", NOW_NS + 5)
    clock = StillClock(meanwhile=lambda: put(memory, *theirs))
    with pytest.raises(BusyError, match="Process 4711 "):
        acquire(directory, clock=clock, remember=lambda _: None, is_live=everybody_lives)
    assert found(memory) == {LOCK_NAME: theirs}


def test_a_file_that_is_emptied_over_and_over_is_left_alone(memory: Path, directory: int) -> None:
    put(memory, b"", NOW_NS)
    with pytest.raises(BusyError, match="just begun"):
        take(directory, StillClock(meanwhile=lambda: put(memory, b"", NOW_NS + 5)))
    assert found(memory) == {LOCK_NAME: (b"", NOW_NS + 5)}


def test_what_was_released_this_instant_can_be_taken(memory: Path, directory: int) -> None:
    assert take(directory).release(success=True, now=NOW)
    assert take(directory).release(success=False, now=NOW + 5)
    assert found(memory) == {LOCK_NAME: (b"", NOW_NS)}


def test_a_client_that_removes_it_between_our_look_and_our_exchange(memory: Path, directory: int) -> None:
    put(memory)
    with pytest.raises(BusyError):
        acquire(directory, clock=StillClock(), remember=lambda _: (memory / LOCK_NAME).unlink())
    assert found(memory) == {}


def test_a_link_that_appears_between_our_look_and_our_exchange_is_put_back(memory: Path, directory: int) -> None:
    put(memory)

    def relink(_: Prior) -> None:
        (memory / LOCK_NAME).unlink()
        os.symlink("nowhere", memory / LOCK_NAME)

    with pytest.raises(BusyError):
        acquire(directory, clock=StillClock(), remember=relink)
    assert os.listdir(memory) == [LOCK_NAME]
    assert os.readlink(memory / LOCK_NAME) == "nowhere"


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("body", [b"4711", b""])
def test_whoever_is_in_the_file_after_the_wait_has_it(memory: Path, directory: int, body: bytes, existed: bool) -> None:
    if existed:
        put(memory)
    theirs = (body, NOW_NS + 5)
    with pytest.raises(BusyError):
        take(directory, StillClock(meanwhile=lambda: put(memory, *theirs)))
    assert found(memory) == {LOCK_NAME: theirs}


def test_interrupted_while_it_settles_it_is_as_before(memory: Path, directory: int) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    put(memory)
    with pytest.raises(KeyboardInterrupt):
        take(directory, StillClock(meanwhile=interrupt))
    assert found(memory) == {LOCK_NAME: (b"", DAYS_AGO_NS)}


@pytest.mark.parametrize("call", ["write", "fsync", "utime", "unlink"])
@pytest.mark.parametrize("existed", [True, False])
def test_a_full_or_failing_disk_is_an_error_with_a_fix_and_nothing_stays(
    memory: Path, directory: int, monkeypatch: pytest.MonkeyPatch, call: str, existed: bool
) -> None:
    def fail_once(*_: object, **__: object) -> None:
        monkeypatch.undo()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if existed:
        put(memory)
    before = found(memory)
    monkeypatch.setattr(os, call, fail_once)
    with pytest.raises(StateError, match="No space left") as raised:
        take(directory)
    assert raised.value.fix == f"ls -ld {memory / LOCK_NAME}"
    assert found(memory) == before


# --- letting it go ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("existed", [True, False])
def test_after_success_nobody_holds_it_and_its_time_is_now(memory: Path, directory: int, existed: bool) -> None:
    if existed:
        put(memory, b"%d" % GONE)
    assert take(directory).release(success=True, now=NOW + 600)
    assert found(memory) == {LOCK_NAME: (b"", NOW_NS + 600 * 10**9)}
    assert (memory / LOCK_NAME).stat().st_mode & 0o777 == 0o600


def test_after_failure_its_time_is_the_prior_one_to_the_nanosecond(memory: Path, directory: int) -> None:
    put(memory)
    assert take(directory).release(success=False, now=NOW + 600)
    assert found(memory) == {LOCK_NAME: (b"", DAYS_AGO_NS)}


def test_after_failure_where_there_was_none_there_is_none(memory: Path, directory: int) -> None:
    assert take(directory).release(success=False, now=NOW + 600)
    assert found(memory) == {}


def test_a_link_is_not_released_but_named(memory: Path, directory: int) -> None:
    lock = take(directory)
    (memory / LOCK_NAME).unlink()
    os.symlink("nowhere", memory / LOCK_NAME)
    assert not lock.is_still_ours()
    with pytest.raises(StateError, match="not a regular file"):
        lock.release(success=True, now=NOW)
    assert os.readlink(memory / LOCK_NAME) == "nowhere"


@pytest.mark.parametrize("call", ["open", "fsync", "utime"])
def test_a_release_that_failed_can_be_tried_again(
    memory: Path, directory: int, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail_once(*arguments: Any, **keywords: Any) -> Any:
        if call == "open" and not arguments[1] & os.O_CREAT:
            return real_open(*arguments, **keywords)
        monkeypatch.undo()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    put(memory)
    lock = take(directory)
    real_open = os.open
    monkeypatch.setattr(os, call, fail_once)
    with pytest.raises(StateError, match="No space left"):
        lock.release(success=True, now=NOW)
    assert lock.is_still_ours()
    assert lock.release(success=True, now=NOW)
    assert found(memory) == {LOCK_NAME: (b"", NOW_NS)}


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("success", [True, False])
@pytest.mark.parametrize("how", ["in place", "by another file", "removed"])
def test_a_lock_that_is_no_longer_ours_is_not_released(
    memory: Path, directory: int, success: bool, how: str, existed: bool
) -> None:
    if existed:
        put(memory)
    lock = take(directory)
    match how:
        case "in place":
            put(memory, b"4711", NOW_NS)
        case "by another file":
            (memory / "another").write_bytes(str(os.getpid()).encode())
            os.replace(memory / "another", memory / LOCK_NAME)
        case _:
            (memory / LOCK_NAME).unlink()
    before = identities(memory)
    assert not lock.is_still_ours()
    assert not lock.release(success=success, now=NOW)
    assert identities(memory) == before


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("success", [True, False])
def test_a_client_that_takes_it_in_the_instant_of_our_release_keeps_it(
    memory: Path, directory: int, monkeypatch: pytest.MonkeyPatch, success: bool, existed: bool
) -> None:
    """Ours was older than an hour; the client wrote between our look and our exchange."""

    def first(then: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if len(calls) == 0:
                put(memory, *theirs)
            calls.append(arguments)
            return then(*arguments)

        return call

    if existed:
        put(memory)
    lock = take(directory)
    theirs, calls = (b"4711", NOW_NS + 5), list[Any]()
    for name in ("exchange", "rename_if_free"):
        monkeypatch.setattr(lock_module, name, first(getattr(lock_module, name)))
    assert not lock.release(success=success, now=NOW)
    assert calls
    assert found(memory) == {LOCK_NAME: theirs}


# --- after a kill -----------------------------------------------------------------------------------------------------


@pytest.fixture
def prior() -> Prior:
    """Of a holder that is gone."""
    return Prior(
        existed=True,
        mtime_ns=DAYS_AGO_NS,
        taken_ns=NOW_NS,
        holder=Holder(GONE, 5, "boot"),
        temporary=f"{LOCK_NAME}-{GONE}-{NOW_NS}",
    )


OURS = (b"%d" % GONE, NOW_NS)


def test_a_dead_holders_lock_gets_its_time_back(memory: Path, directory: int, prior: Prior) -> None:
    put(memory, *OURS)
    assert restore(directory, prior)
    assert found(memory) == {LOCK_NAME: (b"", DAYS_AGO_NS)}
    assert restore(directory, prior)
    assert found(memory) == {LOCK_NAME: (b"", DAYS_AGO_NS)}


def test_a_dead_holders_lock_is_removed_where_there_was_none(memory: Path, directory: int, prior: Prior) -> None:
    put(memory, *OURS)
    assert restore(directory, replace(prior, existed=False, mtime_ns=0))
    assert found(memory) == {}


@pytest.mark.parametrize("existed", [True, False])
def test_a_holder_that_died_after_its_success_leaves_the_time_of_that(
    memory: Path, directory: int, prior: Prior, existed: bool
) -> None:
    """Also where there was no lock before: then this is the first."""
    put(memory, *OURS)
    assert restore(directory, replace(prior, existed=existed), NOW + 60)
    assert found(memory) == {LOCK_NAME: (b"", NOW_NS + 60 * 10**9)}
    put(memory, b"4711", NOW_NS + 1)
    assert restore(directory, prior, NOW + 60), "and once it is somebody else's, nothing more"
    assert found(memory) == {LOCK_NAME: (b"4711", NOW_NS + 1)}


def test_a_holder_that_still_works_is_left_alone(memory: Path, directory: int) -> None:
    put(memory)
    remembered: list[Prior] = []
    acquire(directory, clock=StillClock(), remember=remembered.append)
    before = found(memory)
    assert not restore(directory, remembered[0])
    assert found(memory) == before


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param((b"4711", NOW_NS + 1), id="taken by a client"),
        pytest.param((b"%d" % GONE, NOW_NS + 60 * 10**9), id="taken by a client with our number"),
        pytest.param((b"", NOW_NS + 60 * 10**9), id="released by somebody"),
        pytest.param((b"garbage", NOW_NS), id="spoilt"),
    ],
)
def test_what_is_not_the_dead_holders_is_left_alone(
    memory: Path, directory: int, prior: Prior, theirs: tuple[bytes, int]
) -> None:
    put(memory, *theirs)
    (memory / prior.temporary).write_bytes(b"%d" % GONE)
    assert restore(directory, prior)
    assert found(memory) == {LOCK_NAME: theirs}


@pytest.mark.parametrize("lock", [OURS, (b"", DAYS_AGO_NS), None])
def test_a_client_that_was_displaced_when_the_kill_came_gets_its_lock_back(
    memory: Path, directory: int, prior: Prior, lock: tuple[bytes, int] | None
) -> None:
    """Killed between exchanging and looking: while taking it, while releasing it, while removing it."""
    put(memory, b"4711", NOW_NS - 5)
    os.rename(memory / LOCK_NAME, memory / prior.temporary)
    if lock:
        put(memory, *lock)
    assert restore(directory, replace(prior, existed=lock is not None))
    assert found(memory) == {LOCK_NAME: (b"4711", NOW_NS - 5)}


def test_nothing_is_restored_through_a_link(memory: Path, directory: int, prior: Prior, tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(OURS[0])
    os.utime(tmp_path / "precious", ns=(NOW_NS, NOW_NS))
    os.symlink(tmp_path / "precious", memory / LOCK_NAME)
    with pytest.raises(StateError, match="not a regular file"):
        restore(directory, prior)
    assert (tmp_path / "precious").read_bytes() == OURS[0]


# --- killed at every call that touches the disk -----------------------------------------------------------------------

PROCESSES = multiprocessing.get_context("forkserver")  # a fork of pytest itself would take its threads' locks along
PROCESSES.set_forkserver_preload([__name__])
CALLS = ("open", "write", "utime", "fsync", "rename", "link", "unlink")


def without_kernel_exchange() -> None:
    exchange_module._rename = lambda *_: False


def die_before_call(number: int) -> None:
    """Let this process be killed when it is about to touch the disk for the n-th time."""
    left = [number]

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any, **keywords: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **keywords)

        return count

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    exchange_module._rename = counted(exchange_module._rename)


def dream(memory: str, record: str, success: bool, kernel: bool, dies_at: int) -> None:
    """Take the lock and let it go, as a worker does that may be killed."""

    def remember(prior: Prior) -> None:
        Path(record).write_text(json.dumps(asdict(prior)))

    if not kernel:
        without_kernel_exchange()
    directory = os.open(memory, os.O_RDONLY)
    clock = StillClock()
    die_before_call(dies_at)
    assert acquire(directory, clock=clock, remember=remember).release(success=success, now=NOW)


def recover(memory: str, record: str, kernel: bool, dies_at: int) -> None:
    if not kernel:
        without_kernel_exchange()
    directory = os.open(memory, os.O_RDONLY)
    die_before_call(dies_at)
    put_back(directory, record)


def put_back(directory: int, record: str) -> None:
    if os.path.exists(record):
        values = json.loads(Path(record).read_text())
        assert restore(directory, Prior(**{**values, "holder": Holder(**values["holder"])}))


def is_killed(target: Callable[..., None], *arguments: Any) -> bool:
    process = PROCESSES.Process(target=target, args=arguments)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


NEVER = 1 << 30


@pytest.mark.torture
@pytest.mark.parametrize("kernel", [True, False], ids=["exchange", "three renames"])
@pytest.mark.parametrize("success", [True, False], ids=["success", "failure"])
@pytest.mark.parametrize("body", [None, b"", b"%d" % GONE], ids=["none before", "empty before", "stale before"])
def test_a_kill_at_any_call_costs_no_day(
    memory: Path,
    directory: int,
    tmp_path: Path,
    campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
    body: bytes | None,
    success: bool,
    kernel: bool,
) -> None:
    """Whoever dies, also the recovery: then it is as before, or as after a success, and free at once."""
    record = tmp_path / "record"
    before = {} if body is None else {LOCK_NAME: (body, DAYS_AGO_NS)}
    # A stale body may have been emptied: nobody either way, and the mtime is the day that counts.
    as_before = [before, {name: (b"", mtime) for name, (_, mtime) in before.items()}]
    succeeded = {LOCK_NAME: (b"", NOW_NS)}
    if not kernel:
        monkeypatch.setattr(exchange_module, "_rename", lambda *_: False)
    kills, runs_through = 0, False
    while not runs_through:
        kills += 1
        # Every other recovery comes to its end, and the others die where it counts, at one call after the other.
        second_deaths = range(1, NEVER) if campaign.has_time else [NEVER if kills % 2 else kills // 2 % 6 + 1]
        for second_death in second_deaths:
            for name in os.listdir(memory):
                os.unlink(memory / name)
            if body is not None:
                put(memory, body)
            record.unlink(missing_ok=True)
            runs_through = not is_killed(dream, str(memory), str(record), success, kernel, kills)
            assert record.exists() or found(memory) == before
            if runs_through:
                assert found(memory) == (succeeded if success else as_before[1])
            recovery_dies = is_killed(recover, str(memory), str(record), kernel, second_death)
            put_back(directory, str(record))
            assert found(memory) in (as_before + [succeeded] * success)
            assert judge(read(directory), now=NOW, is_live=holder_is_alive) == Free()
            if not recovery_dies:
                break
    assert kills > 10


# --- against the client's own protocol --------------------------------------------------------------------------------


class RaceClock:
    """The real time, with a wait of its own length."""

    def __init__(self, settle_seconds: float) -> None:
        self._settle_seconds = settle_seconds

    def now(self) -> float:
        return time.time()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        assert seconds == lock_module.CLIENT_WRITE_SECONDS
        return event.wait(self._settle_seconds)


@contextmanager
def kernel_lock(memory: str) -> Iterator[int]:
    descriptor = os.open(memory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def ours_enters(memory: str, _chance: random.Random, settle_seconds: float) -> tuple[bool, float]:
    with kernel_lock(memory) as descriptor, suppress(BusyError):
        acquire(descriptor, clock=RaceClock(settle_seconds), remember=lambda _: None)
        return True, 0.0
    return False, 0.0


def client_enters(memory: str, chance: random.Random, _settle_seconds: float) -> tuple[bool, float]:
    """Look; if nobody lives there, write in place; read back. Also says how long it took from look to write."""
    path = os.path.join(memory, LOCK_NAME)
    looked_at = time.monotonic()
    with suppress(FileNotFoundError, ValueError):
        young = time.time() - os.stat(path).st_mtime < STALE_SECONDS
        with open(path, "rb") as file:
            pid = int(file.read())
        if young:
            with suppress(ProcessLookupError):
                os.kill(pid, 0)
                return False, 0.0
    time.sleep(chance.random() * CLIENT_SECONDS)
    with open(path, "wb", buffering=0) as file:
        time.sleep(chance.random() * CLIENT_SECONDS / 4)  # two calls: emptied, then written
        file.write(b"%d" % os.getpid())
    took = time.monotonic() - looked_at
    time.sleep(chance.random() * CLIENT_SECONDS)
    with open(path, "rb") as file:
        return file.read() == b"%d" % os.getpid(), took


CLIENT_SECONDS = 0.003
RACERS = (ours_enters, ours_enters, client_enters, client_enters)


def racer(
    place: int, memory: str, seed: int, settle_seconds: float, rounds: int, barrier: Any, inside: Any, took: Any
) -> None:
    chance = random.Random(seed + place)
    for _ in range(rounds):
        barrier.wait()
        time.sleep(chance.random() * CLIENT_SECONDS)
        inside[place], took[place] = RACERS[place](memory, chance, settle_seconds)
        barrier.wait()  # nobody leaves before all have decided: two inside are inside at once


def race(memory: Path, seed: int, settle_seconds: float, rounds: int) -> Counter[str]:
    """Two of ours and two clients, all at once, over and over: how often who was inside together."""
    barrier = PROCESSES.Barrier(len(RACERS) + 1, timeout=60)
    inside, took = PROCESSES.Array("b", len(RACERS)), PROCESSES.Array("d", len(RACERS))
    arguments = (str(memory), seed, settle_seconds, rounds, barrier, inside, took)
    racers = [PROCESSES.Process(target=racer, args=(place, *arguments)) for place in range(len(RACERS))]
    for process in racers:
        process.start()
    counts: Counter[str] = Counter()
    try:
        for number in range(rounds):
            for name in os.listdir(memory):
                os.unlink(memory / name)
            if number % 3:
                put(memory, b"" if number % 3 == 1 else b"%d" % GONE)
            barrier.wait()
            barrier.wait()
            assert os.listdir(memory) == [LOCK_NAME]
            ours, clients = sum(inside[:2]), sum(inside[2:])
            # A client that was stopped for longer than we wait writes over us: then we find out before we commit.
            late = "late " if max(took[:]) >= settle_seconds else ""
            named = (memory / LOCK_NAME).read_bytes() in [b"%d" % process.pid for process in racers[:2] if process.pid]
            counts["ours"] += ours == 1 and not clients
            counts["client"] += clients == 1 and not ours
            counts["nobody"] += not ours and not clients
            counts["two clients"] += clients == 2
            counts["two of ours"] += ours == 2
            counts[f"ours and a {late}client"] += bool(ours and clients)
            counts["ours would commit beside a client"] += bool(ours and clients and named)
    except BaseException:
        barrier.abort()
        raise
    finally:
        for process in racers:
            process.join()
    return counts


@pytest.mark.torture
def test_never_two_inside_at_once(memory: Path, torture: bool, campaign: Campaign) -> None:
    seed = campaign.seed
    counts = race(memory, seed, settle_seconds=0.1, rounds=300 if torture else 60)
    print("seed", seed, dict(counts))
    assert counts["two of ours"] == 0
    assert counts["ours and a client"] == 0
    assert counts["ours would commit beside a client"] == 0
    assert counts["ours"] > 0
    assert counts["client"] > 0
