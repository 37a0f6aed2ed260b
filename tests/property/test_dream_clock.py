"""Clocks that step a day or a year, kills and failures: no project dreams twice a day, and none waits for ever."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from memoryd.config import Config
from memoryd.errors import MemorydError
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.recovery import recover_dead_dream
from memoryd.memory import lock
from memoryd.memory.limits import LOCK_NAME
from memoryd.model import Due
from memoryd.paths import paths_from
from memoryd.state.database import state_file
from tests.jobs.dream_workspace import DreamWorkspace, RevisingEngine
from tests.property.world import Crash, FlakyDatabase
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Exchange, Progress, Revision

HOUR = 3600.0
DAY, YEAR = 24 * HOUR, 365 * 24 * HOUR
LEAST_SECONDS = Config().dream.least_hours * HOUR
steps = st.sampled_from([-YEAR, -DAY, -13 * HOUR, -60.0, 60.0, 13 * HOUR, DAY, YEAR])


class Lives:
    """Which of its lives this process is in: one that was killed is not the same process when it comes back."""

    number = 1

    @classmethod
    def holder_of(cls, pid: int) -> lock.Holder:
        return lock.Holder(pid, cls.number, "boot")


class Clockwork(RuleBasedStateMachine):
    """A project whose daemon asks the gates, with two clocks: the one on the wall steps, the other one never does."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.mkdtemp(prefix="memoryd-clock-")
        paths = paths_from({"HOME": self.home})
        self.database = FlakyDatabase.open(state_file(paths))
        self.room = DreamWorkspace(self.database, paths, Config())
        self.elapsed = 0.0
        self.dreams = 0
        self.dreamt_at = -LEAST_SECONDS
        self.has_jumped_ahead = False
        self.has_jumped = False
        self.changed: set[int] = set()
        self.fails = False
        self.jumps_inside = 0.0
        self.sessions: dict[int, tuple[Session, bytes]] = {}

    def teardown(self) -> None:
        """None is lost for ever: two days of a clock that behaves, with people at work, and it dreams; and again."""
        try:
            self.fails, self.jumps_inside = False, 0.0
            for _ in range(2):
                before = self.dreams
                for _ in range(9):
                    self.let_time_pass(6 * HOUR)
                    self.talk(6)
                    self.let_time_pass(60.0)
                    self.check()
                assert self.dreams > before, "it does not dream any more"
        finally:
            self.database.close()
            shutil.rmtree(self.home)

    # --- time ---------------------------------------------------------------------------------------------------------

    @initialize(seconds=st.sampled_from([0.0, -YEAR, YEAR]))
    def see_the_project_for_the_first_time(self, seconds: float) -> None:
        self.room.clock.at += seconds
        self.talk(1)

    @rule(seconds=st.sampled_from([60.0, 11 * 60.0, HOUR, 5 * HOUR, 13 * HOUR, 25 * HOUR]))
    def let_time_pass(self, seconds: float) -> None:
        self.room.clock.at += seconds
        self.elapsed += seconds

    @rule(seconds=steps)
    def step_the_clock(self, seconds: float) -> None:
        self.room.clock.at += seconds
        self.has_jumped_ahead |= seconds > 0
        self.has_jumped = True

    @rule(seconds=st.sampled_from([DAY, YEAR]))
    def step_the_clock_and_back_again(self, seconds: float) -> None:
        self.step_the_clock(seconds)
        self.check()
        self.step_the_clock(-seconds)

    # --- people -------------------------------------------------------------------------------------------------------

    @rule(number=st.integers(1, 7))
    def talk(self, number: int) -> None:
        """So many sessions change, and fall silent a minute later."""
        now = self.room.clock.at
        for index in range(number):
            session, data = self.sessions.get(index, (Session(index), b""))
            self.changed.add(index)
            self.sessions[index] = session, data + session.turn("please look at the parser")
            path = write(self.room.paths.transcripts_root, *self.sessions[index])
            os.utime(path, (now, now))
        self.room.ingester.ingest(now)

    # --- memoryd ------------------------------------------------------------------------------------------------------

    @rule()
    def check(self) -> None:
        """As the daemon does once a minute."""
        now = self.room.clock.at
        assert recover_dead_dream(self.database, self.room.paths, str(self.room.memory), now)
        self.room.ingester.ingest(now)
        checks = Checks(self.database, self.room.paths, Config(), str(self.room.memory), now)
        if isinstance(checks.decision(), Due):
            with suppress(MemorydError):
                self.room.dream(RevisingEngine(self._revise), self._tell)
        self._note_success()

    @rule(seconds=steps)
    def check_and_step_inside(self, seconds: float) -> None:
        self.jumps_inside = seconds
        self.check()
        self.jumps_inside = 0.0

    @rule(calls=st.integers(1, 45))
    def check_and_be_killed(self, calls: int) -> None:
        """At one of its calls to the database, or not at all."""
        self.database.calls_left = calls
        with suppress(Crash):
            self.check()
        self.database.calls_left = None
        Lives.number += 1
        assert recover_dead_dream(self.database, self.room.paths, str(self.room.memory), self.room.clock.at)
        self._note_success()

    @rule()
    def break_or_mend_the_engine(self) -> None:
        self.fails = not self.fails

    def _revise(self, _exchanges: Sequence[Exchange]) -> Sequence[Revision]:
        if self.fails:
            raise MemorydError("The engine is broken.")
        return ()

    def _tell(self, progress: Progress) -> None:
        if progress.phase == "prune" and self.jumps_inside:
            self.step_the_clock(self.jumps_inside)

    # --- what must hold -----------------------------------------------------------------------------------------------

    def _note_success(self) -> None:
        (found,) = self.database.query("SELECT count(*) FROM jobs WHERE kind = 'dream' AND outcome LIKE 'succeeded%'")
        if found[0] == self.dreams:
            return
        self.dreams += 1
        assert found[0] == self.dreams, "two dreams at one check"
        assert self.has_jumped_ahead or self.elapsed - self.dreamt_at >= LEAST_SECONDS, "two dreams within a day"
        assert self.has_jumped or len(self.changed) >= Config().dream.least_sessions, "nothing led to this dream"
        self.dreamt_at = self.elapsed
        self.has_jumped_ahead = self.has_jumped = False
        self.changed = set()
        assert {path.name: path.read_bytes() for path in self.room.memory.iterdir()} == {LOCK_NAME: b""}


@pytest.mark.torture
def test_no_two_dreams_a_day_and_none_lost_for_ever(monkeypatch: pytest.MonkeyPatch, torture: bool) -> None:
    monkeypatch.setattr(lock, "holder_of", Lives.holder_of)
    limits = settings(max_examples=150 if torture else 30, stateful_step_count=50 if torture else 20, deadline=None)
    run_state_machine_as_test(Clockwork, settings=limits)
