"""The watch on the transcripts: what it reports, how it dies, what it leaves behind."""

from __future__ import annotations

import ctypes
import errno
import os
import queue
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from watchdog.utils import delayed_queue

from memoryd.daemon.wake_file import prepare, wake
from memoryd.transcripts import watch
from memoryd.transcripts.watch import Watcher, WatchLimitError
from tests.transcripts.watched import PATIENCE_SECONDS, Place, refuse_watches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.paths import Paths

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="how inotify fails is Linux's")


@pytest.fixture
def place(paths: Paths) -> Iterator[Place]:
    place = Place(paths)
    yield place
    place.close()


@pytest.fixture
def deaths(monkeypatch: pytest.MonkeyPatch) -> queue.Queue[str]:
    """Which exceptions ended a thread."""
    found: queue.Queue[str] = queue.Queue()

    def died(arguments: threading.ExceptHookArgs) -> None:
        found.put(arguments.exc_type.__name__)

    monkeypatch.setattr(threading, "excepthook", died)
    return found


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


# --- what it reports --------------------------------------------------------------------------------------------------


def test_growth_is_reported_by_its_folder_and_so_is_a_wake(place: Place) -> None:
    watcher = place.watch()
    place.grow()
    place.reports(watcher, place.folder)
    wake(place.paths)
    place.reports(watcher, os.path.dirname(place.paths.wake_file))
    wake(place.paths)  # the file is there already, and only touched
    place.heard.clear()
    place.reports(watcher, os.path.dirname(place.paths.wake_file))


def test_what_is_new_is_reported_and_what_grows_in_it(place: Place) -> None:
    watcher = place.watch()
    new = place.root / "-code-beta" / "two.jsonl"
    new.parent.mkdir()
    new.write_bytes(b"")
    place.reports(watcher, new.parent)
    place.heard.clear()
    watcher.take()
    place.grow(new)
    place.reports(watcher, new.parent)


def test_a_renamed_folder_is_reported_and_what_grows_in_it(place: Place) -> None:
    watcher = place.watch()
    moved = place.root / "-code-moved"
    place.folder.rename(moved)
    place.reports(watcher, place.root)
    place.grow(moved / "one.jsonl")
    place.reports(watcher, moved)


def test_memories_and_whoever_reads_are_not_reported(place: Place) -> None:
    """What memoryd itself does all day must not wake it. The system reports in order, so the last one tells."""
    other = place.root / "-code-beta" / "two.jsonl"
    other.parent.mkdir()
    watcher = place.watch()
    for number in range(20):
        new = place.memory / ".new"
        new.write_text("a memory")
        new.rename(place.memory / f"feedback_{number}.md")
        place.transcript.read_bytes()
        os.scandir(place.folder).close()
    (place.memory / "feedback_0.md").unlink()
    place.grow(other)
    place.reports(watcher, other.parent)
    assert place.heard == {str(other.parent)}


def test_it_rings_once_until_it_was_asked(place: Place) -> None:
    """A stream of reports is one ring; who settles counts them."""
    watcher = place.watch()
    place.grow()
    assert place.wakeup.wait(PATIENCE_SECONDS) == {"change"}
    before = watcher.number
    place.grow()
    while watcher.number == before:
        assert not place.wakeup.wait(0.01)
    assert watcher.take() == {str(place.folder)}
    place.grow()
    assert place.wakeup.wait(PATIENCE_SECONDS) == {"change"}


# --- how it dies ------------------------------------------------------------------------------------------------------


def test_an_exception_in_the_handler_is_a_death(place: Place, deaths: queue.Queue[str]) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    watcher = Watcher([place.watched], place.paths.wake_file, fail)
    assert watcher.is_alive
    place.grow()
    assert deaths.get(timeout=PATIENCE_SECONDS) == "ZeroDivisionError"
    assert_dies(watcher)
    watcher.stop()


