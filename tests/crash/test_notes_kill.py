"""kill -9 at every system call that touches the disk while session notes are made: they are whole, or absent."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.registry import ALL
from memoryd.clock import SystemClock
from memoryd.config import Config
from memoryd.jobs.ingest import Ingester
from memoryd.jobs.notes import notes_file, update_due
from memoryd.paths import paths_from
from memoryd.state.database import open_database
from tests.crash import strace
from tests.notes.working_session import WorkingSession
from tests.transcript import write

if TYPE_CHECKING:
    from tests.crash.strace import Call, Run
    from tests.torture.campaign import Campaign


class World:
    """One home that is put back to how it was before every kill: a long session, with or without notes of its first turns."""

    def __init__(self, place: Path, *, has_notes: bool) -> None:
        self.home, self._fresh = str(place / "home"), str(place / "fresh")
        session = WorkingSession()
        self.notes = Path(notes_file(paths_from({"HOME": self.home}), Config(), session.id))
        first = b"".join(session.long_turn(number) for number in range(20))
        if has_notes:
            self._ingest(session, first)
            self.update(self._fresh)
        self._ingest(session, first + session.long_turn(20))
        self.reset()

    def _ingest(self, session: WorkingSession, data: bytes) -> None:
        paths = paths_from({"HOME": self._fresh})
        write(paths.transcripts_root, session, data)
        with closing(open_database(paths)) as database:
            Ingester(ALL, database, paths, Config()).ingest(SystemClock().now())

    def reset(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self._fresh, self.home)
        paths = paths_from({"HOME": self.home})
        with closing(open_database(paths)) as database:  # as if all had happened here
            database.execute("UPDATE transcripts SET path = replace(path, ?, ?)", (self._fresh, self.home))
            database.execute(
                "UPDATE session_notes SET path = replace(path, ?1, ?2), file = replace(file, ?1, ?2)",
                (self._fresh, self.home),
            )

    def run(self, *inject: str) -> Run:
        return strace.run_module(self.home, ("tests.crash.noter", self.home), *inject)

    def update(self, home: str) -> None:
        paths = paths_from({"HOME": home})
        with closing(open_database(paths)) as database:
            database.check()
            assert update_due(database, paths, Config(), SystemClock().now()) == []

    @property
    def text(self) -> str:
        return self.notes.read_text() if self.notes.exists() else ""


def sample(calls: tuple[Call, ...], number: int) -> list[Call]:
    """Those that touch the notes, and some of the others: the same in every run."""
    own = [call for call in calls if "session-memory" in call.arguments]
    others = [call for call in calls if "session-memory" not in call.arguments]
    return own + random.Random(len(calls)).sample(others, min(len(others), number))


@pytest.mark.torture
@pytest.mark.parametrize("has_notes", [False, True])
def test_killed_anywhere_the_notes_are_old_or_new_and_the_next_look_ends_it(
    tmp_path: Path, torture: bool, has_notes: bool, campaign: Campaign
) -> None:
    world = World(tmp_path, has_notes=has_notes)
    old = world.text
    assert bool(old) == has_notes
    plain = world.run()
    assert plain.returncode == 0
    new = world.text
    assert "step 20:" in new
    seen, killed = set(), 0
    for call in campaign.in_time(sample(plain.calls, 400 if torture else 2)):
        killed += 1
        world.reset()
        assert world.run(f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        assert world.text in (old, new), f"torn at {call}"
        seen.add(world.text)
        world.update(world.home)
        assert world.text == new
    assert seen == {old, new}
    campaign.tried("faults", "kill at a disk call of notes", killed)
