"""Reporter of `memoryd run`: every turn, job and dream once, on the terminal in words and in the log as data."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from memoryd.clock import iso
from memoryd.engines.model.credentials import is_chosen, with_models
from memoryd.formatting import count, short, size
from memoryd.jobs import gates
from memoryd.jobs.holds import engine_wait, hold_of
from memoryd.memory.daily_logs import split_names
from memoryd.model import Due, Skip
from memoryd.state import dreams, jobs, model_calls, queries, settings, waiting
from memoryd.state import projects as known_projects

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from memoryd.config import Config
    from memoryd.jobs.ingest import IngestReport
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.engine_holds import Hold
    from memoryd.state.sessions import TurnEvent

TOOLS = ("Read", "Grep", "Glob", "Bash", "Edit", "Write")
"""Names of the agent's tools; the daemon does not import its modules."""


_NO_CHANGE = {"succeeded_no_output": "nothing to change", "skipped(dry_run)": "a trial, nothing was changed"}


class Reporter:
    """Reports every event once; it remembers what was reported."""

    def __init__(self, paths: Paths, config: Config, say: Callable[[str], None], log: FilteringBoundLogger) -> None:
        self._paths = paths
        self._config = config
        self._say = say
        self._log = log
        self._has_reported_found = False
        self._has_reported_history = False
        self._reported_turns: dict[int, str] = {}  # waiting turns, and the reason that was last reported
        self._reported_hold: Hold | None = None
        self._reported_job = 0  # the last job that was reported
        self._logged_job: int | None = None  # the last job that was logged; the database has it too
        self._unreadable = 0

    def use(self, config: Config) -> None:
        self._config = config

    def begin_behind(self, job_id: int) -> None:
        """Report only jobs after this one."""
        self._reported_job = job_id
        self._logged_job = None  # read again, as the database may be a new one

    def report_history_again(self) -> None:
        self._has_reported_history = False

    def report_found(self, found: IngestReport) -> None:
        if self._has_reported_found:
            return
        self._has_reported_found = True
        if not found.root_missing:  # reported as a trouble
            new = f", {found.new_live} of them new since the last time" if found.new_live else ""
            self._say(f"Found {count(found.transcripts, 'session')} ({size(found.bytes)}){new}.")
        if found.new_history:
            price = "and says first what it would cost" if is_chosen(self._config) else "free of charge, if you want"
            self._say(f"What they hold so far is history: memoryd backfill works on it, {price}.")
        quiet = self._config.turns.quiet_seconds
        self._say(f"Talk to Claude Code in another terminal. {quiet:g} s after it falls silent, what you said is read.")
        self._say('Try: "from now on, keep commits small." Ctrl-C stops memoryd, and nothing is lost.')
        self._log.info(
            "first look", sessions=found.transcripts, bytes=found.bytes, history=found.new_history, new=found.new_live
        )

    def report_backlog(self, found: IngestReport, database: Database) -> None:
        if found.backlog:
            self._say(f"Reading: {count(found.backlog, 'session')} to go.")
        elif not self._has_reported_history:
            self._has_reported_history = True
            facts = queries.totals(database)
            if facts.history_turns:
                self._say(
                    f"History: {count(facts.history_turns, 'turn')} in {count(facts.sessions, 'session')}"
                    f" of {count(facts.projects, 'project')}."
                )

    def report_unreadable(self, database: Database) -> None:
        number = len(queries.unreadable(database))
        if number > self._unreadable:
            self._say(f"{count(number, 'transcript or folder')} cannot be read. What to do: memoryd status")
        self._unreadable = number

    def report_turns(self, events: tuple[TurnEvent, ...], database: Database) -> None:
        """Print one line per session and pass; nothing about sessions that are left alone."""
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
            root = known_projects.root_of_project(database, project_id)
            who = _who(root, session_id)
            ended = sum(event.has_ended for event in seen)
            begun = sum(event.is_new and not event.has_ended for event in seen)
            if ended:
                then = f"read {self._config.turns.quiet_seconds:g} s after the session falls silent"
                if self._reported_hold is not None:
                    then = "read later: " + (
                        "memoryd is paused" if self._reported_hold.reason == "paused" else "see above"
                    )
                self._say(f"{who}: {count(ended, 'turn')} ended, {then}.")
            if begun:
                self._say(f"{who}: {count(begun, 'prompt')}; waiting for the end of the turn.")
            self._log.debug("turns", project=root, session=session_id, ended=ended, begun=begun)

    def report_why_not(self, database: Database, now: float) -> None:
        """Print for every turn why it is not worked on, and again when the reason changes.

        An active session is left out: it was reported that it is read when it falls silent.
        """
        told: dict[int, str] = {}
        hold = hold_of(database, self._config, now)
        self._report_hold(hold)
        wait = engine_wait(database, self._paths, self._config, now)
        for session in waiting.waiting_sessions(database):
            decision = gates.extraction(session, self._config, self._paths.state_dir, now, wait)
            if isinstance(decision, Due) or decision.reason == "session_active":
                continue
            if hold is not None and decision.reason == hold.reason:
                continue  # reported once for all sessions
            fresh = [turn_id for turn_id in session.turn_ids if self._reported_turns.get(turn_id) != decision.reason]
            told.update(dict.fromkeys(session.turn_ids, decision.reason))
            if not fresh:
                continue
            what = "skipped" if isinstance(decision, Skip) else "waiting"
            who = _who(session.project_root, session.session_id)
            self._say(f"{who}: {count(len(fresh), 'turn')} {what} ({decision.reason}): {decision.why}.")
            self._log.info(
                f"{what}({decision.reason})",
                project=session.project_root,
                session=session.session_id,
                turns=len(fresh),
            )
        self._reported_turns = told

    def _report_hold(self, hold: Hold | None) -> None:
        """Print once why no job runs, with the fix, and once when that is over."""
        told, self._reported_hold = self._reported_hold, hold
        if hold is not None and (told is None or told.text != hold.text):
            self._say(f"{hold.text} What was said waits.")
            self._say(f"  fix: {hold.fix or 'none needed; memoryd retry tries at once'}")
            log = self._log.info if hold.reason == "paused" else self._log.warning
            log(hold.reason, detail=hold.text)
        elif hold is None and told is not None:
            self._say("The pause is over." if told.reason == "paused" else "The model is asked again.")
            self._log.info(f"{told.reason} is over")

    def report_jobs(self, database: Database, now: float) -> None:
        """Print what the children have done since the last pass."""
        logged = self._last_logged(database)
        ended = jobs.ended_since(database, min(logged, self._reported_job))
        self._log_jobs(database, ended, logged, now)
        for job in ended:
            if job.id <= self._reported_job:
                continue
            self._reported_job = job.id
            if job.kind == dreams.KIND:
                self._report_dream(job)
                continue
            who = _who(job.project, job.session_id)
            for name in job.removed:
                self._say(
                    f"{who}: took back {short(os.path.join(job.memory_dir, name), self._paths.home)}, as you said."
                )
            memories, logs = split_names(job.saved)
            for name in memories:
                self._say(f"{who}: saved {short(os.path.join(job.memory_dir, name), self._paths.home)}.")
            for log, lines in logs.items():
                place = short(os.path.join(job.memory_dir, log), self._paths.home)
                self._say(f"{who}: noted {count(lines, 'line')} in {place}, for the next night.")
            if memories:
                them = "it" if len(memories) == 1 else "them"
                self._say(f"  The next session loads {them}. memoryd why FILE explains, memoryd undo takes back.")
            elif job.outcome == "succeeded_no_output":
                self._say(f"{who}: read, nothing to keep{'; ' + job.detail if job.detail else ''}.")
            elif not job.removed and not logs and not self._is_about_hold(database, job.detail, now):
                self._say(f"{who}: {job.outcome}{': ' + job.detail if job.detail else ''}")

    def _last_logged(self, database: Database) -> int:
        if self._logged_job is not None:
            return self._logged_job
        known = settings.get(database, settings.LOGGED)
        return self._reported_job if known is None else int(known.value)

    def _log_jobs(self, database: Database, ended: list[jobs.JobReport], last: int, now: float) -> None:
        """One line for every job, also those that ended while no daemon ran. After a kill some may be written twice."""
        for job in ended:
            if job.id > last:
                last = job.id
                line = self._job_line(database, job)
                is_odd = str(job.outcome).startswith(("failed", "killed", "refused")) or "refused" in line
                (self._log.warning if is_odd else self._log.info)("job", **line)
        if last != self._logged_job:
            # Set before it is stored: while the disk is full, lines must not be logged again and again.
            self._logged_job = last
            settings.put(database, settings.LOGGED, last, now)

    def _job_line(self, database: Database, job: jobs.JobReport) -> dict[str, Any]:
        """Facts of a job for its line in the log; unknown and empty ones are left out.

        Nothing that was said: the outcome has the guard that refused, but not its sentence, which names memories. Remarks
        are only counted.
        """
        remarks = model_calls.remarks(database, job.id)
        noted = Counter(kind for kind, _ in remarks)
        refused = Counter(_tool_in(text) for kind, text in remarks if kind == "refused")
        model = with_models(self._config).anthropic.extraction_model
        facts: dict[str, Any] = {
            "job": job.id,
            "kind": job.kind,
            "project": job.project,
            "session": job.session_id,
            "memory_dir": job.memory_dir,
            "engine": job.engine or (model if is_chosen(self._config) else "offline"),
            "outcome": job.outcome,
            "detail": "" if str(job.outcome).startswith("refused") else job.detail,
            "refused": ", ".join(f"{number} {tool}" for tool, number in sorted(refused.items())),
            "cache_breaks": noted["cache_break"],
            "unknown_blocks": noted["unknown_block"],
        }
        return {
            **{name: value for name, value in facts.items() if value},
            "saved": len(job.saved),
            "removed": len(job.removed),
            **_spent(model_calls.spent_by(database, job.id)),
            "seconds": round(job.seconds, 1),
            "ended_at": iso(job.ended_at),
        }

    def _report_dream(self, job: jobs.JobReport) -> None:
        told = f"{count(len(job.saved), 'memory file')} written, {len(job.removed)} archived or merged"
        if job.outcome in _NO_CHANGE:
            told = _NO_CHANGE[job.outcome]
        elif job.outcome != "succeeded":
            told = f"{job.outcome}{': ' + job.detail if job.detail else ''}"
        self._say(f"dream in {short(job.memory_dir, self._paths.home)}: {told}.")
        if job.outcome == "succeeded":
            self._say("  memoryd history shows what it did, memoryd undo takes it back.")

    def _is_about_hold(self, database: Database, detail: str, now: float) -> bool:
        """Whether a job ended because of a hold, which is reported once for all."""
        hold = hold_of(database, self._config, now)
        return hold is not None and detail == hold.text


def _tool_in(refusal: str) -> str:
    """Tool that was refused; a model may ask for any name."""
    name = refusal.partition(" ")[0]
    return name if name in TOOLS else "unknown"


def _spent(spent: model_calls.Spent) -> dict[str, Any]:
    """Facts of a run with a model: turns, tokens, share of the cache, cost."""
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
    }


def _who(project_root: str, session_id: str) -> str:
    return f"{os.path.basename(project_root) or project_root or '?'} {session_id[:8]}"
