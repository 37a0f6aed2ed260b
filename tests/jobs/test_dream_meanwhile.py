"""What a person, a client, an extraction, an undo or a signal does while a dream goes on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.registry import ALL
from memoryd.config import Config
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs import dream_cancel
from memoryd.jobs.dream_cancel import OverdueError, interruptible
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.ingest import Ingester
from memoryd.memory import lock
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.document import body_of
from memoryd.memory.history import undoing
from memoryd.memory.limits import LOCK_NAME
from memoryd.model import Due
from memoryd.state import dreams, history
from memoryd.state.database import open_database
from tests.crash import dreamer
from tests.jobs.dream_workspace import DAY, NOW, FastClock, RevisingEngine
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from memoryd.jobs.dream import DreamOutcome
    from memoryd.model import Exchange, Revision
    from memoryd.state.database import Database


class Night:
    """The world of `dreamer`, and things that happen in it while the engine works."""

    def __init__(self, home: str) -> None:
        dreamer.make_world(home)
        self.paths = dreamer.paths_of(home)
        self.memory = dreamer.memory_of(self.paths)
        self.clock = FastClock()
        self.database = open_database(self.paths)
        self.before = self.files()

    def dream(self, meanwhile: Callable[[Database], object] = lambda _: None) -> DreamOutcome:
        """`meanwhile` is another process: it has a connection of its own."""

        def revise(exchanges: Sequence[Exchange]) -> Sequence[Revision]:
            with closing(open_database(self.paths)) as other:
                meanwhile(other)
            return dreamer.revise(exchanges)

        return dreamer.dream(self.database, self.paths, self.clock, RevisingEngine(revise))

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.memory.iterdir())}

    def lock(self) -> tuple[bytes, int]:
        path = self.memory / LOCK_NAME
        return path.read_bytes(), path.stat().st_mtime_ns

    def turns(self) -> dict[str, str | None]:
        """What became of each session's turn, by its number in the world."""
        rows = self.database.query(
            "SELECT session_id, turns.outcome FROM turns JOIN transcripts ON transcripts.id = transcript_id"
        )
        names = {Session(name).id: name for name in (*range(6), "new")}
        return {str(names[row[0]]): row[1] for row in rows}

    def jobs(self) -> list[tuple[str, str | None]]:
        return [(row[0], row[1]) for row in self.database.query("SELECT kind, outcome FROM jobs ORDER BY id")]

    def extract(self, other: Database) -> list[str]:
        """What an extraction finds to do at this moment, done."""
        sessions = due(other, self.paths, Config(), self.clock.at, at_once=True)
        return [
            worked.outcome.session_id
            for worked in extract_due(other, self.paths, sessions, self.clock.at, engine=OfflineEngine())
        ]

    def say(self, other: Database, text: str) -> None:
        ingester = Ingester(ALL, other, self.paths, Config())
        ingester.ingest(self.clock.at)
        session = Session("new")
        path = write(self.paths.transcripts_root, session, session.turn(text))
        os.utime(path, (self.clock.at, self.clock.at))
        ingester.ingest(self.clock.at)


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    night = Night(str(tmp_path / "night"))
    yield night
    night.database.close()


ALL_DONE = {str(number): "succeeded" for number in range(6)}

# --- people and clients -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["in place", "by another file", "deleted"])
def test_an_edit_stays_its_group_waits_with_its_turns_and_the_others_are_committed(night: Night, how: str) -> None:
    path = night.memory / "project_valve.md"
    mine = path.read_bytes().replace(b"kiln is", b"old kiln is")

    def edit(_: Database) -> None:
        match how:
            case "in place":
                path.write_bytes(mine)
            case "by another file":
                (night.memory / "draft").write_bytes(mine)
                os.replace(night.memory / "draft", path)
            case _:
                path.unlink()

    dreamt = night.dream(edit)
    assert dreamt.outcome == "succeeded"
    assert dreamt.set_aside == ("project_valve.md",)
    files = night.files()
    assert files.get("project_valve.md") == (None if how == "deleted" else mine)
    assert {"project_pump_again.md", "project_freeze.md"}.isdisjoint(files)
    assert dreamer.MEMORIES["project_pump_again.md"] in body_of(files["project_pump.md"])
    assert "project_crane_load.md" in files
    assert night.turns() == {**ALL_DONE, "0": None}
    assert night.lock() == (b"", int(NOW * 1e9))
    (job,) = dreams.last_dreams(night.database, 1)
    assert job.detail == 'edited meanwhile, so it waits: "project_valve.md"'


