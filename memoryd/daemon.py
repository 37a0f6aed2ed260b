"""`memoryd run`: looks at the transcripts again and again, has what is due worked on, and tells what it sees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memoryd import __version__, gates
from memoryd.config import load
from memoryd.engines.anthropic.account import is_chosen
from memoryd.errors import BusyError, ConfigError, CorruptStateError, StateError
from memoryd.jobs.standing import as_wait, hold_of
from memoryd.jobs.sweep import Sweeper
from memoryd.jobs.work import due
from memoryd.jobs.worker import Child
from memoryd.memory.commit import recover
from memoryd.memory.directory import open_directory
from memoryd.model import Run, Skip
from memoryd.state import changes, jobs, notices, report, steps, waiting
from memoryd.state import projects as known_projects
from memoryd.state.database import check, open_database, set_aside
from memoryd.words import count, short, size

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from structlog.typing import FilteringBoundLogger

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.instance import Held
    from memoryd.jobs.sweep import SweepReport
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.holds import Hold
    from memoryd.state.ledger import TurnEvent


CHILD_SECONDS = 30.0
"""How long a child may go on with its step when the daemon is told to stop."""
CHILD_REST_SECONDS = 30.0


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
        self._found_told = False
        self._history_told = False
        self._told_turns: dict[int, str] = {}  # waiting turns, and the reason that was last told for them
        self._told_hold = ""
        self._unreadable = 0
        self._child = Child(environment)
        self._told_job = 0  # the last job that was told
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
            self._told_job = jobs.last_id(self._database)
            self._recover(self._database)
        elif not self._database.is_in_place():
            self._say("The state database was deleted. A new one is made: what was waiting counts as history now.")
            self._log.error("database deleted")
            self._start_over()
            return
        swept = self._sweeper.sweep(now)
        if not self._found_told:
            self._tell_found(swept)
        self._tell_backlog(swept, self._database)
        self._tell_turns(swept.events, self._database)
        self._tell_work(self._database, now)
        if not swept.backlog:
            self._work_on_what_is_due(self._database, now)
            self._tell_why_not(self._database, now)
            self._tell_unreadable(self._database)

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

    def _tell_work(self, database: Database, now: float) -> None:
        """Say what the child has done since the last look, and notice if it died."""
        for job in jobs.ended_since(database, self._told_job):
            self._told_job = job.id
            who = _who(known_projects.root_of_session(database, job.session_id), job.session_id)
            for name in job.removed:
                self._say(
                    f"{who}: took back {short(os.path.join(job.memory_dir, name), self._paths.home)}, as you said."
                )
            for name in job.saved:
                self._say(f"{who}: saved {short(os.path.join(job.memory_dir, name), self._paths.home)}.")
            if job.saved:
                them = "it" if len(job.saved) == 1 else "them"
                self._say(f"  The next session loads {them}. memoryd why FILE explains, memoryd undo takes back.")
            elif job.outcome == "succeeded_no_output":
                self._say(f"{who}: read, nothing to keep{'; ' + job.detail if job.detail else ''}.")
            elif not job.removed and not self._is_about_hold(database, job.detail, now):
                self._say(f"{who}: {job.outcome}{': ' + job.detail if job.detail else ''}")
            log = self._log.warning if job.outcome == "failed" else self._log.info
            log(
                "job",
                kind=job.kind,
                session=job.session_id,
                outcome=job.outcome,
                saved=len(job.saved),
                removed=len(job.removed),
                **({"detail": job.detail} if job.detail else {}),
                **_spent(steps.spent_by(database, job.id), job.seconds),
            )
            for kind, text in steps.remarks(database, job.id):
                self._log.warning(kind, session=job.session_id, detail=text)
        code = self._child.ended()
        if code == 0 and jobs.last_id(database) == self._jobs_before:
            self._rest_until = now + CHILD_REST_SECONDS  # somebody else is at work there: it gave way
        if code:
            self._rest_until = now + CHILD_REST_SECONDS
            self._say(f"The worker ended with code {code}; it is tried again in {CHILD_REST_SECONDS:g} s.")
            self._log.error("worker died", code=code)
            self._recover(database)

    def _is_about_hold(self, database: Database, detail: str, now: float) -> bool:
        """Whether a job ended by what keeps the model from working, which is told for all."""
        hold = hold_of(database, self._paths, self._config, now)
        return hold is not None and detail == hold.text

    def _start_over(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = self._sweeper = None
        self._history_told = False

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

    def _tell_found(self, swept: SweepReport) -> None:
        self._found_told = True
        if swept.root_missing:
            self._say("There is nothing there yet; it appears when Claude Code is used for the first time.")
        else:
            new = f", {swept.new_live} of them new since the last time" if swept.new_live else ""
            self._say(f"Found {count(swept.transcripts, 'session')} ({size(swept.bytes)}){new}.")
        if swept.new_history:
            price = "and says first what it would cost" if is_chosen(self._config) else "free of charge, if you want"
            self._say(f"What they hold so far is history: memoryd backfill works on it, {price}.")
        quiet = self._config.turns.quiet_seconds
        self._say(f"Talk to Claude Code in another terminal. {quiet:g} s after it falls silent, what you said is read.")
        self._say('Try: "from now on, keep commits small." Ctrl-C stops memoryd, and nothing is lost.')
        self._log.info(
            "first look", sessions=swept.transcripts, bytes=swept.bytes, history=swept.new_history, new=swept.new_live
        )

    def _tell_backlog(self, swept: SweepReport, database: Database) -> None:
        self._backlog = swept.backlog
        if swept.backlog:
            self._say(f"Reading: {count(swept.backlog, 'session')} to go.")
        elif not self._history_told:
            self._history_told = True
            facts = report.totals(database)
            if facts.history_turns:
                self._say(
                    f"History: {count(facts.history_turns, 'turn')} in {count(facts.sessions, 'session')}"
                    f" of {count(facts.projects, 'project')}."
                )

    def _tell_unreadable(self, database: Database) -> None:
        number = len(report.unreadable(database))
        if number > self._unreadable:
            self._say(f"{count(number, 'transcript or folder')} cannot be read. What to do: memoryd status")
        self._unreadable = number

    def _tell_turns(self, events: tuple[TurnEvent, ...], database: Database) -> None:
        """One line a session and look, however much was said in between; nothing of sessions that are left alone."""
        if not events:
            return
        left_alone = {
            session.session_id
            for session in waiting.waiting_sessions(database)
            if gates.left_alone(session, self._config, self._paths.state_dir)
        }
        sessions: dict[tuple[int | None, str], list[TurnEvent]] = {}
        for event in events:
            if not event.is_history and event.session_id not in left_alone:
                sessions.setdefault((event.project_id, event.session_id), []).append(event)
        for (project_id, session_id), seen in sessions.items():
            who = _who(known_projects.root_of_project(database, project_id), session_id)
            ended = sum(event.has_ended for event in seen)
            begun = sum(event.is_new and not event.has_ended for event in seen)
            if ended:
                quiet = self._config.turns.quiet_seconds
                self._say(f"{who}: {count(ended, 'turn')} ended, read {quiet:g} s after the session falls silent.")
            if begun:
                self._say(f"{who}: {count(begun, 'prompt')}; waiting for the end of the turn.")
            self._log.debug("turns", session=session_id, ended=ended, begun=begun)

    def _tell_hold(self, hold: Hold | None) -> None:
        """Say once why the model rests, and what to do about it."""
        text = hold.text if hold is not None else ""
        if hold is not None and text != self._told_hold:
            self._say(f"{text} What was said waits.")
            self._say(f"  fix: {hold.fix or 'none needed; memoryd retry tries at once'}")
            self._log.warning(hold.reason, detail=text)
        elif hold is None and self._told_hold:
            self._say("The model is asked again.")
        self._told_hold = text

    def _tell_why_not(self, database: Database, now: float) -> None:
        """Say once for every turn why it is not worked on, and again when the reason changes.

        That a session is being written is no news: it was said that it will be read when it falls silent.
        """
        told: dict[int, str] = {}
        hold = hold_of(database, self._paths, self._config, now)
        self._tell_hold(hold)
        for session in waiting.waiting_sessions(database):
            decision = gates.extraction(session, self._config, self._paths.state_dir, now, as_wait(hold))
            if isinstance(decision, Run) or decision.reason == "session_active":
                continue
            if hold is not None and decision.reason == hold.reason:
                continue  # told once for all
            fresh = [turn_id for turn_id in session.turn_ids if self._told_turns.get(turn_id) != decision.reason]
            told.update(dict.fromkeys(session.turn_ids, decision.reason))
            if not fresh:
                continue
            what = "skipped" if isinstance(decision, Skip) else "waiting"
            who = _who(session.project_root, session.session_id)
            self._say(f"{who}: {count(len(fresh), 'turn')} {what} ({decision.reason}): {decision.why}.")
            self._log.info(f"{what}({decision.reason})", session=session.session_id, turns=len(fresh))
        self._told_turns = told


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _spent(spent: steps.Spent, seconds: float) -> dict[str, Any]:
    """What the log says of a run with a model: its turns, tokens, how much the cache held, its cost."""
    if not spent.calls:
        return {}
    prompt = spent.input_tokens + spent.cache_read_tokens + spent.cache_created_tokens
    return {
        "turns": spent.calls,
        "input_tokens": spent.input_tokens,
        "cache_read_tokens": spent.cache_read_tokens,
        "cache_created_tokens": spent.cache_created_tokens,
        "output_tokens": spent.output_tokens,
        "hit_rate": round(spent.cache_read_tokens / prompt, 3) if prompt else 0.0,
        "usd": round(spent.usd, 6),
        "seconds": round(seconds, 1),
    }


def _who(project_root: str, session_id: str) -> str:
    return f"{os.path.basename(project_root) or project_root or '?'} {session_id[:8]}"
