"""Extraction job: memories are made of the waiting turns of one memory directory."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import client_named, instructions_at
from memoryd.engines.base import Signal
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.formatting import count
from memoryd.jobs.daily_log import as_log_lines, note_outdated_lines
from memoryd.jobs.exclusion import covered_turns
from memoryd.jobs.process_lock import only_process
from memoryd.jobs.recovery import recover_directory
from memoryd.jobs.team import hold_against_team
from memoryd.jobs.team_proposals import sharing_proposals, withdraw_outdated
from memoryd.language.taken_back import takes_back
from memoryd.log.reader import reason_of
from memoryd.memory.daily_logs import split_names
from memoryd.memory.directory import open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.tiers import tiers_of
from memoryd.memory.unconfirmed import words_of_unconfirmed
from memoryd.model import Changeset, Exchange
from memoryd.review.context import ReviewContext
from memoryd.review.review import Review
from memoryd.review.verdict import held_by_engine, sorted_by_verdict
from memoryd.security.redact import redact
from memoryd.sources.session import NotATranscriptError
from memoryd.state import inbox, jobs
from memoryd.transcripts.read import TurnPlace, read_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from memoryd.clock import Clock
    from memoryd.engines.base import Engine
    from memoryd.jobs.exclusion import CoveredTurn
    from memoryd.memory.snapshot import Snapshot
    from memoryd.memory.tiers import Tiers
    from memoryd.model import Evidence, Group, HeldGroup
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.transcripts.read import ReadTurn

_TRIES = 3
"""Attempts at a session while somebody edits the same files."""
_CHANGED_MEANWHILE = "somebody else changed the same files"


class ChangedMeanwhileError(Exception):
    """A memory that was to be changed is no longer as the engine read it, so the engine has to run again."""


class Outcome(NamedTuple):
    """Result of one session."""

    session_id: str
    outcome: str
    saved: tuple[str, ...] = ()
    """Memories, or a daily log for each line that it has got."""
    detail: str = ""
    removed: tuple[str, ...] = ()
    is_partial: bool = False
    """There was more to work on than fits into one job."""
    held: int = 0
    """Changes that wait in the inbox for the user's yes or no."""


class Session(NamedTuple):
    transcript_id: int
    session_id: str
    client: str
    path: str


def only_worker(paths: Paths, memory_dir: str) -> AbstractContextManager[None]:
    """Be the only process that extracts into this directory. Raises BusyError."""
    return only_process(paths, memory_dir, "workers", f"Another process is at work on {memory_dir}.")


def extract(
    database: Database,
    paths: Paths,
    memory_dir: str,
    sessions: list[Session],
    now: float,
    *,
    engine: Engine,
    review_mode: str = "doubts",
    is_daily_log: bool = False,
    with_history: bool = False,
    clock: Clock | None = None,
) -> Iterator[Outcome]:
    """Work on the waiting turns of these sessions, one after the other. Without a clock no time passes meanwhile.

    With `is_daily_log`, what is accepted is appended to daily logs, and a dream makes memories of it.

    1. Be the only worker of this directory; finish the commits and end the jobs of dead ones.
    2. For each session: lease its turns, read what the user said, let the engine propose, review, commit.

    A session that fails does not stop the next one; raises EngineStoppedError and EngineRestsError where none could be
    worked on.
    """
    with only_worker(paths, memory_dir):
        recover_directory(database, paths, memory_dir, now)
        time = clock.now if clock is not None else lambda: now
        for session in sessions:
            tries_left = _TRIES
            while tries_left:
                job = jobs.claim(
                    database, memory_dir, session.transcript_id, session.session_id, time(), history=with_history
                )
                if job is None:
                    break
                tries_left -= 1
                task = _Task(database, paths, memory_dir, session, job, time, engine, review_mode, is_daily_log)
                outcome = _work(task, is_last=tries_left == 0)
                if outcome is None:
                    continue
                yield outcome
                if not outcome.is_partial:
                    break
                tries_left = _TRIES


class _Task(NamedTuple):
    """One job with everything that it uses."""

    database: Database
    paths: Paths
    memory_dir: str
    session: Session
    job: jobs.Job
    time: Callable[[], float]
    engine: Engine
    review_mode: str
    is_daily_log: bool

    @property
    def tiers(self) -> Tiers:
        return tiers_of(self.database, self.memory_dir)

    def finish(
        self, outcome: str, turns: tuple[int, ...], detail: str = "", *, held: tuple[HeldGroup, ...] = ()
    ) -> None:
        waiting = self.tiers.held_by_directory(held)
        jobs.finish(self.database, self.job, outcome, self.time(), turns=turns, detail=detail, held=waiting)

    def fail(self, why: str) -> Outcome:
        jobs.fail(self.database, self.job, why, self.time())
        return Outcome(self.session.session_id, "failed", detail=why)


