"""The loop, in a thread of the test: its helpers die, its clock is wrong, its disk is full, and it goes on."""

from __future__ import annotations

import datetime as dt
import errno
import os
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import pytest

from memoryd.clock import SystemClock
from memoryd.config import load
from memoryd.daemon import loop
from memoryd.daemon.loop import STOP, Daemon
from memoryd.daemon.sd_notify import Supervisor
from memoryd.daemon.single_instance import only_instance, running_instance
from memoryd.daemon.wake_file import wake
from memoryd.daemon.wakeup import Wakeup
from memoryd.errors import StateError
from memoryd.jobs.ingest import Ingester
from memoryd.log.writer import open_log
from tests.transcript import Session, write
from tests.transcripts.watched import refuse_watches

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from memoryd.jobs.ingest import IngestReport
    from memoryd.paths import Paths

PATIENCE_SECONDS = 180.0
SELDOM = 3600.0


class WrongClock(SystemClock):
    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


class Running:
    """A daemon that runs, the client whose transcript it watches, and what can be seen of it."""

    def __init__(self, paths: Paths, environment: dict[str, str]) -> None:
        self.paths = paths
        self._environment = environment
        self.said: list[str] = []
        self.clock = WrongClock()
        self.session = Session()
        self.transcript = write(paths.transcripts_root, self.session, self.session.turn())
        self.daemon: Daemon
        self._wakeup = Wakeup()
        self._thread = threading.Thread(target=self._run)
        self._failure: BaseException | None = None

    def configure(
        self, interval: float = SELDOM, settle: float = 0.05, longest: float = 3.0, *, extraction: bool = False
    ) -> None:
        os.makedirs(os.path.dirname(self.paths.config_file), exist_ok=True)
        Path(self.paths.config_file).write_text(
            f"[scan]\ninterval_seconds = {interval}\nsettle_seconds = {settle}\nlongest_settle_seconds = {longest}\n"
            f"[features]\nextraction = {str(extraction).lower()}\ndream = false\n"
        )

    def _run(self) -> None:
        try:
            with only_instance(self.paths, self.clock.now()) as held, self._wakeup:
                log = open_log(self.paths, "info")
                self.daemon = Daemon(
                    *(self.paths, load(self.paths), self.clock, self.said.append, log, held, self._environment),
                    *(self._wakeup, Supervisor({})),
                )
                self.daemon.run()
                log.close()
        except BaseException as error:  # noqa: BLE001 - raised in the test's own thread
            self._failure = error

    def __enter__(self) -> Self:
        self._thread.start()
        self.says("History: 1 turn")
        self.until(lambda: running_instance(self.paths) and self.daemon._health._reported[0])
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._wakeup.wake(STOP)
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure

    def until(self, is_so: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < end, "\n".join(self.said)
            assert self._thread.is_alive(), self._failure
            threading.Event().wait(0.01)

    def says(self, text: str) -> None:
        self.until(lambda: any(text in line for line in self.said))

    def logs(self, text: str) -> None:
        self.until(lambda: f'"event": "{text}"' in Path(self.paths.log_file).read_text())

    def talk(self) -> None:
        """Say something, and wait until the daemon has seen it."""
        self.said.clear()
        self.append()
        self.says(" ended, read ")

    def append(self) -> None:
        with self.transcript.open("ab") as file:
            file.write(self.session.turn())

    @property
    def troubles(self) -> list[str]:
        running = running_instance(self.paths)
        return [trouble.name for trouble in running.troubles] if running else []


@pytest.fixture
def running(paths: Paths, environment: dict[str, str]) -> Running:
    running = Running(paths, environment)
    running.configure()
    return running


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[IngestReport]:
    """Every look at the transcripts, as it ended."""
    found: list[IngestReport] = []
    sweep = Ingester.ingest

    def counted(ingester: Ingester, now: float, only: frozenset[str] | None) -> IngestReport:
        found.append(sweep(ingester, now, only))
        return found[-1]

    monkeypatch.setattr(Ingester, "ingest", counted)
    return found


# --- helpers that die -------------------------------------------------------------------------------------------------


def fail(*_: Any) -> None:
    raise ZeroDivisionError


def kill_the_handler(running: Running, _elsewhere: Path) -> None:
    watcher = running.daemon._watch_health._watcher
    assert watcher
    watcher._reports._wake = fail
    running.append()


def kill_who_makes_events(running: Running, _elsewhere: Path) -> None:
    watcher = running.daemon._watch_health._watcher
    assert watcher
    for emitter in watcher._observer.emitters:
        emitter.queue_event = fail  # type: ignore[assignment,method-assign]
    running.append()


def kill_who_reads_events(running: Running, elsewhere: Path) -> None:
    """Watchdog stumbles over a folder that is deleted elsewhere, once its name had two others after it."""
    folder = Path(running.paths.transcripts_root, "-code-beta")
    for place in (None, elsewhere / "outside"):
        if place is not None:
            folder.rename(place)
        before = running.daemon._watch_health.number
        folder.mkdir()
        running.until(lambda before=before: running.daemon._watch_health.number > before)  # type: ignore[misc]
    folder.rename(f"{folder}-renamed")
    shutil.rmtree(elsewhere / "outside")


@pytest.mark.parametrize("kill", [kill_the_handler, kill_who_makes_events, kill_who_reads_events])
def test_a_watch_that_dies_is_begun_anew_at_once(
    running: Running, tmp_path: Path, kill: Callable[[Running, Path], None]
) -> None:
    """Nobody else would look for an hour."""
    with running:
        running.talk()
        kill(running, tmp_path)
        running.logs("thread died")
        running.logs("watcher died")
        running.talk()
        running.talk()
        assert running.troubles == []


def test_ticks_that_die_are_begun_anew(running: Running) -> None:
    with running:
        first = running.daemon._ticks
        assert first
        first._scheduler._process_jobs = fail
        first._scheduler.wakeup()
        running.logs("ticks restarted")
        running.until(lambda: running.daemon._ticks is not first)
        assert running.daemon._ticks
        assert running.daemon._ticks.is_alive


def test_ticks_that_a_clock_set_back_has_stopped_are_begun_anew(
    running: Running, looks: list[IngestReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would ring again when the clock has caught up, in a day; their thread lives."""
    wrong = dt.timedelta()

    class Moment(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Moment:
            return super().now(tz) + wrong

    for module in ("schedulers.base", "triggers.interval"):
        monkeypatch.setattr(f"apscheduler.{module}.datetime", Moment)
    monkeypatch.setattr(loop, "_LATE_SECONDS", 0.2)
    running.configure(interval=0.1)
    with running:
        wrong = dt.timedelta(days=-1)
        running.logs("ticks restarted")
        seen = len(looks)
        running.until(lambda: len(looks) > seen + 2)
    log = Path(running.paths.log_file).read_text()
    assert '"alive": true' in log
    assert "thread died" not in log


def test_without_a_watch_what_is_said_is_seen_by_the_second_look_at_the_latest(
    running: Running, looks: list[IngestReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first may have begun before."""
    refuse_watches(monkeypatch, errno.ENOSPC, 0)
    running.configure(interval=0.2)
    with running:
        assert running.troubles == ["watch_limit"]
        for _ in range(3):
            before = len(looks)
            running.append()
            after = len(looks)
            running.until(lambda after=after: len(looks) >= after + 2)  # type: ignore[misc]
            assert any(look.events for look in looks[before : after + 2])


# --- what troubles it -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "way"), [(-86_500.0, "back by 24 h"), (10_900.0, "forward by 3 h")])
def test_a_clock_that_jumps_is_named_and_what_is_said_is_still_seen(running: Running, seconds: float, way: str) -> None:
    with running:
        running.clock.ahead = seconds
        running.talk()
        running.until(lambda: running.troubles == ["clock_jumped"])
        assert any(f"The clock jumped {way}" in line for line in running.said)
        running.talk()


def test_a_disk_that_is_nearly_full_is_named_until_there_is_room(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running:
        with monkeypatch.context() as full:
            full.setattr("memoryd.daemon.health.os.statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=4096))
            running.talk()
            running.until(lambda: running.troubles == ["disk_nearly_full"])
        wake(running.paths)
        running.says("There is room on the disk again.")
        running.until(lambda: running.troubles == [])


def test_it_rests_where_the_database_fails_in_the_middle_of_a_backlog(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    wait = Wakeup.wait

    def failing(*_: object) -> IngestReport:
        waits.clear()
        raise StateError("The state database failed.", "df -h")

    def noted(wakeup: Wakeup, seconds: float) -> frozenset[str]:
        waits.append(seconds)
        return wait(wakeup, seconds)

    with running:
        running.daemon._backlog = 3
        monkeypatch.setattr(Ingester, "ingest", failing)
        monkeypatch.setattr(Wakeup, "wait", noted)
        wake(running.paths)
        running.until(lambda: running.troubles == ["database_busy"] and waits)
        assert waits[0] > 1


def test_silence_is_no_matter_of_what_was_known_before(running: Running) -> None:
    """One session is reported; another has gone on, unreported, when its silence would end its turn."""
    other = Session("other")
    with running:
        path = write(running.paths.transcripts_root, other, other.prompt() + other.reply(stop_reason=None), "-other")
        running.until(lambda: running.daemon._next_at)
        watcher = running.daemon._watch_health._watcher
        assert watcher
        add = watcher._reports.add
        watcher._reports.add = lambda paths: "-other" in str(paths) or add(paths)  # type: ignore[method-assign,assignment]
        with path.open("ab") as file:
            file.write(other.reply(stop_reason=None))
        running.clock.ahead = 25.0
        os.utime(path, (running.clock.now(), running.clock.now()))
        running.talk()
        with closing(sqlite3.connect(running.paths.database)) as database:
            sql = "SELECT end_reason FROM turns JOIN transcripts ON transcripts.id = transcript_id WHERE session_id = ?"
            assert database.execute(sql, (other.id,)).fetchall() == [(None,)]


def test_a_session_without_a_project_is_no_reason_to_look_again_and_again(
    running: Running, looks: list[IngestReport]
) -> None:
    running.configure(extraction=True)
    nowhere = Session("nowhere", cwd="")
    with running:
        write(running.paths.transcripts_root, nowhere, nowhere.turn(), "-nowhere")
        running.says(" ended, read ")
        running.clock.ahead = 86_400.0
        seen = len(looks)
        wake(running.paths)
        running.until(lambda: len(looks) > seen and "clock_jumped" in running.troubles)
        assert running.daemon._next_at is None


def test_a_config_that_is_broken_is_named_until_it_is_mended_and_another_interval_is_taken_over(
    running: Running, looks: list[IngestReport]
) -> None:
    """Until then the old settings hold: it looks, and begins nothing."""
    with running:
        Path(running.paths.config_file).write_text("[scan]\nintervall_seconds = 1\n")
        wake(running.paths)
        running.until(lambda: running.troubles == ["config_broken"])
        running.talk()
        running.configure(interval=0.1)
        wake(running.paths)
        running.says("The config file can be used again.")
        seen = len(looks)
        running.until(lambda: len(looks) > seen + 3)  # nobody wakes it but the ticks
        assert running.troubles == []


# --- when it looks ----------------------------------------------------------------------------------------------------


def test_what_comes_at_once_is_looked_at_together(running: Running, looks: list[IngestReport]) -> None:
    """Fewer looks than reports: not one of fifty has to come within the same second."""
    running.configure(settle=1.0)
    with running:
        running.talk()
        seen = len(looks)
        for _ in range(50):
            running.append()
        running.until(lambda: sum(len(look.events) for look in looks[seen:]) >= 50)
        assert len(looks) - seen < 50


def test_a_stream_that_does_not_end_is_looked_at_all_the_same(running: Running, looks: list[IngestReport]) -> None:
    """It is never quiet for so long as it should be."""
    running.configure(settle=30.0, longest=0.3)
    stop = threading.Event()

    def stream() -> None:
        while not stop.wait(0.02):
            running.append()

    writer = threading.Thread(target=stream)
    with running:
        seen = len(looks)
        writer.start()
        try:
            running.until(lambda: sum(bool(look.events) for look in looks[seen:]) >= 3)
        finally:
            stop.set()
            writer.join()


def test_what_memoryd_does_itself_does_not_wake_it(running: Running) -> None:
    """It reads transcripts and writes memories. The system reports in order, so that what was said last tells."""
    memories = 30
    memory = running.transcript.parent / "memory"
    memory.mkdir()
    with running:
        running.talk()
        reported = running.daemon._watch_health.number
        for number in range(memories):
            new = memory / ".new"
            new.write_text("a memory")
            new.rename(memory / f"feedback_{number}.md")
            running.transcript.read_bytes()
        running.talk()
        assert running.daemon._watch_health.number - reported < memories


def test_a_wake_is_heard_at_once(running: Running, looks: list[IngestReport]) -> None:
    with running:
        for _ in range(3):
            seen = len(looks)
            wake(running.paths)
            running.until(lambda seen=seen: len(looks) > seen)  # type: ignore[misc]


def test_it_ends_at_once_while_it_waits_for_quiet(running: Running) -> None:
    running.configure(settle=SELDOM, longest=SELDOM)
    with running:
        running.append()
        running.until(lambda: running.daemon._watch_health.number)
    assert " ended, read " not in "".join(running.said)