def test_an_exception_where_events_are_made_is_a_death(
    place: Place, deaths: queue.Queue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = place.watch()
    for emitter in watcher._observer.emitters:
        monkeypatch.setattr(emitter, "queue_event", lambda _: 1 / 0)
    place.grow()
    assert deaths.get(timeout=PATIENCE_SECONDS) == "ZeroDivisionError"
    assert_dies(watcher)


def test_a_folder_moved_out_and_deleted_there_kills_the_reader_and_that_is_noticed(
    place: Place, tmp_path: Path, deaths: queue.Queue[str]
) -> None:
    """Its reader looks the old one up under a name that another folder has had meanwhile. The other threads live on."""
    before = open_files()
    watcher = place.watch()
    outside = tmp_path / "outside"
    place.folder.rename(outside)
    place.folder.mkdir()
    place.reports(watcher, place.root)
    place.folder.rename(place.root / "-code-beta")
    shutil.rmtree(outside)
    assert deaths.get(timeout=PATIENCE_SECONDS) == "KeyError"
    assert_dies(watcher)
    assert watcher.is_in_place
    watcher.stop()
    assert open_files() == before


def test_a_read_that_fails_is_a_death(place: Place, deaths: queue.Queue[str], monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = place.watch()

    class Broken:
        """The system, for the reader alone."""

        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

        def read(self, *_: int) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr("watchdog.observers.inotify_c.os", Broken())
        place.grow()
        assert deaths.get(timeout=PATIENCE_SECONDS) == "OSError"
    assert_dies(watcher)


def assert_dies(watcher: Watcher) -> None:
    """A thread counts as alive until the hook that tells of its death has returned."""
    until = time.monotonic() + PATIENCE_SECONDS
    while watcher.is_alive:
        assert time.monotonic() < until
        threading.Event().wait(0.01)


# --- where it stands --------------------------------------------------------------------------------------------------


def made_anew(place: Place) -> None:
    place.root.rename(f"{place.root}.old")  # which keeps its number, so that no other folder can get it
    place.root.mkdir()


def made_a_link(place: Place) -> None:
    place.root.rename(f"{place.root}.elsewhere")
    place.root.symlink_to(f"{place.root}.elsewhere.new")
    os.mkdir(f"{place.root}.elsewhere.new")


def removed(place: Place) -> None:
    shutil.rmtree(place.root)


def wake_folder_made_anew(place: Place) -> None:
    folder = os.path.dirname(place.paths.wake_file)
    os.rename(folder, f"{folder}.old")
    prepare(place.paths)


@pytest.mark.parametrize("change", [made_anew, made_a_link, removed, wake_folder_made_anew])
def test_another_folder_under_the_name_is_not_the_one_that_is_watched(
    place: Place, change: Callable[[Place], None]
) -> None:
    watcher = place.watch()
    assert watcher.is_in_place
    change(place)
    assert not watcher.is_in_place


def test_a_root_that_is_a_link_is_watched_where_it_points(place: Place) -> None:
    real = Path(f"{place.root}.real")
    place.root.rename(real)
    place.root.symlink_to(real)
    watcher = place.watch()
    place.grow()
    place.reports(watcher, place.folder)


def test_without_a_root_it_can_be_woken_all_the_same(place: Place) -> None:
    shutil.rmtree(place.root)
    watcher = place.watch()
    assert not watcher.has_root
    wake(place.paths)
    place.reports(watcher, os.path.dirname(place.paths.wake_file))
    place.root.mkdir()
    assert not watcher.is_in_place


# --- what it leaves behind --------------------------------------------------------------------------------------------


def test_stopped_it_leaves_no_thread_and_no_descriptor(place: Place) -> None:
    before = open_files(), threading.active_count()
    for _ in range(5):
        place.watch().stop()
    assert (open_files(), threading.active_count()) == before


@pytest.mark.parametrize("behind", [0, 1, 2])
def test_a_limit_of_watches_is_told_and_no_watch_is_kept(
    place: Place, monkeypatch: pytest.MonkeyPatch, behind: int
) -> None:
    """What was watched before the limit came would stay taken, for memoryd and for every other program."""
    before = open_files(), threading.active_count()
    refuse_watches(monkeypatch, errno.ENOSPC, behind)
    with pytest.raises(WatchLimitError) as told:
        place.watch()
    assert told.value.errno == errno.ENOSPC
    assert (open_files(), threading.active_count()) == before


def test_a_limit_of_instances_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    before = open_files(), threading.active_count()

    def refuse() -> int:
        ctypes.set_errno(errno.EMFILE)
        return -1

    monkeypatch.setattr("watchdog.observers.inotify_c.inotify_init", refuse)
    with pytest.raises(WatchLimitError) as told:
        place.watch()
    assert told.value.errno == errno.EMFILE
    assert (open_files(), threading.active_count()) == before


def test_another_error_is_passed_on_and_nothing_is_kept(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    before = open_files(), threading.active_count()
    refuse_watches(monkeypatch, errno.ENOENT, 2)  # a folder that is gone again
    with pytest.raises(FileNotFoundError):
        place.watch()
    assert (open_files(), threading.active_count()) == before


def test_stopping_does_not_wait_for_a_clock_that_was_set_back(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread waits half a second for the other half of a move, by the clock on the wall: a day back, for a day."""
    asleep, awake = threading.Event(), threading.Event()

    class SetBack:
        """Says a day less each time, until it has caught up."""

        def __init__(self) -> None:
            self._days = 0

        def time(self) -> float:
            self._days += 1
            return 0.0 if awake.is_set() else -86_400.0 * self._days

        def sleep(self, seconds: float) -> None:
            assert seconds > 80_000
            asleep.set()
            awake.wait(PATIENCE_SECONDS)

    monkeypatch.setattr(watch, "_STOP_SECONDS", 0.1)
    watcher = place.watch()
    monkeypatch.setattr(delayed_queue, "time", SetBack())
    place.transcript.rename(tmp_path / "gone.jsonl")
    assert asleep.wait(PATIENCE_SECONDS)
    try:
        watcher.stop()
    finally:
        awake.set()
        assert_dies(watcher)