def _work(task: _Task, *, is_last: bool) -> Outcome | None:
    """Do one job; None where a file was edited meanwhile and the job has to be done again.

    A failure makes only this session wait, not the others.
    """
    try:
        return _attempt(task)
    except ChangedMeanwhileError:
        if is_last:
            return task.fail(_CHANGED_MEANWHILE)
        jobs.release(task.database, task.job, _CHANGED_MEANWHILE, task.time())
        return None
    except EngineStoppedError as error:
        jobs.release(task.database, task.job, error.sentence, task.time())
        raise
    except EngineRestsError as error:  # the next session would fail too
        if error.until is None:
            jobs.release(task.database, task.job, error.sentence, task.time())
        else:
            jobs.postpone(task.database, task.job, error.sentence, task.time(), error.until)
        raise
    except (KeyboardInterrupt, SystemExit):
        jobs.release(task.database, task.job, "it was stopped", task.time())
        raise
    except Exception as error:  # noqa: BLE001 - the border of a worker
        return task.fail(redact(reason_of(error)))


def _attempt(task: _Task) -> Outcome:
    """The steps of one job:

    1. read what was said
    2. pass over the turns that the client itself has saved something for
    3. take every secret out of the others, and of the instruction files
    4. let the engine propose changes to a snapshot of the memories, and have them reviewed
    5. commit what was accepted; what was held goes into the inbox
    """
    session_id = task.session.session_id
    snapshot = task.tiers.snapshot(task.database)
    try:
        read = read_job_turns(task.session.client, task.session.path, task.job.turns, task.memory_dir)
    except (FileNotFoundError, NotADirectoryError, NotATranscriptError):
        task.finish("skipped(transcript_gone)", tuple(turn.id for turn in task.job.turns))
        return Outcome(session_id, "skipped(transcript_gone)")
    # A turn that is no longer at its place waits: the next ingestion of the rewritten file finds it, or closes it.
    present = [turn for turn in task.job.turns if turn.prompt_id in read]
    if not present:
        return task.fail("the transcript was rewritten")
    covered = covered_turns(task.database, snapshot, session_id, present, read)
    passed_over = {turn.turn_id: f"skipped({turn.by})" for turn in covered}
    detail = _saved_by_client(covered)
    if covered:
        jobs.pass_over(task.database, task.job, passed_over, detail)
    left = [turn for turn in present if turn.id not in passed_over]
    if not left:
        outcome = f"skipped({covered[0].by})"
        task.finish(outcome, ())
        return Outcome(session_id, outcome, detail=detail)
    exchanges = [redacted_exchange(read[turn.prompt_id]) for turn in left]
    if (problem := task.tiers.unreadable) is not None:
        # Words that take something back may mean a global memory: they wait until those can be read.
        exchanges = list(takewhile(lambda exchange: not takes_back(exchange.said.text), exchanges))
        if not exchanges:
            return task.fail(f"What you took back may be a global memory. {problem.sentence} To mend it: {problem.fix}")
    instructions = [redact(text) for text in instructions_at(exchanges[-1].said.cwd, task.paths)]
    taken = len(exchanges)
    try:
        reviewed = _reviewed(task, snapshot, exchanges, instructions)
        taken = reviewed.taken
        if task.is_daily_log:
            said = [exchange.said for exchange in exchanges]
            reviewed = reviewed._replace(accepted=as_log_lines(reviewed.accepted, said, task.time()))
        done = _save(task, reviewed, tuple(turn.id for turn in left[:taken]), detail)
        if task.is_daily_log:
            note_outdated_lines(task.database, task.memory_dir, [exchange.said for exchange in exchanges[:taken]])
        # Last: a kill before it leaves a needless question, a kill behind it must not cost what takes its place.
        if reviewed.withdrawn:
            inbox.withdraw(task.database, reviewed.withdrawn, task.time())
    except RefusedError as error:
        taken = error.turns or taken
        outcome = f"refused({error.guard})"
        task.finish(outcome, tuple(turn.id for turn in left[:taken]), error.sentence)
        done = Outcome(session_id, outcome, detail=error.sentence)
    return done._replace(is_partial=taken < len(left))


def exchanges_of(client: str, path: str, turns: Iterable[jobs.WaitingTurn], memory_dir: str) -> dict[str, Exchange]:
    """Exchanges of these turns as a model would get them, by the id of their prompt. Raises like `read_turns`."""
    return {name: redacted_exchange(read) for name, read in read_job_turns(client, path, turns, memory_dir).items()}


def read_job_turns(client: str, path: str, turns: Iterable[jobs.WaitingTurn], memory_dir: str) -> dict[str, ReadTurn]:
    places = [TurnPlace(turn.prompt_id, turn.start, turn.end, turn.before, turn.before_ids) for turn in turns]
    return read_turns(client_named(client), path, places, memory_dir, with_calls=True)


