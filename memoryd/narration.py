"""What `memoryd run` tells: every turn, job and dream once, on the terminal in words and in the log as data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memoryd import gates
from memoryd.engines.anthropic.account import is_chosen
from memoryd.jobs.standing import as_wait, hold_of
from memoryd.model import Run, Skip
from memoryd.state import dreams, jobs, report, steps, waiting
from memoryd.state import projects as known_projects
from memoryd.words import count, short, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from memoryd.config import Config
    from memoryd.jobs.sweep import SweepReport
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.holds import Hold
    from memoryd.state.ledger import TurnEvent


class Narrator:
    """Remembers what was told, so that nothing is told twice."""

    def __init__(self, paths: Paths, config: Config, say: Callable[[str], None], log: FilteringBoundLogger) -> None:
        self._paths = paths
        self._config = config
        self._say = say
        self._log = log
        self._found_told = False
        self._history_told = False
        self._told_turns: dict[int, str] = {}  # waiting turns, and the reason that was last told for them
        self._told_hold = ""
        self._told_job = 0  # the last job that was told
        self._unreadable = 0

    def use(self, config: Config) -> None:
        self._config = config

    def begin_behind(self, job_id: int) -> None:
        """Jobs up to this one were told by somebody else."""
        self._told_job = job_id

    def tell_history_again(self) -> None:
        self._history_told = False

    def tell_found(self, swept: SweepReport) -> None:
        if self._found_told:
            return
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

    def tell_backlog(self, swept: SweepReport, database: Database) -> None:
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

    def tell_unreadable(self, database: Database) -> None:
        number = len(report.unreadable(database))
        if number > self._unreadable:
            self._say(f"{count(number, 'transcript or folder')} cannot be read. What to do: memoryd status")
        self._unreadable = number

    def tell_turns(self, events: tuple[TurnEvent, ...], database: Database) -> None:
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

    def tell_why_not(self, database: Database, now: float) -> None:
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

    def tell_jobs(self, database: Database, now: float) -> None:
        """Say what the children have done since the last look."""
        for job in jobs.ended_since(database, self._told_job):
            self._told_job = job.id
            if job.kind == dreams.KIND:
                self._tell_dream(database, job)
                continue
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

    def _tell_dream(self, database: Database, job: jobs.JobReport) -> None:
        told = f"{count(len(job.saved), 'memory file')} written, {len(job.removed)} archived or merged"
        if job.outcome != "succeeded":
            told = f"{job.outcome}{': ' + job.detail if job.detail else ''}"
        self._say(f"dream in {short(job.memory_dir, self._paths.home)}: {told}.")
        if job.outcome == "succeeded":
            self._say("  memoryd history shows what it did, memoryd undo takes it back.")
        log = self._log.warning if job.outcome in ("failed", "killed") else self._log.info
        log(
            "job",
            kind=job.kind,
            memory_dir=job.memory_dir,
            outcome=job.outcome,
            saved=len(job.saved),
            removed=len(job.removed),
            **({"detail": job.detail} if job.detail else {}),
            **_spent(steps.spent_by(database, job.id), job.seconds),
        )

    def _is_about_hold(self, database: Database, detail: str, now: float) -> bool:
        """Whether a job ended by what keeps the model from working, which is told for all."""
        hold = hold_of(database, self._paths, self._config, now)
        return hold is not None and detail == hold.text


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
