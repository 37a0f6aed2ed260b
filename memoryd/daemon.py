"""`memoryd run`: looks at the transcripts again and again, has what is due worked on, and tells what it sees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd import __version__
from memoryd.config import load
from memoryd.engines.anthropic.account import is_chosen
from memoryd.errors import BusyError, ConfigError, CorruptStateError, StateError
from memoryd.jobs.dream_gates import due as dreams_due
from memoryd.jobs.dream_lock import bury
from memoryd.jobs.sweep import Sweeper
from memoryd.jobs.work import due
from memoryd.jobs.worker import Child
from memoryd.memory.commit import recover
from memoryd.memory.directory import open_directory
from memoryd.narration import Narrator
from memoryd.state import changes, dreams, jobs, notices
from memoryd.state.database import check, open_database, set_aside
from memoryd.words import short

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from structlog.typing import FilteringBoundLogger

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.instance import Held
    from memoryd.paths import Paths
    from memoryd.state.database import Database


CHILD_SECONDS = 30.0
"""How long a child may go on with its step when the daemon is told to stop."""
CHILD_REST_SECONDS = 30.0
DREAM_CHECK_SECONDS = 60.0


class Daemon:
    """One loop, one thread. The caller holds the lock of `instance.only_instance`."""

    def __init__(
        self,
        paths: Paths,
        config: Config,
        clock: Clock,
        say: Callable[[str], None],
        log: FilteringBoundLogger,
        held: Held,
        environment: Mapping[str, str],
    ) -> None:
        self._paths = paths
        self._config = config
        self._clock = clock
        self._say = say
        self._log = log
        self._held = held
        self._database: Database | None = None
        self._sweeper: Sweeper | None = None
        self._narrator = Narrator(paths, config, say, log)
        self._child = Child(environment)
        self._dreaming = Child(environment)
        self._dreams_checked_at: float | None = None
        self._rest_until = 0.0  # no new child before, after one that died or could do nothing
        self._jobs_before = 0
        self._backlog = 0
        self._trouble = ""
        self._config_stamp = _stamp(paths.config_file)
        self._config_is_bad = False

    def run(self, stop: threading.Event) -> None:
        """Sweep until `stop` is set.

        A damaged database is set aside and rebuilt; one that is locked or cannot grow is tried again at the next look.
        Any other failure ends the daemon loudly: its supervisor starts it again.
        """
        root, interval = self._paths.transcripts_root, self._config.scan.interval_seconds
        self._log.info("started", version=__version__, pid=os.getpid(), root=root)
        self._say(f"memoryd {__version__} looks at {short(root, self._paths.home)} every {interval:g} s.")
        try:
            while not stop.is_set():
                try:
                    self._tick()
                    self._trouble_is_over()
                except CorruptStateError as error:
                    self._rebuild(error)
                    continue
                except (StateError, BusyError) as error:
                    if self._database is None and not isinstance(error, BusyError):
                        raise  # it never worked: a person has to look
                    self._tell_trouble(error)
                if not self._backlog:
                    self._clock.wait(stop, self._config.scan.interval_seconds)
        finally:
            if self._child.is_running:
                self._say(f"Waiting for the job that runs, {CHILD_SECONDS:g} s at most; Ctrl-C again ends it at once.")
            self._dreaming.stop(CHILD_SECONDS)  # it ends at once, and changes nothing
            self._child.stop(CHILD_SECONDS)
            self._log.info("stopped")
            if self._database is not None:
                self._database.close()

    def _tick(self) -> None:
        now = self._clock.now()
        self._reread_config()
        if self._database is None or self._sweeper is None:
            self._database = open_database(self._paths)
            check(self._database)
            self._sweeper = Sweeper(self._database, self._paths, self._config)
            self._narrator.begin_behind(jobs.last_id(self._database))
            self._recover(self._database)
        elif not self._database.is_in_place():
            self._say("The state database was deleted. A new one is made: what was waiting counts as history now.")
            self._log.error("database deleted")
            self._start_over()
            return
        swept = self._sweeper.sweep(now)
        self._narrator.tell_found(swept)
        self._backlog = swept.backlog
        self._narrator.tell_backlog(swept, self._database)
        self._narrator.tell_turns(swept.events, self._database)
        self._tell_work(self._database, now)
        if not swept.backlog:
            self._work_on_what_is_due(self._database, now)
            self._dream_where_it_is_time(self._database, now)
            self._narrator.tell_why_not(self._database, now)
            self._narrator.tell_unreadable(self._database)

    def _reread_config(self) -> None:
        """Take in an edited config file. With one that cannot be used the old settings hold, and no work is begun."""
        stamp = _stamp(self._paths.config_file)
        if stamp == self._config_stamp:
            return
        self._config_stamp = stamp
        try:
            config = load(self._paths)
        except ConfigError as error:
            self._config_is_bad = True
            self._say(f"{error.sentence} Until that is mended, nothing is worked on.")
            self._say(f"  fix: {error.fix}")
            self._log.error("config", reason=error.sentence)
            return
        self._config_is_bad = False
        self._config = config
        self._narrator.use(config)
        if self._sweeper is not None:
            self._sweeper.use(config)
        reader = config.anthropic.extraction_model if is_chosen(config) else "the embedded engine"
        self._say(f"The config file was read again. What you say is read by {reader}.")
        self._log.info("config reread")

    def _recover(self, database: Database) -> None:
        """Finish what a killed process began to write. A directory that is gone or cannot be written waits."""
        for memory_dir in changes.directories_with_prepared(database):
            try:
                with open_directory(memory_dir) as directory, directory.locked():
                    number = recover(database, directory, self._clock.now())
            except (OSError, StateError) as error:
                self._log.error("recovery", memory_dir=memory_dir, reason=str(error))
                continue
            self._log.info("recovered", memory_dir=memory_dir, commits=number)

    def _work_on_what_is_due(self, database: Database, now: float) -> None:
        if self._child.is_running or now < self._rest_until or self._config_is_bad:
            return
        if due(database, self._paths, self._config, now):
            self._jobs_before = jobs.last_id(database)
            self._child.start()
            if is_chosen(self._config):
                self._say(f"{self._config.anthropic.extraction_model} reads what was said.")

    def _dream_where_it_is_time(self, database: Database, now: float) -> None:
        """Ask the gates of every project once a minute; one dream at a time."""
        if code := self._dreaming.ended():
            self._say(f"The dreamer ended with code {code}; what it left is put right.")
            self._log.error("dreamer died", code=code)
        checked_at = self._dreams_checked_at
        if self._dreaming.is_running or self._config_is_bad:
            return
        if checked_at is not None and 0 <= now - checked_at < DREAM_CHECK_SECONDS:
            return
        self._dreams_checked_at = now
        self._bury(database)
        for memory_dir, root in dreams_due(database, self._paths, self._config, now):
            self._say(f"{os.path.basename(root) or root}: dreaming, which puts its memories in order.")
            self._log.info("dream", memory_dir=memory_dir)
            self._dreaming.start("--dream", memory_dir, root)
            return

    def _bury(self, database: Database) -> None:
        """Put right what dreams left whose process died: the lock's time, and the turns that they had."""
        left = {job.memory_dir for job in dreams.unfinished(database)}
        left |= {held.memory_dir for held in dreams.held_locks(database)}
        for memory_dir in left:
            bury(database, self._paths, memory_dir, self._clock.now())

    def _tell_work(self, database: Database, now: float) -> None:
        """Say what the child has done since the last look, and notice if it died."""
        self._narrator.tell_jobs(database, now)
        code = self._child.ended()
        if code == 0 and jobs.last_id(database) == self._jobs_before:
            self._rest_until = now + CHILD_REST_SECONDS  # somebody else is at work there: it gave way
        if code:
            self._rest_until = now + CHILD_REST_SECONDS
            self._say(f"The worker ended with code {code}; it is tried again in {CHILD_REST_SECONDS:g} s.")
            self._log.error("worker died", code=code)
            self._recover(database)

    def _start_over(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = self._sweeper = None
        self._narrator.tell_history_again()

    def _rebuild(self, error: CorruptStateError) -> None:
        self._start_over()
        kept = set_aside(self._paths, self._clock.now())
        text = (
            f"The state database was damaged and has been set aside as {kept}. A new one was started: no memory is"
            " lost, but what was waiting counts as history now."
        )
        fix = f"rm {kept}*   # once nothing in it is wanted"
        self._log.error("database set aside", kept=kept, reason=error.sentence)
        self._say(text)
        fresh = open_database(self._paths)
        notices.post(fresh, notices.Notice("damaged database", text, fix, kept), self._clock.now())
        fresh.close()

    # --- telling ------------------------------------------------------------------------------------------------------

    def _tell_trouble(self, error: StateError | BusyError) -> None:
        if error.sentence != self._trouble:
            self._trouble = error.sentence
            self._say(f"{error.sentence} Trying again every {self._config.scan.interval_seconds:g} s.")
            self._say(f"  fix: {error.fix}")
            self._held.tell(error.sentence, error.fix)
            self._log.error("database trouble", reason=error.sentence)

    def _trouble_is_over(self) -> None:
        if self._trouble:
            self._trouble = ""
            self._held.tell()
            self._say("The state database works again.")
            self._log.info("database works again")


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
