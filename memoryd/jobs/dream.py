"""Dream job: the memories of one project are consolidated, reviewed and committed.

After a kill at any step `recovery.recover_dead_dream` cleans up: nothing has changed, or all of it.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import instructions_at
from memoryd.errors import BusyError, EngineRestsError
from memoryd.formatting import count, quoted
from memoryd.jobs import dream_inputs
from memoryd.jobs.dream_cancel import LONGEST_SECONDS, OverdueError, StopRequest, TimeIsUp, uninterrupted
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.dream_lock import consolidating, only_dreamer, release
from memoryd.jobs.recovery import recover_held_dream
from memoryd.jobs.team import hold_against_team
from memoryd.log.reader import reason_of
from memoryd.memory import history as second_thoughts
from memoryd.memory.directory import open_directory
from memoryd.memory.guards import RefusedError
from memoryd.memory.tiers import tiers_of
from memoryd.memory.unconfirmed import words_of_unconfirmed
from memoryd.model import Changeset, IndexEdit, Progress
from memoryd.recall.outcomes import most_used_global
from memoryd.review.context import ReviewContext
from memoryd.review.review import Review
from memoryd.review.verdict import held_by_engine, sorted_by_verdict
from memoryd.security.redact import redact
from memoryd.state import dreams, inbox
from memoryd.state.dream_verdicts import NotDone, not_done_by, note_not_done

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.engines.base import Engine, Signal
    from memoryd.jobs.dream_inputs import DreamInputs
    from memoryd.memory.commit import Committed
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.memory.lock import Lock
    from memoryd.model import Evidence, Group, HeldGroup
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.dreams import DreamJob
    from memoryd.state.log_lines import LogRead

_STOPPED = "it was asked to stop, and changed nothing"


class DreamOutcome(NamedTuple):
    """Result of a dream."""

    job_id: int | None
    outcome: str
    """succeeded, succeeded_no_output, refused(guard), failed, killed."""
    detail: str = ""
    revised: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Groups that were changed: reason, line, files."""
    refused: tuple[NotDone, ...] = ()
    """Groups that review held or refused."""
    set_aside: tuple[str, ...] = ()
    """Files that were edited meanwhile; their groups wait for the next dream."""
    change_id: int | None = None
    diff: str = ""


