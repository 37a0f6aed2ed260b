"""A dream: the memories of one project consolidated, on a private copy, committed or refused as a whole.

What kill -9 leaves at any step is put right by `dream_lock.bury`: nothing has changed, or all of it.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.instructions import instructions_at
from memoryd.engines import selfcheck
from memoryd.engines.certainty import is_taken_back
from memoryd.errors import BusyError, EngineRestsError
from memoryd.jobs import gathering
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.dream_lock import bury_held, consolidating, only_dreamer, release
from memoryd.jobs.interruption import LONGEST_SECONDS, OverdueError, StopRequest, TimeIsUp, uninterrupted
from memoryd.jobs.revisions import Drawn, group_of
from memoryd.logbook import reason_of
from memoryd.memory import guards
from memoryd.memory import history as second_thoughts
from memoryd.memory.commit import commit, plan
from memoryd.memory.directory import open_directory
from memoryd.memory.guards import RefusedError
from memoryd.model import Changeset, IndexEdit, Progress
from memoryd.security.redact import redact
from memoryd.state import dreams
from memoryd.words import count, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.jobs.engine import ModelEngine
    from memoryd.jobs.gathering import Gathered
    from memoryd.memory.commit import Committed
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.memory.lock import Lock
    from memoryd.model import Group, Revision
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.dreams import DreamJob, NotedFate

_STOPPED = "it was asked to stop, and changed nothing"
MOST_LOSSES = 3
"""More revisions than these that would lose something: whoever made them is not to be trusted with the rest."""


class Dreamt(NamedTuple):
    """What came of a dream."""

    job_id: int | None
    outcome: str
    """succeeded, succeeded_no_output, refused(guard), failed, killed."""
    detail: str = ""
    revised: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """For each thing that was done: why, a line, the files."""
    refused: tuple[NotedFate, ...] = ()
    """What the self-check or a guard kept from being done."""
    set_aside: tuple[str, ...] = ()
    """Files that somebody edited meanwhile: what was about them waits."""
    change_id: int | None = None
    diff: str = ""


class Dreamer:
    """Dreams once on one memory directory. `tell` is shown every step, and may raise to end it."""

    def __init__(
        self,
        database: Database,
        paths: Paths,
        config: Config,
        clock: Clock,
        tell: Callable[[Progress], None] = lambda _: None,
        model: ModelEngine | None = None,
    ) -> None:
        self._database = database
        self._paths = paths
        self._config = config
        self._clock = clock
        self._tell = tell
        self._model = model

    def dream(self, memory_dir: str, project_root: str, *, is_trial: bool = False) -> Dreamt:
        """Consolidate, or with `is_trial` only say what would change.

        1. be the only dreamer here, and put right what a dead one left
        2. take the lock that is shared with the client
        3. gather what was said since the last dream, and let the engine revise
        4. check every revision; commit what passes, if the lock is still ours
        5. release the lock, with the time of the success or the one it had

        Raises BusyError where somebody else consolidates, and what the engine raises where it cannot work.
        """
        with ExitStack() as stack:
            stack.enter_context(only_dreamer(self._paths, memory_dir))
            bury_held(self._database, memory_dir, self._clock.now())
            try:
                directory = stack.enter_context(open_directory(memory_dir))
            except FileNotFoundError:
                return Dreamt(None, "succeeded_no_output", f"there are no memories in {memory_dir} yet")
            return self._dream(directory, project_root, is_trial=is_trial)

    def _dream(self, directory: MemoryDirectory, project_root: str, *, is_trial: bool) -> Dreamt:
        engine = "offline" if self._model is None else self._config.anthropic.dream_model
        now = self._clock.now()
        since = Checks(self._database, self._paths, self._config, directory.path, now).signal_since()
        job = dreams.begin(self._database, directory.path, project_root, engine, now)
        step = _Step(self._database, self._clock, job, now + LONGEST_SECONDS, self._tell)
        try:
            if is_trial:
                done = self._revised(directory, project_root, job, since, step)
                return self._tried(directory, job, done)
            with consolidating(self._database, directory, job, self._clock) as taken:
                done = self._revised(directory, project_root, job, since, step)
                step.check()
                return self._closed(directory, job, done, taken)
        except RefusedError as error:
            outcome = f"refused({error.guard})"
            self._end(job, outcome, error.sentence)
            fates = tuple(dreams.fates_of(self._database, job.id))
            return Dreamt(job.id, outcome, error.sentence, refused=fates)
        except StopRequest:
            self._end(job, "killed", _STOPPED)
            return Dreamt(job.id, "killed", _STOPPED)
        except TimeIsUp:
            overdue = OverdueError()
            self._end(job, "failed", overdue.sentence)
            raise overdue from None
        except (KeyboardInterrupt, SystemExit):
            self._end(job, "killed", "it was interrupted")
            raise
        except EngineRestsError as error:
            self._end(job, "skipped(engine_busy)", error.sentence)
            raise
        except BusyError as error:
            self._end(job, "skipped(lock_held)", error.sentence)
            raise
        except Exception as error:
            self._end(job, "failed", redact(reason_of(error)))
            raise

    def _revised(
        self, directory: MemoryDirectory, project_root: str, job: DreamJob, since: float, step: _Step
    ) -> _Done:
        """Steps 3 and 4 up to the commit."""
        step(Progress("orient", "Reading the memories"))
        gathered = gathering.gather(self._database, self._paths, self._config, directory, job, since)
        step(Progress("gather", f"Reading {count(len(gathered.sessions), 'session')}"))
        instructions = instructions_at(project_root, self._paths)
        revisions, turns = self._engine(directory.path, project_root, job, gathered, instructions, step)
        return self._checked(directory, job, gathered, revisions, turns, step)

    def _engine(
        self,
        memory_dir: str,
        project_root: str,
        job: DreamJob,
        gathered: Gathered,
        instructions: list[str],
        step: _Step,
    ) -> tuple[Sequence[Revision], tuple[int, ...]]:
        from memoryd.engines.offline.dream import consolidate, moved_out_of  # noqa: PLC0415 - a tenth of a second

        if self._model is None:
            found = consolidate(
                gathered.shelf,
                gathered.index_text,
                gathered.said,
                instructions,
                self._clock.now(),
                lambda phase, line: step(Progress(phase, line)),
            )
            return found, gathered.turn_ids
        dreamt = self._model.dream(
            job.id,
            memory_dir,
            project_root,
            gathered.signal,
            gathered.sessions,
            gathered.changed,
            instructions,
            step.deadline,
            step,
        )
        # The agent cannot write the index, so what somebody wrote into it is moved by rules. Turns that did not fit into
        # the brief are not done: extraction reads them.
        moved = moved_out_of(gathered.shelf, gathered.index_text)
        return (*dreamt.revisions, *moved), (*gathered.covered, *gathered.turns_of(dreamt.taken))

    def _checked(
        self,
        directory: MemoryDirectory,
        job: DreamJob,
        gathered: Gathered,
        revisions: Sequence[Revision],
        turns: tuple[int, ...],
        step: _Step,
    ) -> _Done:
        """The self-check, revision by revision; raises RefusedError where too many would lose something."""
        now = self._clock.now()
        shelf = {one.name: one for one in gathered.shelf}
        drawn = Drawn.of(self._database, directory.path, gathered.files, gathered.odd)
        taken = {name.casefold() for name in (*gathered.files, *gathered.odd)}
        accepted: list[tuple[Revision, Group]] = []
        noted: list[NotedFate] = []
        dropped: set[str] = set()  # messages whose words came to nothing here: extraction reads them
        losses = 0
        for revision in gathering.unsettled(self._database, directory.path, revisions):
            about = " ".join(revision.files) or revision.title
            fates = selfcheck.fates_of(revision, [shelf[name] for name in revision.files if name in shelf], now)
            noted += [dreams.NotedFate(about, one.statement, one.fate, one.by) for one in fates]
            if selfcheck.is_refused(fates):
                losses += any(one.fate == "lost" for one in fates)
                dropped.update(piece.message_id for piece in revision.evidence)
                continue
            if own := gathering.told_by_index_alone(revision, gathered):
                noted.append(dreams.NotedFate(about, own, "lost", "only its line in the index says so"))
                continue
            if _is_taken_back(revision, gathered):
                noted.append(dreams.NotedFate(about, revision.line, "taken back", revision.evidence[-1].quote))
                continue
            try:
                group = group_of(revision, drawn, taken, now)
                if group is not None:
                    edit = IndexEdit(without=revision.from_index)
                    guards.check(Changeset("dream", "", (group,), index_edit=edit), gathered.odd)
            except RefusedError as error:
                noted.append(dreams.NotedFate(about, revision.line, f"refused({error.guard})", error.sentence))
                dropped.update(piece.message_id for piece in revision.evidence)
                continue
            if group is not None:
                accepted.append((revision, group))
        noted = list(dict.fromkeys(noted))
        dreams.note_fates(self._database, job.id, noted)
        if losses > MOST_LOSSES:
            raise RefusedError("no fact lost", f"{losses} of its changes would lose something; none of them was made.")
        names = tuple(change.name for _, group in accepted for change in group.changes)
        step(Progress("prune", "Making the index right", files=names))
        turns = tuple(turn for turn in turns if gathered.message_of.get(turn) not in dropped)
        return _Done(gathered, tuple(accepted), tuple(noted), turns)

    def _closed(self, directory: MemoryDirectory, job: DreamJob, done: _Done, taken: Lock) -> Dreamt:
        """Commit and release. It is a matter of milliseconds, and recovery would finish it."""
        ended: Dreamt | None = None
        try:
            with uninterrupted():
                ended = self._committed(directory, job, done, taken.is_still_ours)
                release(self._database, directory, taken, job, self._clock, success=True)
        except (StopRequest, TimeIsUp, KeyboardInterrupt):
            if ended is None:
                raise
        assert ended is not None  # noqa: S101 - whoever wanted to end it came too late: it has ended
        return ended

    def _committed(
        self, directory: MemoryDirectory, job: DreamJob, done: _Done, is_still_ours: Callable[[], bool]
    ) -> Dreamt:
        now = self._clock.now()
        changeset = done.changeset(job)
        committed = commit(self._database, directory, changeset, now, is_still_ours)
        waits = done.waiting(committed)
        is_changed = committed.change_id is not None and len(committed.conflicted) < len(changeset.groups or (1,))
        outcome = "succeeded" if done.accepted or is_changed else "succeeded_no_output"
        detail = f"edited meanwhile, so it waits: {quoted(', '.join(waits))}" if waits else ""
        dreams.end(self._database, job, outcome, now, turns=done.turns_but(committed), detail=detail)
        return Dreamt(
            job.id,
            outcome,
            detail,
            done.told(committed),
            done.refused,
            waits,
            committed.change_id if is_changed else None,
        )

    def _tried(self, directory: MemoryDirectory, job: DreamJob, done: _Done) -> Dreamt:
        with directory.locked():
            files, _ = plan(directory, done.changeset(job), self._clock.now())
        dreams.end(self._database, job, "skipped(dry_run)", self._clock.now())
        return Dreamt(
            job.id,
            "skipped(dry_run)",
            revised=done.told(None),
            refused=done.refused,
            diff="".join(second_thoughts.diff(file) for file in files),
        )

    def _end(self, job: DreamJob, outcome: str, detail: str) -> None:
        # Who wants to end it goes on wanting that, every half second; now it has ended.
        with suppress(StopRequest, TimeIsUp), uninterrupted():
            dreams.end(self._database, job, outcome, self._clock.now(), detail=detail)


class _Done(NamedTuple):
    """What passed the self-check, and what did not."""

    gathered: Gathered
    accepted: tuple[tuple[Revision, Group], ...]
    noted: tuple[NotedFate, ...]
    turns: tuple[int, ...]

    @property
    def refused(self) -> tuple[NotedFate, ...]:
        return tuple(one for one in self.noted if one.fate not in ("contradicted", "expired", "taken back"))

    def changeset(self, job: DreamJob) -> Changeset:
        passages = tuple(passage for revision, _ in self.accepted for passage in revision.from_index)
        groups = tuple(group for _, group in self.accepted)
        edit = IndexEdit(without=passages, shortened=self.gathered.long_entries)
        return Changeset("dream", _summary(self.accepted), groups, job_id=job.id, turn_ids=self.turns, index_edit=edit)

    def told(self, committed: Committed | None) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        conflicted = committed.conflicted if committed is not None else ()
        return tuple(
            (revision.reason, revision.line, tuple(change.name for change in group.changes))
            for number, (revision, group) in enumerate(self.accepted)
            if number not in conflicted
        )

    def waiting(self, committed: Committed) -> tuple[str, ...]:
        return tuple(change.name for number in committed.conflicted for change in self.accepted[number][1].changes)

    def turns_but(self, committed: Committed) -> tuple[int, ...]:
        """The turns that are done: all but those that a group which has to wait rests on."""
        cited = {piece.message_id for number in committed.conflicted for _, piece in self.accepted[number][1].evidence}
        return tuple(one for one in self.turns if self.gathered.message_of.get(one) not in cited)


class _Step:
    """What is told of every step, and where a dream is ended that takes too long or is to stop."""

    def __init__(
        self, database: Database, clock: Clock, job: DreamJob, deadline: float, tell: Callable[[Progress], None]
    ) -> None:
        self._database = database
        self._clock = clock
        self._job = job
        self._tell = tell
        self.deadline = deadline

    def __call__(self, progress: Progress) -> None:
        dreams.note_progress(self._database, self._job.id, progress, self._clock.now())
        self.check()
        self._tell(progress)

    def check(self) -> None:
        if dreams.is_to_stop(self._database, self._job.memory_dir):
            raise StopRequest
        if self._clock.now() > self.deadline:
            raise TimeIsUp


def _is_taken_back(revision: Revision, gathered: Gathered) -> bool:
    """Whether the newest words that it rests on were taken back by later ones."""
    if not revision.evidence:
        return False
    newest = revision.evidence[-1]
    return is_taken_back(newest, gathered.said)


def _summary(accepted: Sequence[tuple[Revision, Group]]) -> str:
    """`2 merged, 1 updated`."""
    reasons = [revision.reason for revision, _ in accepted]
    told = [f"{reasons.count(reason)} {reason}" for reason in dict.fromkeys(reasons)]
    return "a dream: " + (", ".join(told) or "the index")
