"""Extraction: the waiting turns of one memory directory become memories, or are done without."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.instructions import instructions_at
from memoryd.engines import offline
from memoryd.errors import EngineRestsError, EngineStoppedError, StateError
from memoryd.jobs.alone import only_one
from memoryd.jobs.changeset import ChangedMeanwhileError, groups_of
from memoryd.jobs.dream_lock import bury
from memoryd.jobs.exclusion import covered_turns
from memoryd.logbook import reason_of
from memoryd.memory.commit import commit, recover
from memoryd.memory.directory import open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.shelf import shelf_of
from memoryd.model import Changeset, Exchange
from memoryd.security.redact import redact
from memoryd.state import history, jobs
from memoryd.transcripts.conversation import Place, read_turns
from memoryd.transcripts.follow import NotATranscriptError
from memoryd.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from memoryd.clock import Clock
    from memoryd.jobs.engine import ModelEngine
    from memoryd.jobs.exclusion import Covered
    from memoryd.model import Finding, Group, Said, Shelved, Withdrawal
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.transcripts.conversation import Heard

_TRIES = 3
"""How often a session is worked on at once when somebody edits the same files meanwhile."""
_CHANGED_MEANWHILE = "somebody else changed the same files"


class Outcome(NamedTuple):
    """What came of one session."""

    session_id: str
    outcome: str
    saved: tuple[str, ...] = ()
    detail: str = ""
    removed: tuple[str, ...] = ()
    is_partial: bool = False
    """There was more to work on than fits into one job."""


class Session(NamedTuple):
    transcript_id: int
    session_id: str
    path: str


def only_worker(paths: Paths, memory_dir: str) -> AbstractContextManager[None]:
    """Be the only process that extracts into this directory. Raises BusyError."""
    return only_one(paths, memory_dir, "workers", f"Another process is at work on {memory_dir}.")


def extract(
    database: Database,
    paths: Paths,
    memory_dir: str,
    sessions: list[Session],
    now: float,
    *,
    with_history: bool = False,
    clock: Clock | None = None,
    model: ModelEngine | None = None,
) -> Iterator[Outcome]:
    """Work on the waiting turns of these sessions, one after the other. Without a clock no time passes meanwhile.

    1. Be the only worker of this directory; finish the commits and end the jobs of dead ones.
    2. For each session: lease its turns, read what the user said, let the engine find, commit.

    The engine is the model's, or without one the embedded. A session that fails does not stop the next one; raises
    EngineStoppedError and EngineRestsError where none could be worked on.
    """
    with only_worker(paths, memory_dir):
        # First the commits: what a dead worker had written counts as done, and is not found a second time. A directory
        # that cannot be used is told by each session that wants it.
        with suppress(FileNotFoundError, StateError), open_directory(memory_dir) as directory, directory.locked():
            recover(database, directory, now)
        jobs.drop_lost(database, memory_dir, now)
        bury(database, paths, memory_dir, now)  # a dream that died would keep its turns
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
                task = _Task(database, paths, memory_dir, session, job, time, model)
                outcome = _work(task, is_last=tries_left == 0)
                if outcome is None:
                    continue
                yield outcome
                if not outcome.is_partial:
                    break
                tries_left = _TRIES


class _Task(NamedTuple):
    """One job, and what it is done with."""

    database: Database
    paths: Paths
    memory_dir: str
    session: Session
    job: jobs.Job
    time: Callable[[], float]
    model: ModelEngine | None

    def finish(self, outcome: str, turns: tuple[int, ...], detail: str = "") -> None:
        jobs.finish(self.database, self.job, outcome, self.time(), turns=turns, detail=detail)

    def fail(self, why: str) -> Outcome:
        jobs.fail(self.database, self.job, why, self.time())
        return Outcome(self.session.session_id, "failed", detail=why)


def _work(task: _Task, *, is_last: bool) -> Outcome | None:
    """Do one job; None where somebody's edit got in between and it is to be done again.

    Whatever fails, only this session waits: one that cannot be worked on must not hold up the others.
    """
    try:
        return _attempt(task)
    except ChangedMeanwhileError:
        if is_last:
            return task.fail(_CHANGED_MEANWHILE)
        jobs.set_aside(task.database, task.job, _CHANGED_MEANWHILE, task.time())
        return None
    except EngineStoppedError as error:
        jobs.set_aside(task.database, task.job, error.sentence, task.time())
        raise
    except EngineRestsError as error:  # no use to try the next one now
        if error.until is None:
            jobs.set_aside(task.database, task.job, error.sentence, task.time())
        else:
            jobs.postpone(task.database, task.job, error.sentence, task.time(), error.until)
        raise
    except (KeyboardInterrupt, SystemExit):
        jobs.set_aside(task.database, task.job, "it was stopped", task.time())
        raise
    except Exception as error:  # noqa: BLE001 - the border of a worker
        return task.fail(redact(reason_of(error)))


def _attempt(task: _Task) -> Outcome:
    """The steps of one job:

    1. read what was said
    2. pass over the turns that the client itself has saved something for
    3. take every secret out of the others, let the engine find, beside the instruction files, and save it
    """
    session_id = task.session.session_id
    try:
        heard = heard_in(task.session.path, task.job.turns, task.memory_dir, with_calls=task.model is not None)
    except (FileNotFoundError, NotADirectoryError, NotATranscriptError):
        task.finish("skipped(transcript_gone)", tuple(turn.id for turn in task.job.turns))
        return Outcome(session_id, "skipped(transcript_gone)")
    # A turn whose words are not where they were waits: the next look at the rewritten file finds them, or their end.
    present = [turn for turn in task.job.turns if turn.prompt_id in heard]
    if not present:
        return task.fail("the transcript was rewritten")
    covered = covered_turns(task.database, task.memory_dir, session_id, present, heard)
    passed_over = {one.turn_id: f"skipped({one.by})" for one in covered}
    detail = _told(covered)
    if covered:
        jobs.pass_over(task.database, task.job, passed_over, detail)
    left = [turn for turn in present if turn.id not in passed_over]
    if not left:
        outcome = f"skipped({covered[0].by})"
        task.finish(outcome, ())
        return Outcome(session_id, outcome, detail=detail)
    exchanges = [redacted(heard[turn.prompt_id]) for turn in left]
    instructions = instructions_at(exchanges[-1].said.cwd, task.paths)
    taken = len(left)
    try:
        if task.model is not None:
            groups, taken = task.model.extract(task.job, task.memory_dir, exchanges, instructions)
        else:
            groups = _found(task, [exchange.said for exchange in exchanges], instructions)
        done = _save(task, groups, tuple(turn.id for turn in left[:taken]), detail)
    except RefusedError as error:
        taken = error.turns or taken
        outcome = f"refused({error.guard})"
        task.finish(outcome, tuple(turn.id for turn in left[:taken]), error.sentence)
        done = Outcome(session_id, outcome, detail=error.sentence)
    return done._replace(is_partial=taken < len(left))


def exchanges_of(path: str, turns: Iterable[jobs.WaitingTurn], memory_dir: str) -> dict[str, Exchange]:
    """What a model would be shown of these turns, by the id of their prompt. Raises like `read_turns`."""
    return {name: redacted(heard) for name, heard in heard_in(path, turns, memory_dir, with_calls=True).items()}


def heard_in(path: str, turns: Iterable[jobs.WaitingTurn], memory_dir: str, *, with_calls: bool) -> dict[str, Heard]:
    places = [Place(turn.prompt_id, turn.start, turn.end, turn.before, turn.before_ids) for turn in turns]
    return read_turns(path, places, memory_dir, with_calls=with_calls)


def _found(task: _Task, said: list[Said], instructions: list[str]) -> tuple[Group, ...]:
    """What the embedded engine finds, beside the memories that are there. Raises ChangedMeanwhileError."""
    database, memory_dir = task.database, task.memory_dir
    found = [
        one
        for one in offline.find(said, _shelf(database, memory_dir), instructions)
        if not _is_settled(database, memory_dir, one)
    ]
    if not found:
        return ()
    with open_directory(memory_dir, create=True) as directory:
        made = history.made(database, memory_dir)
        return groups_of(directory, found, task.session.session_id, task.time(), made)


def _save(task: _Task, groups: tuple[Group, ...], turns: tuple[int, ...], detail: str) -> Outcome:
    """Commit what an engine wants to change, which closes the job and its turns; without a change they are done as well.

    Raises ChangedMeanwhileError where somebody else's edit came first.
    """
    session_id = task.session.session_id
    if not groups:
        task.finish("succeeded_no_output", turns)
        return Outcome(session_id, "succeeded_no_output", detail=detail)
    changeset = Changeset("extract", _why(groups), groups, session_id, turns, task.job.id)
    with open_directory(task.memory_dir, create=True) as directory:
        if commit(task.database, directory, changeset, task.time()).conflicted:
            raise ChangedMeanwhileError
    changed = [change for group in groups for change in group.changes]
    saved = tuple(change.name for change in changed if change.after is not None)
    removed = tuple(change.name for change in changed if change.after is None)
    return Outcome(session_id, "succeeded", saved, detail, removed)


def redacted(heard: Heard) -> Exchange:
    said = heard.said._replace(text=redact(heard.said.text), answer=redact(heard.said.answer))
    # A call may hold half an emoji, which no request can.
    calls = tuple(redact(call.encode("utf-8", "replace").decode()) for call in heard.calls)
    return Exchange(said, redact(heard.reply), calls)


def _shelf(database: Database, memory_dir: str) -> Callable[[], list[Shelved]]:
    """The memories that are there, read when the engine first asks: most turns need none of them."""

    @cache
    def shelf() -> list[Shelved]:
        try:
            with open_directory(memory_dir) as directory:
                return shelf_of(database, directory)
        except FileNotFoundError:
            return []

    return shelf


def _is_settled(database: Database, memory_dir: str, one: Finding | Withdrawal) -> bool:
    """Whether these words have led to a memory already, or to one that the user took back."""
    return history.is_refused(database, memory_dir, one.evidence) or history.rests_on(
        database, memory_dir, one.evidence
    )


def _told(covered: list[Covered]) -> str:
    """What the log and `status` say about the turns that the client has dealt with."""
    told = []
    for by, who in (("main_agent_saved", "the main agent"), ("client_saved", "the client's own extraction")):
        names = [one.name for one in covered if one.by == by]
        if names:
            told.append(f"{count(len(names), 'turn')} left to {who}, which saved {', '.join(dict.fromkeys(names))}")
    return "; ".join(told)


def _why(groups: tuple[Group, ...]) -> str:
    changed = [change for group in groups for change in group.changes]
    if all(change.after is None for change in changed):
        return "what you took back"
    return "what you said later" if all(change.before is not None for change in changed) else "what you said"
