"""Loop of `memoryd run`: ingests transcripts when it is woken, starts due jobs, and reports what happens."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd import __version__
from memoryd.clients.registry import ALL
from memoryd.clock import elapsed
from memoryd.config.last_good import keep
from memoryd.daemon import last_failure
from memoryd.daemon.children import CHILD_SECONDS, Children
from memoryd.daemon.config_watch import ConfigWatch
from memoryd.daemon.health import ClockWatch, DaemonHealth, disk_troubles
from memoryd.daemon.reporter import Reporter
from memoryd.daemon.schedule import Ticks
from memoryd.daemon.single_instance import Trouble
from memoryd.daemon.syncer import Syncer
from memoryd.engines.model.credentials import is_chosen, with_models
from memoryd.errors import BusyError, CorruptStateError, StateError
from memoryd.formatting import count, short
from memoryd.jobs import gates
from memoryd.jobs.holds import engine_wait
from memoryd.jobs.ingest import Ingester
from memoryd.jobs.upkeep import upkeep_due
from memoryd.model import Due, Wait
from memoryd.state import jobs, notices, sessions, waiting
from memoryd.state.database import open_database, set_aside
from memoryd.transcripts.watch_health import CONFIRM_SECONDS, WatchHealth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.daemon.sd_notify import Supervisor
    from memoryd.daemon.single_instance import InstanceLock
    from memoryd.daemon.wakeup import Wakeup
    from memoryd.log.writer import Log
    from memoryd.paths import Paths
    from memoryd.state.database import Database

STOP, CHANGE, LOOK, DREAMS, UPKEEP, THREAD = "stop", "change", "look", "dreams", "upkeep", "thread"
"""Names of what wakes the loop: a signal, the watcher, the ticks, a thread that died."""

_TICKS = frozenset({LOOK, DREAMS, UPKEEP})
_TOGETHER_SECONDS = 0.05
"""Time to collect ticks that fall due together, so that one pass serves all of them."""

DREAM_CHECK_SECONDS = 60.0
_UPKEEP_CHECK_SECONDS = 3600.0
_MISSING_ROOT_SECONDS = 5.0
_TROUBLE_SECONDS = 5.0
_LATE_SECONDS = 5.0
_DYING_SECONDS = 1.0
_SHORTEST_SECONDS = 0.05


class Daemon:
    """One loop in one thread. The caller holds the lock of `single_instance.only_instance`, and wakes it with `STOP`."""

    def __init__(
        self,
        paths: Paths,
        config: Config,
        clock: Clock,
        say: Callable[[str], None],
        log: Log,
        held: InstanceLock,
        environment: Mapping[str, str],
        wakeup: Wakeup,
        supervisor: Supervisor,
    ) -> None:
        self._paths = paths
        self._config = config
        self._config_watch = ConfigWatch(paths, config)
        self._clock = clock
        self._say = say
        self._log = log
        self._held = held
        self._wakeup = wakeup
        self._supervisor = supervisor
        self._database: Database | None = None
        self._ingester: Ingester | None = None
        self._reporter = Reporter(paths, config, say, log)
        self._children = Children(paths, say, log, environment)
        self._syncer = Syncer(say, log, environment)
        self._watch_health = WatchHealth(ALL, paths, lambda: wakeup.wake(CHANGE), log.warning)
        self._health = DaemonHealth(held, say, log)
        self._clock_watch = ClockWatch()
        self._dead: deque[threading.Thread] = deque()
        self._ticks: Ticks | None = None
        self._ticked_at = 0.0
        self._is_due = {DREAMS, UPKEEP}
        self._reported_summary = ""  # to the supervisor; the first one says that we are ready
        self._backlog = 0
        self._sessions = 0
        self._knows_transcripts = False  # now or from before
        self._next_at: float | None = None  # when something may fall due by itself
        self._trouble: Trouble | None = None  # with the database

    def run(self) -> None:
        """Make passes until `STOP`.

        A damaged database is set aside and rebuilt; one that is locked or cannot grow is tried again at the next look.
        Any other failure ends the daemon with an error: its supervisor starts it again.
        """
        roots = [place.root for client in ALL for place in client.session_places(self._paths, ())]
        watched = [root for root in roots if os.path.isdir(root)] or roots[:1]
        self._log.info("started", version=__version__, pid=os.getpid(), roots=watched)
        self._say(f"memoryd {__version__} watches {', '.join(short(root, self._paths.home) for root in watched)}.")
        keep(self._paths)
        hook, threading.excepthook = threading.excepthook, self._thread_died
        try:
            self._look_until_stopped()
        finally:
            self._syncer.kill()
            self._children.kill()  # no child is left, unless a second signal came
            threading.excepthook = hook
            self._watch_health.stop()
            if self._ticks is not None:
                self._ticks.stop()
            if self._database is not None:
                with suppress(StateError, BusyError):
                    self._reporter.report_jobs(self._database, self._clock.now())  # those that ended just now
                self._database.close()
            self._log.info("stopped")

    def _look_until_stopped(self) -> None:
        """Make passes, then let children finish, unless a second signal raises KeyboardInterrupt at any line."""
        patience = CHILD_SECONDS
        try:
            heard: frozenset[str] = frozenset()
            while STOP not in heard:
                self._look(heard)
                heard = self._rest()
        except KeyboardInterrupt:
            patience = 0.0
            raise
        finally:
            self._supervisor.stopping()
            self._syncer.stop()
            self._children.stop(patience)

    # --- looking ------------------------------------------------------------------------------------------------------

    def _look(self, heard: frozenset[str]) -> None:
        """Make one pass, then restart watcher and ticks where they have stopped."""
        if self._held.keep():
            self._say("The lock file was deleted; it is there again, so that no second memoryd starts.")
            self._log.warning("lock taken anew")
        self._reread_config()
        while self._dead:
            self._dead.popleft().join(_DYING_SECONDS)
        self._watch_health.keep(elapsed())
        is_report_enough = self._is_report_enough(heard)
        self._next_at = None
        try:
            self._tick(self._clock.now(), is_report_enough=is_report_enough)
            self._trouble = None
        except CorruptStateError as error:
            self._rebuild(error)
            self._wakeup.wake(LOOK)
        except (StateError, BusyError) as error:
            if self._database is None and not isinstance(error, BusyError):
                raise  # it never worked: a person has to fix it
            self._trouble = Trouble("database_busy", error.sentence, error.fix)
        self._keep_ticking()
        self._health.report(self._watch_health.watching, list(self._troubles()))
        if (summary := self._summary()) == self._reported_summary:
            return
        if not self._reported_summary:
            last_failure.clear(self._paths)
            self._supervisor.ready(summary)
        else:
            self._supervisor.status(summary)
        self._reported_summary = summary

    def _is_report_enough(self, heard: frozenset[str]) -> bool:
        """Whether it is enough to read the folders in which growth was reported.

        Before a session falls due by silence, its transcript has to be looked at again; and when ticks are late, all
        folders are read.
        """
        is_ticking = elapsed() - self._ticked_at <= self._config.scan.interval_seconds + _LATE_SECONDS
        return heard == {CHANGE} and is_ticking and (self._next_at is None or self._clock.now() < self._next_at)

    def _tick(self, now: float, *, is_report_enough: bool) -> None:
        if self._database is None or self._ingester is None:
            self._database = open_database(self._paths)
            self._database.check()
            self._ingester = Ingester(ALL, self._database, self._paths, self._config)
            self._reporter.begin_behind(jobs.last_id(self._database))
            self._children.recover(self._database, now)
        elif not self._database.is_in_place():
            text = "The state database was deleted. A new one was made: what was waiting counts as history now."
            self._log.error("database deleted")
            self._begin_anew(notices.Notice(notices.DELETED, text, "memoryd backfill", self._paths.database))
            self._wakeup.wake(LOOK)
            return
        database = self._database
        reported = self._watch_health.take()
        only = reported if is_report_enough else None
        report = self._ingester.ingest(now, only)
        self._watch_health.use_projects(self._ingester.project_roots)
        self._backlog = report.backlog
        if only is None:
            self._sessions = report.transcripts
        if not self._knows_transcripts:
            self._knows_transcripts = report.transcripts > 0 or sessions.has_files(database)
        if not report.backlog:
            self._watch_health.judge(report.grown, elapsed())
        self._reporter.report_found(report)
        self._reporter.report_backlog(report, database)
        self._reporter.report_turns(report.events, database)
        self._reporter.report_jobs(database, now)
        self._children.handle_ended(database, now)
        if not report.backlog:
            self._begin_what_is_due(database, now)
            if only is None:
                self._children.reindex(database, self._config, now)
            self._syncer.look(database, self._config, now, self._children.config_file)
            self._children.read_memories(now)
            self._reporter.report_why_not(database, now)
            self._reporter.report_unreadable(database)
        self._next_at = min(self._times(database, self._ingester, now), default=None)

    def _begin_what_is_due(self, database: Database, now: float) -> None:
        if not self._config_watch.is_usable_by_children:
            return
        self._children.note(database, self._config, now)
        self._children.extract(database, self._config, now)
        self._children.note_by_model(database, self._config, now)
        if DREAMS in self._is_due:
            self._is_due.discard(DREAMS)
            self._children.dream(database, self._config, now)
        if UPKEEP in self._is_due and (not upkeep_due(database, now) or self._children.start_upkeep()):
            self._is_due.discard(UPKEEP)

    def _rebuild(self, error: CorruptStateError) -> None:
        self._let_go()
        kept = set_aside(self._paths, self._clock.now())
        text = (
            f"The state database was damaged and has been set aside as {kept}. A new one was started: no memory is"
            " lost, but what was waiting counts as history now."
        )
        fix = f"rm {kept}*   # once nothing in it is wanted"
        self._log.error("database set aside", kept=kept, reason=error.sentence)
        self._begin_anew(notices.Notice("damaged database", text, fix, kept))

    def _begin_anew(self, notice: notices.Notice) -> None:
        """Make a new database, with a notice that says why."""
        self._let_go()
        self._say(notice.text)
        self._reporter.report_history_again()
        fresh = open_database(self._paths)
        notices.post(fresh, notice, self._clock.now())
        fresh.close()

    def _let_go(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = self._ingester = None

    # --- resting ------------------------------------------------------------------------------------------------------

    def _rest(self) -> frozenset[str]:
        """Wait for a reason for the next pass; return what woke us."""
        goes_on = self._backlog and self._trouble is None  # otherwise it would fail again at once
        heard = self._wakeup.wait(0.0 if goes_on else self._seconds())
        self._supervisor.alive()
        if heard & _TICKS:
            heard |= self._wakeup.wait(_TOGETHER_SECONDS)
        if CHANGE in heard and STOP not in heard:
            heard |= self._wait_for_quiet()
        if LOOK in heard:
            self._ticked_at = elapsed()
        self._is_due |= heard & {DREAMS, UPKEEP}
        return heard

    def _wait_for_quiet(self) -> frozenset[str]:
        """Wait until no more growth is reported, up to a longest time: a transcript that grows usually grows again soon."""
        heard: frozenset[str] = frozenset()
        began = elapsed()
        limits = self._config.scan
        while (left := began + limits.longest_settle_seconds - elapsed()) > 0 and STOP not in heard:
            before = self._watch_health.number
            heard |= self._wakeup.wait(min(limits.settle_seconds, left))
            self._supervisor.alive()
            if self._watch_health.number == before:
                break
        return heard

    def _seconds(self) -> float:
        """Seconds until the next pass if nothing wakes us: a late tick, or something that falls due."""
        seconds = [self._config.scan.interval_seconds + _LATE_SECONDS]
        if self._supervisor.watchdog_seconds is not None:
            seconds.append(self._supervisor.watchdog_seconds / 3)
        if "root_missing" in self._health.names:
            seconds.append(_MISSING_ROOT_SECONDS)
        if self._watch_health.has_suspects:
            seconds.append(CONFIRM_SECONDS)
        if self._trouble is not None:
            seconds.append(_TROUBLE_SECONDS)
        if self._next_at is not None:
            seconds.append(self._next_at - self._clock.now())
        return max(_SHORTEST_SECONDS, min(seconds))

    def _times(self, database: Database, ingester: Ingester, now: float) -> Iterator[float]:
        """Times at which something may fall due by itself."""
        if (silence := ingester.next_silence(now)) is not None:
            yield silence
        yield from self._syncer.times(self._config)
        if self._children.is_at_work:
            return  # its end wakes us
        hold = engine_wait(database, self._paths, self._config, now)
        for session in waiting.waiting_sessions(database):
            match gates.extraction(session, self._config, self._paths.state_dir, now, hold):
                case Wait(until=float(until)):
                    yield max(until, self._children.rest_until)
                case Due() if session.memory_dir:  # due, and not started: no child may start yet
                    yield max(now + _LATE_SECONDS, self._children.rest_until)

    # --- seeing that all is well --------------------------------------------------------------------------------------

    def _keep_ticking(self) -> None:
        """Start the ticks; restart them where their thread died, or where they stopped because the clock was set back."""
        interval = self._config.scan.interval_seconds
        late = elapsed() - self._ticked_at > 2 * interval + 2 * _LATE_SECONDS
        night = {DREAMS: self._config.dream.night}
        if self._ticks is not None and self._ticks.is_alive and not late and self._ticks.times_of_day == night:
            return
        if self._ticks is not None:
            self._log.warning("ticks restarted", alive=self._ticks.is_alive)
            self._ticks.stop()
            self._is_due |= {DREAMS, UPKEEP}
        seconds = {LOOK: interval, DREAMS: DREAM_CHECK_SECONDS, UPKEEP: _UPKEEP_CHECK_SECONDS}
        self._ticks = Ticks(self._wakeup.wake, seconds, night)
        self._ticked_at = elapsed()

    def _troubles(self) -> Iterator[Trouble]:
        for trouble in (self._config_watch.trouble, self._trouble):
            if trouble is not None:
                yield trouble
        yield from map(self._worse, self._watch_health.troubles)
        yield from self._clock_watch.look(self._clock.now(), elapsed())
        yield from disk_troubles(self._paths)

    def _worse(self, trouble: Trouble) -> Trouble:
        """Trouble of a missing root with a fix, where transcripts were known; for a new user it is normal."""
        if trouble.name != "root_missing" or not self._knows_transcripts:
            return trouble
        root = self._paths.transcripts_root
        text = f"{root} is gone, in which there were transcripts. Nothing is read until it is back; no memory is lost."
        return Trouble(trouble.name, text, f"ls -ld {root}")

    def _thread_died(self, arguments: threading.ExceptHookArgs) -> None:
        """Log the death of a library's thread. Its message may name files, so only the type of the error is logged.

        The thread counts as alive until this returns, so the loop has to wait for it.
        """
        name = arguments.thread.name if arguments.thread else ""
        self._log.error("thread died", thread=name, error=arguments.exc_type.__name__)
        if arguments.thread is not None:
            self._dead.append(arguments.thread)
        self._wakeup.wake(THREAD)

    def _summary(self) -> str:
        troubles = [name for name in self._health.names if name != "root_missing"]
        return f"watches {count(self._sessions, 'session')}" + (f"; {', '.join(troubles)}" if troubles else "")

    def _reread_config(self) -> None:
        before = self._config
        is_new = self._config_watch.reread()
        self._children.config_file = self._config_watch.file_for_children
        if not is_new:
            return
        config = self._config = self._config_watch.config
        self._log.set_level(config.log.level)
        self._reporter.use(config)
        if self._ingester is not None:
            self._ingester.use(config)
        if before.scan.interval_seconds != config.scan.interval_seconds and self._ticks is not None:
            self._ticks.stop()
        reader = with_models(config).anthropic.extraction_model if is_chosen(config) else "the embedded engine"
        self._say(f"The config file was read again. What you say is read by {reader}.")
        if before.claude_code != config.claude_code:
            self._say("Where Claude Code keeps its files is taken in at the next start: memoryd service restart")
        self._log.info("config reread")