class DreamRunner:
    """Runner of one dream on one memory directory. `tell` is called with every step, and may raise to end the dream."""

    def __init__(
        self,
        database: Database,
        paths: Paths,
        config: Config,
        clock: Clock,
        engine: Engine,
        tell: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._database = database
        self._paths = paths
        self._config = config
        self._clock = clock
        self._engine = engine
        self._tell = tell

    def dream(self, memory_dir: str, project_root: str, *, is_trial: bool = False) -> DreamOutcome:
        """Consolidate, or with `is_trial` only say what would change.

        1. be the only dreamer here, and clean up after one that died
        2. take the lock that is shared with the client
        3. read what was said since the last dream, and let the engine propose
        4. review; commit what is accepted, if the lock is still ours; what is held goes into the inbox
        5. release the lock, with the time of the success or the one it had

        Raises BusyError where somebody else consolidates, and what the engine raises where it cannot work.
        """
        with ExitStack() as stack:
            stack.enter_context(only_dreamer(self._paths, memory_dir))
            recover_held_dream(self._database, memory_dir, self._clock.now())
            try:
                directory = stack.enter_context(open_directory(memory_dir))
            except FileNotFoundError:
                return DreamOutcome(None, "succeeded_no_output", f"there are no memories in {memory_dir} yet")
            return self._dream(directory, project_root, is_trial=is_trial)

    def _dream(self, directory: MemoryDirectory, project_root: str, *, is_trial: bool) -> DreamOutcome:
        now = self._clock.now()
        since = Checks(self._database, self._paths, self._config, directory.path, now).signal_since()
        job = dreams.begin(self._database, directory.path, project_root, self._engine.name, now)
        step = _Step(self._database, self._clock, job, now + LONGEST_SECONDS, self._tell)
        try:
            if is_trial:
                done = self._reviewed(directory, project_root, job, since, step)
                return self._tried(directory, job, done)
            with consolidating(self._database, directory, job, self._clock) as taken:
                done = self._reviewed(directory, project_root, job, since, step)
                step.check()
                return self._closed(directory, job, done, taken)
        except RefusedError as error:
            outcome = f"refused({error.guard})"
            self._end(job, outcome, error.sentence)
            return DreamOutcome(job.id, outcome, error.sentence, refused=tuple(not_done_by(self._database, job.id)))
        except StopRequest:
            self._end(job, "killed", _STOPPED)
            return DreamOutcome(job.id, "killed", _STOPPED)
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

    def _reviewed(
        self, directory: MemoryDirectory, project_root: str, job: DreamJob, since: float, step: _Step
    ) -> _Done:
        """Steps 3 and 4 up to the commit."""
        step(Progress("orient", "Reading the memories"))
        inputs = dream_inputs.read_inputs(
            self._database, self._paths, self._config, directory, job, since, self._clock.now()
        )
        step(Progress("gather", f"Reading {count(len(inputs.sessions), 'session')}"))
        instructions = [redact(text) for text in instructions_at(project_root or self._paths.home, self._paths)]
        tiers = tiers_of(self._database, directory.path)
        waiting = tiers.unconfirmed(self._database)
        signal = inputs.signal(job.id, self._clock.now(), instructions, project_root, step.deadline, step, waiting)
        review = self._review(inputs, signal)
        proposal = self._engine.dream(inputs.snapshot, signal, review)
        groups = self._without_undone(directory.path, proposal.groups)
        open_groups = self._without_undone(directory.path, [held.group for held in proposal.held])
        asked = [held for held in proposal.held if held.group in open_groups]
        accepted, held = sorted_by_verdict(groups, review.judge(groups), self._config.review)
        accepted, against_team = hold_against_team(self._database, directory.path, accepted, self._config.review)
        accepted, unusable = tiers.committable(accepted)
        held += (*against_team, *unusable)
        noted = tuple(_noted(group) for group in held)
        held += held_by_engine(asked, review.judge([one.group for one in asked]), self._config.review)
        note_not_done(self._database, job.id, noted)
        names = tuple(change.name for group in accepted for change in group.changes)
        step(Progress("prune", "Making the index right", files=names))
        return _Done(
            inputs,
            accepted,
            held,
            noted,
            inputs.turns_done(signal, proposal, held),
            proposal.withdrawn,
            inputs.logs_done(signal, proposal),
        )

    def _review(self, inputs: DreamInputs, signal: Signal) -> Review:
        memory_dir = inputs.snapshot.path
        tiers = tiers_of(self._database, memory_dir)

        def is_refused(evidence: Evidence) -> bool:
            return tiers.is_refused(self._database, evidence)

        said = [*words_of_unconfirmed(signal.unconfirmed), *signal.messages]
        context = ReviewContext("dream", inputs.snapshot, said, signal.now, signal.instructions, is_refused)
        return Review(context, self._engine.meaning_asker(signal, memory_dir))

    def _without_undone(self, memory_dir: str, groups: Sequence[Group]) -> list[Group]:
        """Groups without those that the user has undone before, or whose words the user has refused."""
        undone = dream_inputs.undone_signatures(self._database, memory_dir)
        tiers = tiers_of(self._database, memory_dir)
        return [
            group
            for group in groups
            if not any(tiers.is_refused(self._database, piece) for _, piece in group.evidence)
            and not dream_inputs.is_undone(group, undone)
        ]

    def _closed(self, directory: MemoryDirectory, job: DreamJob, done: _Done, taken: Lock) -> DreamOutcome:
        """Commit and release the lock. It takes milliseconds, and recovery would finish it after a kill."""
        ended: DreamOutcome | None = None
        try:
            with uninterrupted():
                ended = self._committed(directory, job, done, taken.is_still_ours)
                # Where more of the daily logs waits, the night is not over: the lock keeps the time that it had.
                release(self._database, directory, taken, job, self._clock, success=not done.is_followed)
        except (StopRequest, TimeIsUp, KeyboardInterrupt):
            if ended is None:
                raise
        assert ended is not None  # noqa: S101 - a request to stop came too late
        return ended

    def _committed(
        self, directory: MemoryDirectory, job: DreamJob, done: _Done, is_still_ours: Callable[[], bool]
    ) -> DreamOutcome:
        now = self._clock.now()
        changeset = done.changeset(job)
        chosen = most_used_global(self._paths)
        changeset = changeset._replace(index_edit=changeset.index_edit._replace(global_names=chosen))
        tiers = tiers_of(self._database, directory.path)
        committed = tiers.commit(self._database, directory, changeset, now, is_still_ours)
        waits = done.waiting(committed)
        is_changed = committed.change_id is not None and len(committed.conflicted) < len(changeset.groups or (1,))
        outcome = "succeeded" if done.accepted or is_changed else "succeeded_no_output"
        detail = f"edited meanwhile, so it waits: {quoted(', '.join(waits))}" if waits else ""
        turns = done.turns_but(committed)
        waiting = [turn for turn in done.turns if turn not in turns]
        dreams.end(self._database, job, outcome, now, turns=turns, waiting=waiting, detail=detail)
        # Last: a kill before it leaves a needless question, a kill behind it must not cost what takes its place.
        if done.withdrawn:
            inbox.withdraw(self._database, done.withdrawn, now)
        return DreamOutcome(
            job.id,
            outcome,
            detail,
            done.revised(committed),
            done.refused,
            waits,
            committed.change_id if is_changed else None,
        )

    def _tried(self, directory: MemoryDirectory, job: DreamJob, done: _Done) -> DreamOutcome:
        now = self._clock.now()
        files = tiers_of(self._database, directory.path).plan(self._database, directory, done.changeset(job), now)
        dreams.end(self._database, job, "skipped(dry_run)", self._clock.now())
        return DreamOutcome(
            job.id,
            "skipped(dry_run)",
            revised=done.revised(None),
            refused=done.refused,
            diff="".join(second_thoughts.diff(file) for file in files),
        )

    def _end(self, job: DreamJob, outcome: str, detail: str) -> None:
        # The request to stop repeats every half second; the dream has ended now.
        with suppress(StopRequest, TimeIsUp), uninterrupted():
            dreams.end(self._database, job, outcome, self._clock.now(), detail=detail)


class _Done(NamedTuple):
    """Groups by verdict, with the turns that are done."""

    inputs: DreamInputs
    accepted: tuple[Group, ...]
    held: tuple[HeldGroup, ...]
    refused: tuple[NotDone, ...]
    turns: tuple[int, ...]
    withdrawn: frozenset[int] = frozenset()
    """Rows of unconfirmed memories that the user took back or told anew."""
    log_cursors: tuple[LogRead, ...] = ()
    """How far the daily logs are distilled."""

    @property
    def is_followed(self) -> bool:
        """Whether more of the daily logs is to be read at once: there is more, and this dream has read some."""
        return bool(self.log_cursors) and (not self.inputs.logs.is_all or self._last_cursors != self.log_cursors)

    @property
    def _last_cursors(self) -> tuple[LogRead, ...]:
        return self.inputs.logs.cursors({message.message_id for message in self.inputs.logs.messages})

    def changeset(self, job: DreamJob) -> Changeset:
        passages = tuple(passage for group in self.accepted for passage in group.from_index)
        return Changeset(
            "dream",
            _summary(self.accepted),
            self.accepted,
            job_id=job.id,
            turn_ids=self.turns,
            index_edit=IndexEdit(without=passages, shortened=self.inputs.long_entries),
            held=self.held,
            accepts=tuple(row_id for group in self.accepted for row_id in group.answers),
            log_cursors=self.log_cursors,
        )

    def revised(self, committed: Committed | None) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        conflicted = committed.conflicted if committed is not None else ()
        return tuple(
            (group.reason, group.why, tuple(change.name for change in group.changes))
            for number, group in enumerate(self.accepted)
            if number not in conflicted
        )

    def waiting(self, committed: Committed) -> tuple[str, ...]:
        return tuple(change.name for number in committed.conflicted for change in self.accepted[number].changes)

    def turns_but(self, committed: Committed) -> tuple[int, ...]:
        """Turns that are done, without those that the groups rest on which have to wait."""
        cited = {piece.message_id for number in committed.conflicted for _, piece in self.accepted[number].evidence}
        return tuple(turn for turn in self.turns if self.inputs.message_of.get(turn) not in cited)


class _Step:
    """Callback for every step: it records progress, and ends a dream that takes too long or was asked to stop."""

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


def _noted(held: HeldGroup) -> NotDone:
    names = " ".join(change.name for change in held.group.changes)
    return NotDone(names, held.group.why, held.state, held.reason)


def _summary(accepted: Sequence[Group]) -> str:
    """Numbers by reason: `2 merged, 1 updated`."""
    reasons = [group.reason for group in accepted]
    told = [f"{reasons.count(reason)} {reason}" for reason in dict.fromkeys(reasons)]
    return "a dream: " + (", ".join(told) or "the index")
