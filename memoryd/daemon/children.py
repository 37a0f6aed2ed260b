"""The daemon's children, at most three: one that extracts or does the upkeep, one that dreams, one that makes notes."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from memoryd.daemon.child import Child, stop_all
from memoryd.engines.model.credentials import is_chosen, with_models
from memoryd.errors import BusyError, StateError
from memoryd.jobs.dream_gates import due as dreams_due
from memoryd.jobs.due import due
from memoryd.jobs.holds import engine_wait
from memoryd.jobs.index_repair import IndexWatch
from memoryd.jobs.notes_due import due as notes_due
from memoryd.jobs.notes_due import due_by_model as notes_due_by_model
from memoryd.jobs.process_lock import only_process
from memoryd.jobs.upkeep import last_upkeep
from memoryd.recall.store import store_to_look
from memoryd.state import changes, dreams, jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from structlog.typing import FilteringBoundLogger

    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

CHILD_SECONDS = 30.0
"""How long a child may go on with its step when the daemon is told to stop."""
REST_SECONDS = 30.0
_NOT_THEIRS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Children:
    """Starts due jobs in child processes, and handles their end."""

    def __init__(
        self, paths: Paths, say: Callable[[str], None], log: FilteringBoundLogger, environment: Mapping[str, str]
    ) -> None:
        self._paths = paths
        self._say = say
        self._log = log
        theirs = {name: value for name, value in environment.items() if name not in _NOT_THEIRS}
        self._worker = Child(theirs)
        self._dreamer = Child(theirs)
        self._noter = Child(theirs)
        self.config_file: str | None = None
        """Where children find their settings, if the config file itself cannot be used."""
        self.rest_until = 0.0
        """Time before which no new worker starts, after one that died or could do nothing."""
        self._notes_rest_until = 0.0
        self._jobs_before = 0
        self._is_tidying = False
        self._is_reindexing = False
        self._is_reading = False
        self._recall_stamp: tuple[int, ...] = ()
        self._is_noting = False
        self._index_watch = IndexWatch()

    @property
    def is_at_work(self) -> bool:
        return self._worker.is_running or self._dreamer.is_running

    def extract(self, database: Database, config: Config, now: float) -> None:
        if self._worker.is_running or self._rests(now):
            return
        if due(database, self._paths, config, now):
            self._jobs_before = jobs.last_id(database)
            self._worker.start(config_file=self.config_file)
            if is_chosen(config):
                self._say(f"{with_models(config).anthropic.extraction_model} reads what was said.")

    def _rests(self, now: float) -> bool:
        return 0 < self.rest_until - now <= REST_SECONDS  # longer: the clock was set back

    def dream(self, database: Database, config: Config, now: float) -> None:
        """Start a dream where all gates are open; one at a time."""
        self._end_lost(database, now)
        if self._dreamer.is_running:
            return
        self.recover_dead_dream(database, now)
        for memory_dir, root in dreams_due(database, self._paths, config, now):
            self._say(f"{os.path.basename(root) or root}: dreaming, which puts its memories in order.")
            self._log.info("dream", project=root, memory_dir=memory_dir)
            self._dreamer.start("--dream", memory_dir, root, config_file=self.config_file)
            return

    def note(self, database: Database, config: Config, now: float) -> None:
        """Start a child that brings session notes up to date; they wait for no other job."""
        if self._noter.is_running or 0 < self._notes_rest_until - now <= REST_SECONDS:
            return
        if notes_due(database, self._paths, config, now):
            self._noter.start("--notes", config_file=self.config_file)

    def note_by_model(self, database: Database, config: Config, now: float) -> None:
        """Start a child that has a model add to session notes, while there is nothing to extract."""
        if self._worker.is_running or self._rests(now) or not notes_due_by_model(database, config, now):
            return
        if engine_wait(database, self._paths, config, now) is None:
            self._is_noting = True
            self._worker.start("--notes-by-model", config_file=self.config_file)

    def reindex(self, database: Database, config: Config, now: float) -> None:
        """Start a child that makes wrong indexes right; while another one works, the next look finds them again."""
        if self.is_at_work or self._rests(now):
            return
        if memory_dirs := self._index_watch.wrong(database, config, now):
            self._is_reindexing = True
            self._log.info("reindex", memory_dirs=memory_dirs)
            self._worker.start("--reindex", *memory_dirs, config_file=self.config_file)

    def read_memories(self, now: float) -> None:
        """Start a child that reads what recall has not read yet: a prompt waits for a few files only."""
        if self.is_at_work or self._rests(now) or (stamp := _last_write(self._paths.recall_file)) == self._recall_stamp:
            return
        if (store := store_to_look(self._paths)) is None:
            return
        with closing(store), suppress(StateError, BusyError):
            memory_dirs = list(filter(os.path.isdir, store.unfinished()))
            self._recall_stamp = stamp  # a look at an unchanged file would find the same
            if memory_dirs:
                self._is_reading = True
                self._log.info("reading memories", memory_dirs=memory_dirs)
                self._worker.start("--read-memories", *memory_dirs, config_file=self.config_file)

    def start_upkeep(self) -> bool:
        """Start the nightly upkeep; False while another child works."""
        if self.is_at_work:
            return False
        self._is_tidying = True
        self._worker.start("--upkeep", config_file=self.config_file)
        return True

    def handle_ended(self, database: Database, now: float) -> None:
        """Report children that failed, clean up after them, and start none for a while."""
        if code := self._dreamer.ended():
            self._say(f"The dreamer ended with code {code}; what it left is cleaned up.")
            self._log.error("dreamer died", code=code)
            self.recover_dead_dream(database, now)
        if code := self._noter.ended():
            self._notes_rest_until = now + REST_SECONDS
            self._say(
                f"The notes of sessions could not be made (code {code}); they are tried again in {REST_SECONDS:g} s."
            )
            self._log.error("noter died", code=code)
        code = self._worker.ended()
        if code == 0 and self._is_tidying:
            did = last_upkeep(database)
            facts = {} if did is None else {name: fact for name, fact in did._asdict().items() if name != "at"}
            self._log.info("upkeep", **facts)
        elif code == 0 and self._is_reindexing:
            self._say("An index that was deleted or cut is whole again.")
        elif code == 0 and not (self._is_reading or self._is_noting) and jobs.last_id(database) == self._jobs_before:
            self.rest_until = now + REST_SECONDS  # somebody else is at work there: it gave way
        if code:
            self.rest_until = now + REST_SECONDS
            who = "upkeep" if self._is_tidying else "worker"
            again = "later" if self._is_tidying else f"in {REST_SECONDS:g} s"
            self._say(f"The {who} ended with code {code}; it is tried again {again}.")
            self._log.error(f"{who} died", code=code)
            self.recover(database, now)
        if code is not None:
            self._is_tidying = self._is_reindexing = self._is_reading = self._is_noting = False

    def recover(self, database: Database, now: float) -> None:
        """Finish commits of killed processes. A directory that is gone or cannot be written waits."""
        if not (left := changes.directories_with_prepared(database)):
            return
        from memoryd.jobs.recovery import recover_commits  # noqa: PLC0415 - megabytes that an idle daemon need not hold

        for memory_dir in left:
            try:
                number = recover_commits(database, memory_dir, now)
            except (OSError, StateError) as error:
                self._log.error("recovery", memory_dir=memory_dir, reason=error)
                continue
            self._log.info("recovered", memory_dir=memory_dir, commits=number)

    def _end_lost(self, database: Database, now: float) -> None:
        """End the jobs of dead processes, also where no job will run again: later jobs are reported only after them."""
        if self._worker.is_running:
            return  # the running child must not find a directory locked
        for memory_dir in jobs.directories_with_running(database):
            with suppress(BusyError, OSError), only_process(self._paths, memory_dir, "workers", ""):
                self.recover(database, now)  # errors are in the log
                from memoryd.jobs.recovery import recover_directory  # noqa: PLC0415 - as above

                recover_directory(database, self._paths, memory_dir, now)

    def recover_dead_dream(self, database: Database, now: float) -> None:
        """Clean up after dreams whose process died: the time of the lock, and their turns."""
        left = {job.memory_dir for job in dreams.unfinished(database)}
        left |= {held.memory_dir for held in dreams.held_locks(database)}
        if not left:
            return
        from memoryd.jobs.recovery import recover_dead_dream  # noqa: PLC0415 - as above

        for memory_dir in left:
            recover_dead_dream(database, self._paths, memory_dir, now)

    def stop(self, seconds: float = CHILD_SECONDS) -> None:
        """Stop the children: a dream ends at once and changes nothing, an extraction may finish its step."""
        if self._worker.is_running and seconds:
            self._say(f"Waiting for the job that runs, {seconds:g} s at most; Ctrl-C again ends it at once.")
        stop_all([self._dreamer, self._noter, self._worker], seconds)

    def kill(self) -> None:
        self._dreamer.kill()
        self._noter.kill()
        self._worker.kill()


def _last_write(file: str) -> tuple[int, ...]:
    """When a database was last written to."""
    found = []
    for path in (file, f"{file}-wal"):
        with suppress(OSError):
            found.append(os.stat(path).st_mtime_ns)
    return tuple(found)
