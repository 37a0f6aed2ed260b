"""One dream at a time in a directory, whoever is paused where; and what the dead leave is put right, if not at once."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import random
import signal
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.errors import BusyError, StateError
from memoryd.jobs import recovery
from memoryd.jobs.recovery import recover_dead_dream
from memoryd.memory import exchange, lock
from memoryd.memory.document import body_of
from memoryd.memory.limits import LOCK_NAME
from memoryd.model import Revision
from memoryd.paths import paths_from
from memoryd.state import changes, dreams
from memoryd.state.database import Database, open_database
from tests.crash import dreamer
from tests.jobs.dream_workspace import NOW, FastClock, RevisingEngine

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from memoryd.model import Exchange
    from tests.torture.campaign import Campaign

PROCESSES = multiprocessing.get_context("forkserver")  # a fork of pytest itself would take its threads' locks along
PROCESSES.set_forkserver_preload([__name__])

# --- many processes, one of them paused at one step -------------------------------------------------------------------


class Paced:
    """Hooks in a process of its own: it stops at its n-th step until it is told to go on.

    A step is every call on files, every wait, and every use of the database outside of a transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.number = 0
        self._pause_at = 0
        for name in ("open", "write", "utime", "fsync", "rename", "link", "unlink", "pread", "fstat"):
            setattr(os, name, self._counted(getattr(os, name)))
        exchange._rename = self._counted(exchange._rename)
        fcntl.flock = self._counted(self._told(fcntl.flock))
        for name in ("execute", "query"):
            setattr(Database, name, self._counted(getattr(Database, name)))

    def begin(self, pause_at: int) -> None:
        self.number, self._pause_at = 0, pause_at

    def step(self) -> None:
        self.number += 1
        if self.number == self._pause_at:
            self._connection.send("paused")
            self._connection.recv()

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **keywords: Any) -> Any:
            is_inside = isinstance(arguments[0], Database) and arguments[0]._connection.in_transaction
            if not is_inside:  # nobody is paused there: all others would wait for the database
                self.step()
            return call(*arguments, **keywords)

        return counted

    def _told(self, flock: Callable[..., Any]) -> Callable[..., Any]:
        """Say so before waiting for somebody who may be paused."""

        def told(descriptor: int, how: int) -> None:
            try:
                flock(descriptor, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if how & fcntl.LOCK_NB:
                    raise
                self._connection.send("blocked")
                flock(descriptor, how)

        return told


class PacedClock:
    def __init__(self, paced: Paced) -> None:
        self._paced = paced

    def now(self) -> float:
        return time.time()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        del seconds
        self._paced.step()
        return event.is_set()


class Inside:
    """A file that only one can make: whoever finds it was not alone."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open, self._unlink = os.open, os.unlink
        self._is_mine = False
        self.was_alone = True

    def enter(self) -> None:
        try:
            os.close(self._open(self._path, os.O_CREAT | os.O_EXCL, 0o600))
            self._is_mine = True
        except FileExistsError:
            self.was_alone = False

    def leave(self) -> None:
        if self._is_mine:
            self._unlink(self._path)
            self._is_mine = False


def play(home: str, state: str, connection: Connection) -> None:
    """One of our processes: every line on its connection is a dream that it tries, paused at that step."""
    paths = paths_from({"HOME": home, "XDG_STATE_HOME": os.path.join(home, state)})
    inside = Inside(os.path.join(home, "inside"))

    def revise(_: Sequence[Exchange]) -> list[Revision]:
        """Turn the lines of a memory around, so that there is something to commit."""
        inside.enter()
        text = body_of((dreamer.memory_of(paths) / "project_pump.md").read_bytes()).strip()
        turned = "\n".join(reversed(text.split("\n"))) + "\n"
        files = ("project_pump.md",)
        return [Revision("merged", "Sorting a note", files, "project", "", dreamer.MEMORIES[files[0]], turned)]

    release = lock.Lock.release

    def leave(self: lock.Lock, **keywords: Any) -> bool:
        inside.leave()
        return release(self, **keywords)

    lock.Lock.release = leave  # type: ignore[method-assign]
    with closing(open_database(paths)) as database:
        paced = Paced(connection)
        while (pause_at := connection.recv()) is not None:
            paced.begin(pause_at)
            try:
                dreamt = dreamer.dream(database, paths, PacedClock(paced), RevisingEngine(revise))
                told = dreamt.outcome
            except BusyError:
                told = "busy"
            inside.leave()
            connection.send((told if inside.was_alone else "not alone", paced.number))


def play_client(home: str, _state: str, connection: Connection) -> None:
    """Claude Code: look, write in place, read back; then it consolidates until it is told to end."""
    path = dreamer.memory_of(dreamer.paths_of(home)) / LOCK_NAME
    inside = Inside(os.path.join(home, "inside"))
    while connection.recv() is not None:
        body = path.read_bytes()
        is_held = time.time() - path.stat().st_mtime < lock.STALE_SECONDS and is_alive(body)
        if not is_held:
            path.write_bytes(str(os.getpid()).encode())
        if is_held or path.read_bytes() != str(os.getpid()).encode():
            connection.send(("busy", 0))
            continue
        inside.enter()
        connection.send(("entered" if inside.was_alone else "not alone", 0))
        connection.recv()
        inside.leave()
        path.write_bytes(b"")
        connection.send(("left" if inside.was_alone else "not alone", 0))


def is_alive(body: bytes) -> bool:
    with suppress(ValueError, ProcessLookupError):
        os.kill(int(body), 0)
        return True
    return False


class Players:
    """So many processes on one memory directory, each with a connection to tell it what to do."""

    def __init__(self, home: str, states: Sequence[str], play: Callable[..., None] = play) -> None:
        self.connections: list[Connection] = []
        self._processes = []
        for state in states:
            here, there = PROCESSES.Pipe()
            process = PROCESSES.Process(target=play, args=(home, state, there))
            process.start()
            self.connections.append(here)
            self._processes.append(process)

    def tell(self, player: int, what: object) -> None:
        self.connections[player].send(what)

    def hear(self, player: int) -> Any:
        assert self.connections[player].poll(60), "it never answered"
        return self.connections[player].recv()

    def end_of(self, player: int) -> tuple[str, int]:
        """How its attempt ended, however often it was paused or blocked before."""
        while (told := self.hear(player)) in ("paused", "blocked"):
            if told == "paused":
                self.tell(player, "go on")
        return told  # type: ignore[no-any-return]

    def stop(self) -> None:
        for player, process in enumerate(self._processes):
            with suppress(OSError):
                self.tell(player, None)
            process.join(60)
            assert process.exitcode == 0

    def try_beside_a_paused_one(self, victim: int, step: int) -> list[str]:
        """One stops at that step; all others try; then it goes on. How they ended, the victim first."""
        self.tell(victim, step)
        first = self.hear(victim)
        others = [number for number in range(len(self.connections)) if number != victim]
        for player in others:
            self.tell(player, 0)
        ends = {player: told for player in others if (told := self.hear(player)) != "blocked"}
        if first == "paused":
            self.tell(victim, "go on")
            first = self.end_of(victim)
        ends |= {player: self.end_of(player) for player in others if player not in ends}
        return [first[0], *(ends[player][0] for player in others)]


@pytest.fixture
def home(tmp_path: Path) -> str:
    place = str(tmp_path / "shared")
    dreamer.make_world(place)
    paths = dreamer.paths_of(place)
    with closing(open_database(paths)) as database:
        assert dreamer.dream(database, paths, FastClock()).outcome == "succeeded"
    return place


def left_over(home: str) -> list[str]:
    memory = dreamer.memory_of(dreamer.paths_of(home))
    return [name for name in os.listdir(memory) if name.startswith(".") and name != LOCK_NAME]


@pytest.mark.torture
@pytest.mark.parametrize(
    ("number", "is_one_user"), [(20, True), (4, False)], ids=["twenty", "four that know nothing of each other"]
)
def test_never_two_of_ours_inside_whoever_is_paused_wherever(
    home: str, torture: bool, number: int, is_one_user: bool, campaign: Campaign
) -> None:
    """Those with databases of their own have only the lock file and the kernel's lock on the directory between them."""
    players = Players(home, ["state" if is_one_user else f"state-{index}" for index in range(number)])
    try:
        players.tell(0, 0)
        outcome, steps = players.end_of(0)
        assert outcome == "succeeded"
        assert steps > 80
        rounds = [(victim, step) for victim in range(number) for step in range(1, steps + 1)]
        for victim, step in campaign.in_time(rounds if torture else random.Random(7).sample(rounds, 20)):
            ends = players.try_beside_a_paused_one(victim, step)
            assert set(ends) <= {"succeeded", "busy"}, f"player {victim} paused at {step}: {ends}"
            assert "succeeded" in ends, f"player {victim} paused at {step}: nobody dreamt"
    finally:
        players.stop()
    assert not left_over(home)


@pytest.mark.torture
def test_never_one_of_ours_and_a_client_inside_wherever_ours_is_paused(
    home: str, torture: bool, campaign: Campaign
) -> None:
    ours, client = Players(home, ["state"]), Players(home, [""], play_client)
    ended: list[tuple[str, str]] = []
    try:
        ours.tell(0, 0)
        _, steps = ours.end_of(0)
        steps_to_pause_at = range(1, steps + 1) if torture else random.Random(7).sample(range(1, steps + 1), 25)
        for step in campaign.in_time(steps_to_pause_at):
            ours.tell(0, step)
            first = ours.hear(0)
            client.tell(0, "enter")
            theirs, _ = client.hear(0)
            if first == "paused":
                ours.tell(0, "go on")
                first = ours.end_of(0)
            ended.append((first[0], theirs))
            if theirs == "entered":
                client.tell(0, "leave")
                assert client.hear(0)[0] == "left"
    finally:
        ours.stop()
        client.stop()
    # Where ours had released already, both had their turn, one after the other.
    assert set(ended) <= {("succeeded", "busy"), ("busy", "entered"), ("succeeded", "entered")}, ended
    assert {("succeeded", "busy"), ("busy", "entered")} <= set(ended)
    assert not left_over(home)


# --- after a death that cannot be put right at once -------------------------------------------------------------------


def die_where_it_counts(home: str, module: str, name: str) -> None:
    """Dream, and be killed when that function is called."""
    place = {"changes": changes, "lock": lock}[module]
    setattr(place, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
    paths = dreamer.paths_of(home)
    with closing(open_database(paths)) as database:
        dreamer.dream(database, paths, FastClock())


class Grave:
    """A world in which a dream was killed."""

    def __init__(self, home: str, module: str, name: str) -> None:
        dreamer.make_world(home)
        process = PROCESSES.Process(target=die_where_it_counts, args=(home, module, name))
        process.start()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        self.paths = dreamer.paths_of(home)
        self.memory = dreamer.memory_of(self.paths)
        self.database = open_database(self.paths)

    def recover_dead_dream(self) -> bool:
        return recover_dead_dream(self.database, self.paths, str(self.memory), NOW + 60)

    def jobs(self) -> list[str | None]:
        return [row[0] for row in self.database.query("SELECT outcome FROM jobs ORDER BY id")]

    def lock(self) -> tuple[bytes, int]:
        path = self.memory / LOCK_NAME
        return path.read_bytes(), path.stat().st_mtime_ns


@pytest.fixture
def dig(tmp_path: Path) -> Iterator[Callable[[str, str], Grave]]:
    graves: list[Grave] = []

    def one(module: str, name: str) -> Grave:
        graves.append(Grave(str(tmp_path / "grave"), module, name))
        return graves[-1]

    yield one
    for grave in graves:
        grave.database.close()


def fail_to_write(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_lock_that_cannot_be_put_back_yet_is_not_taken_again(
    dig: Callable[[str, str], Grave], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever took it from the dead one would remember the dead one's time as the last success, and lose a day."""
    grave = dig("changes", "prepare")
    (held,) = dreams.held_locks(grave.database)
    monkeypatch.setattr(lock, "_write", fail_to_write)
    with pytest.raises(StateError, match="No space left"):
        dreamer.dream(grave.database, grave.paths, FastClock(NOW + 60))
    assert grave.recover_dead_dream()
    assert dreams.held_locks(grave.database) == [held]
    assert grave.jobs() == ["killed"], "its turns need not wait for that"
    monkeypatch.undo()
    assert grave.recover_dead_dream()
    assert grave.lock() == (b"", dreamer.PRIOR_NS)
    assert not dreams.held_locks(grave.database)


def test_a_commit_that_cannot_be_finished_yet_still_counts_when_it_is(
    dig: Callable[[str, str], Grave], monkeypatch: pytest.MonkeyPatch
) -> None:
    grave = dig("changes", "close")
    monkeypatch.setattr(recovery, "recover", unfinishable)
    assert grave.recover_dead_dream()
    assert grave.jobs() == [None]
    monkeypatch.undo()
    assert grave.recover_dead_dream()
    assert grave.jobs() == ["succeeded"]
    assert grave.lock() == (b"", int(NOW * 1e9)), "the time of the dream, not of its recovery"


def unfinishable(*_: object) -> None:
    raise StateError("The memory directory cannot be written.")


def test_the_dead_of_a_directory_that_is_gone_are_buried(dig: Callable[[str, str], Grave]) -> None:
    grave = dig("changes", "prepare")
    grave.memory.rename(grave.memory.with_name("elsewhere"))
    assert grave.recover_dead_dream()
    assert grave.jobs() == ["killed"]
    assert not dreams.held_locks(grave.database)


def test_a_dream_that_is_alive_is_not_buried(home: str) -> None:
    paths = dreamer.paths_of(home)
    with closing(open_database(paths)) as database, closing(open_database(paths)) as other:
        buried: list[bool] = []

        def look(_: Sequence[Exchange]) -> list[Revision]:
            buried.append(recover_dead_dream(other, paths, str(dreamer.memory_of(paths)), NOW))
            with pytest.raises(BusyError, match="going on"):
                dreamer.dream(other, paths, FastClock())
            return []

        assert dreamer.dream(database, paths, FastClock(), RevisingEngine(look)).outcome == "succeeded_no_output"
        assert buried == [False]