class _Reviewed(NamedTuple):
    """What the engine proposes, as review sees it."""

    accepted: tuple[Group, ...]
    held: tuple[HeldGroup, ...]
    withdrawn: frozenset[int]
    """Rows of the inbox that the user's words have made needless."""
    taken: int
    """How many of the turns the engine has looked at."""


def _reviewed(task: _Task, snapshot: Snapshot, exchanges: Sequence[Exchange], instructions: Sequence[str]) -> _Reviewed:
    waiting = task.tiers.unconfirmed(task.database)
    signal = Signal(task.job.id, task.time(), exchanges, instructions, unconfirmed=waiting)
    context = ReviewContext(
        "extract",
        snapshot,
        [*words_of_unconfirmed(waiting), *signal.messages],
        signal.now,
        instructions,
        lambda evidence: _is_refused(task, evidence),
    )
    review = Review(context, task.engine.meaning_asker(signal, task.memory_dir))
    proposal = task.engine.extract(snapshot, signal, review)
    groups = [group for group in proposal.groups if not _is_decided(task, group)]
    asked = [held for held in proposal.held if not _is_decided(task, held.group)]
    accepted, held = sorted_by_verdict(groups, review.judge(groups), task.review_mode)
    accepted, against_team = hold_against_team(task.database, task.memory_dir, accepted, task.review_mode)
    beside = held_by_engine(asked, review.judge([held.group for held in asked]), task.review_mode)
    taken = len(exchanges) if proposal.taken is None else proposal.taken
    return _Reviewed(accepted, (*held, *against_team, *beside), proposal.withdrawn, taken)


def _save(task: _Task, reviewed: _Reviewed, turns: tuple[int, ...], detail: str) -> Outcome:
    """Commit the accepted groups, which closes the job and its turns; without a change they are closed as well.

    Raises ChangedMeanwhileError where a file was edited first.
    """
    session_id = task.session.session_id
    groups, unusable = task.tiers.committable(reviewed.accepted)
    held = (*reviewed.held, *unusable)
    if not groups:
        task.finish("succeeded_no_output", turns, held=held)
        return Outcome(session_id, "succeeded_no_output", detail=detail, held=_waiting(held))
    answered = tuple(row_id for group in groups for row_id in group.answers)
    changeset = Changeset("extract", _why(groups), groups, session_id, turns, task.job.id, held=held, accepts=answered)
    if task.review_mode != "off":
        changeset = changeset._replace(elsewhere=sharing_proposals(task.database, task.memory_dir, groups))
    with open_directory(task.memory_dir, create=True) as directory:
        if task.tiers.commit(task.database, directory, changeset, task.time()).conflicted:
            raise ChangedMeanwhileError
    withdraw_outdated(task.database, task.memory_dir, task.time())
    changed = [change for group in groups for change in group.changes]
    memories, logs = split_names(change.name for change in changed if change.after is not None)
    removed = tuple(change.name for change in changed if change.after is None)
    saved = (*memories, *logs.elements())
    return Outcome(session_id, "succeeded", saved, detail, removed, held=_waiting(held))


def _waiting(held: Sequence[HeldGroup]) -> int:
    return sum(group.state in ("held", "unconfirmed") for group in held)


def redacted_exchange(read: ReadTurn) -> Exchange:
    said = read.said
    said = said._replace(text=redact(said.text), answer=redact(said.answer), reply=redact(said.reply))
    # A call may hold half an emoji, which no request can.
    calls = tuple(redact(call.encode("utf-8", "replace").decode()) for call in read.calls)
    return Exchange(said, calls)


def _is_refused(task: _Task, evidence: Evidence) -> bool:
    """Whether the user has undone or forgotten a memory that rested on these words."""
    return task.tiers.is_refused(task.database, evidence)


def _is_decided(task: _Task, group: Group) -> bool:
    """Whether the newest words of a group have led to a memory already, or to one that the user undid."""
    newest = group.evidence[-1][1] if group.evidence else None
    return newest is not None and task.tiers.is_settled(task.database, newest)


def _saved_by_client(covered: list[CoveredTurn]) -> str:
    """Sentence for the log and `status` about turns that the client saved itself."""
    told = []
    for by, who in (("main_agent_saved", "the main agent"), ("client_saved", "the client's own extraction")):
        names = [turn.name for turn in covered if turn.by == by]
        if names:
            told.append(f"{count(len(names), 'turn')} left to {who}, which saved {', '.join(dict.fromkeys(names))}")
    return "; ".join(told)


def _why(groups: tuple[Group, ...]) -> str:
    changed = [change for group in groups for change in group.changes]
    if any(change.offset is not None for change in changed):
        return "what you said, in the daily log"
    if all(change.after is None for change in changed):
        return "what you took back"
    return "what you said later" if all(change.before is not None for change in changed) else "what you said"