def test_half_a_merge_is_not_made_where_one_of_its_sources_was_edited(night: Night) -> None:
    source = night.memory / "project_pump_again.md"
    mine = source.read_bytes() + b"And it leaks.\n"
    dreamt = night.dream(lambda _: source.write_bytes(mine))
    assert dreamt.set_aside == ("project_pump.md", "project_pump_again.md")
    assert night.files()["project_pump.md"] == night.before["project_pump.md"]
    assert night.files()["project_pump_again.md"] == mine
    assert night.turns() == ALL_DONE, "it rests on no words of the user"
    index = night.files()["MEMORY.md"].decode()
    assert "(project_pump.md)" in index
    assert "(project_pump_again.md)" in index


def test_where_all_was_edited_the_dream_comes_again_tomorrow(night: Night) -> None:
    def edit(_: Database) -> None:
        for name in dreamer.MEMORIES:
            path = night.memory / name
            path.write_bytes(path.read_bytes() + b"And more.\n")
        (night.memory / "project_crane_load.md").write_bytes(b"mine\n")

    dreamt = night.dream(edit)
    assert dreamt.change_id is None
    assert night.turns() == {**ALL_DONE, "0": None, "1": None}
    assert all(night.files()[name].endswith(b"And more.\n") for name in dreamer.MEMORIES)
    assert night.files()["project_crane_load.md"] == b"mine\n"


# --- memoryd itself ---------------------------------------------------------------------------------------------------


def test_an_extraction_is_not_blocked_and_leaves_the_turns_of_the_dream_alone(night: Night) -> None:
    worked: list[str] = []

    def talk_and_extract(other: Database) -> None:
        night.say(other, "from now on, use tabs")
        worked.extend(night.extract(other))

    dreamt = night.dream(talk_and_extract)
    assert worked == [Session("new").id]
    assert dreamt.outcome == "succeeded"
    assert not dreamt.set_aside
    assert night.turns() == {**ALL_DONE, "new": "succeeded"}
    assert night.jobs() == [("dream", "succeeded"), ("extract", "succeeded")]
    saved = [name for name in night.files() if name.startswith("feedback_")]
    assert len(saved) == 1
    assert f"({saved[0]})" in night.files()["MEMORY.md"].decode()


def test_an_extraction_that_is_at_work_keeps_its_turns_from_the_dream(night: Night) -> None:
    (session,) = night.database.query("SELECT id FROM transcripts WHERE session_id = ?", (Session(0).id,))
    night.database.execute(
        "INSERT INTO jobs (id, kind, memory_dir, session_id, token, started_at) VALUES (9, 'extract', ?, '', 't', 1)",
        (str(night.memory),),
    )
    night.database.execute("UPDATE turns SET job_id = 9 WHERE transcript_id = ?", (session[0],))
    night.dream()
    assert night.turns() == {**ALL_DONE, "0": None}
    assert night.files()["project_valve.md"] == night.before["project_valve.md"]


def test_an_undo_works_during_a_dream_and_wins(night: Night) -> None:
    """What it takes back is one of the memories that the dream is about."""
    night.dream()
    first = night.files()
    undone: list[str] = []

    def undo(other: Database) -> None:
        change = history.last_undoable(other, str(night.memory))
        assert change is not None
        with open_directory(str(night.memory)) as directory:
            assert not commit(other, directory, undoing(other, change), NOW + DAY).conflicted
        undone.append("a change")

    path = night.memory / "project_pump.md"
    night.clock.at += DAY

    def revise(_: Sequence[Exchange]) -> list[Revision]:
        with closing(open_database(night.paths)) as other:
            undo(other)
        merged = dreamer.revise(())[0]
        turned = "\n".join(reversed(body_of(first[path.name]).strip().split("\n"))) + "\n"
        return [merged._replace(files=(path.name,), body=turned)]

    dreamt = dreamer.dream(night.database, night.paths, night.clock, RevisingEngine(revise))
    assert undone
    assert dreamt.set_aside == (path.name,)
    assert dreamt.change_id is None
    left = {name: data for name, data in night.files().items() if name != "MEMORY.md"}
    assert left == {name: data for name, data in night.before.items() if name != "MEMORY.md"}


# --- signals and time -------------------------------------------------------------------------------------------------

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


def in_a_process_of_its_own(scenario: Callable[..., None], *arguments: object) -> None:
    """As a dream is: without threads, which would take its signals."""
    process = PROCESSES.Process(target=scenario, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == 0, "its words are on the standard error"


def hurry() -> None:
    """The first look is one too many; and it comes when a test wants it."""
    vars(dream_cancel).update(LONGEST_SECONDS=0.0, _LOOK_SECONDS=50.0)


def hang(again_seconds: float = 0.0) -> None:
    """Do nothing until the alarm comes, or comes again and again."""
    signal.setitimer(signal.ITIMER_REAL, 0.01, again_seconds)
    threading.Event().wait(60)


def check_failed(night: Night) -> None:
    assert night.files() == night.before
    assert night.lock() == (b"", dreamer.PRIOR_NS)
    assert night.jobs() == [("dream", "failed")]
    assert set(night.turns().values()) == {None}
    assert not dreams.held_locks(night.database)
    assert dreams.dream_gate_state(night.database, str(night.memory)).failures == 1


def take_too_long(home: str, step: float) -> None:
    night = Night(home)

    def hang_on(_: Database) -> None:
        night.clock.at += step
        hang()

    hurry()
    with interruptible(lambda: False), pytest.raises(OverdueError):
        night.dream(hang_on)
    check_failed(night)


@pytest.mark.parametrize("step", [0.0, -DAY], ids=["stands still", "stepped back"])
def test_the_longest_time_ends_a_step_that_hangs_whatever_the_clock_says(tmp_path: Path, step: float) -> None:
    in_a_process_of_its_own(take_too_long, str(tmp_path), step)


def be_asked_again(home: str, place: str) -> None:
    """The alarm comes again, and a signal, while the lock is released or the job is ended."""
    night = Night(home)
    owner, name = {"release": (lock.Lock, "release"), "end": (dreams, "end")}[place]
    call = getattr(owner, name)

    def slowly(*arguments: Any, **keywords: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)
        signal.raise_signal(signal.SIGTERM)
        return call(*arguments, **keywords)

    setattr(owner, name, slowly)
    hurry()
    with interruptible(lambda: False), pytest.raises(OverdueError):
        night.dream(lambda _: hang(0.01))
    check_failed(night)


@pytest.mark.parametrize("place", ["release", "end"])
def test_who_goes_on_wanting_its_end_does_not_disturb_the_cleaning_up(tmp_path: Path, place: str) -> None:
    in_a_process_of_its_own(be_asked_again, str(tmp_path), place)


def be_stopped(home: str) -> None:
    night = Night(home)

    def stop_and_hang(other: Database) -> None:
        for job in dreams.unfinished(other):
            dreams.request_stop(other, job.id)
        hang()

    with (
        closing(open_database(night.paths)) as watching,
        interruptible(lambda: dreams.is_to_stop(watching, str(night.memory))),
    ):
        assert night.dream(stop_and_hang).outcome == "killed"
    assert night.files() == night.before
    assert night.lock() == (b"", dreamer.PRIOR_NS)
    checks = Checks(night.database, night.paths, Config(), str(night.memory), NOW)
    assert isinstance(checks.decision(), Due)


def test_a_request_to_stop_ends_a_step_that_hangs_and_is_no_failure(tmp_path: Path) -> None:
    in_a_process_of_its_own(be_stopped, str(tmp_path))


def be_interrupted_in_the_commit(home: str, number: signal.Signals) -> None:
    night = Night(home)
    is_still_ours = lock.Lock.is_still_ours
    asked: list[bool] = []  # once when the lock settles, then by the commit

    def interrupted(self: lock.Lock) -> bool:
        if asked:
            os.kill(os.getpid(), number)
        asked.append(True)
        return is_still_ours(self)

    hurry()
    lock.Lock.is_still_ours = interrupted  # type: ignore[method-assign]
    with interruptible(lambda: False):
        dreamt = night.dream()
    assert len(asked) == 2
    assert dreamt.outcome == "succeeded"
    assert night.jobs() == [("dream", "succeeded")]
    assert night.turns() == ALL_DONE
    assert night.lock() == (b"", int(NOW * 1e9))
    assert dreams.dream_gate_state(night.database, str(night.memory)).failures == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGALRM])
def test_a_signal_during_the_commit_comes_too_late_and_nobody_says_that_nothing_changed(
    tmp_path: Path, number: signal.Signals
) -> None:
    in_a_process_of_its_own(be_interrupted_in_the_commit, str(tmp_path), number)


def test_after_a_suspend_the_clock_on_the_wall_ends_it(night: Night) -> None:
    """The timer stood still with the machine."""

    def suspend(_: Database) -> None:
        night.clock.at += 8 * 3600

    with pytest.raises(OverdueError):
        night.dream(suspend)
    assert night.files() == night.before
    assert night.lock() == (b"", dreamer.PRIOR_NS)


@pytest.mark.parametrize("seconds", [-DAY, -365 * DAY])
def test_a_clock_that_steps_back_inside_gives_the_lock_a_time_that_it_knows(night: Night, seconds: float) -> None:
    def step(_: Database) -> None:
        night.clock.at += seconds

    assert night.dream(step).outcome == "succeeded"
    assert night.lock() == (b"", int((NOW + seconds) * 1e9))
    assert night.turns() == ALL_DONE
