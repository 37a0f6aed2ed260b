"""Upkeep: what is older than history is kept goes, what rests on it stays, and nobody notices."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config, HistorySettings
from memoryd.errors import BusyError
from memoryd.jobs import gates
from memoryd.jobs.process_lock import clear, only_process
from memoryd.jobs.upkeep import UpkeepOutcome, excess, last_upkeep, upkeep, upkeep_due
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.document import new_document
from memoryd.memory.history import restoring, undoing
from memoryd.model import Changeset, Due, FileChange, Group, Revision, Wait
from memoryd.state import changes, history, inbox, model_calls, retention, settings
from memoryd.state.changes import DroppedError, digest
from memoryd.state.dream_verdicts import NotDone, note_not_done
from tests.inbox_rows import numbered, store
from tests.jobs.dream_workspace import DAY, NOW, FastClock, RevisingEngine
from tests.jobs.workspace import TABS, TABS_MD

if TYPE_CHECKING:
    import threading
    from contextlib import AbstractContextManager

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.dream_workspace import DreamWorkspace
    from tests.jobs.workspace import Workspace

HOUR = 3600.0
OLD = NOW - 100 * DAY
YOUNG = NOW - 80 * DAY


# --- when -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passed_hours", "hour", "is_due"),
    [
        (0, 3, False),
        (19.9, 3, False),  # the same night, or one that came late in the day before
        (20, 3, True),
        (24, 4, True),
        (24, 5, False),
        (35.9, 14, False),
        (36, 14, True),  # the machine sleeps at night
        (-0.5, 3, False),  # a clock that was put right a little
        (-1.1, 14, True),  # set back: nobody waits for the time it had
        (-9999, 14, True),
    ],
)
def test_it_comes_once_a_night_or_when_it_has_been_long(passed_hours: float, hour: int, is_due: bool) -> None:
    decision = gates.upkeep(NOW - passed_hours * HOUR, None, NOW, hour)
    assert isinstance(decision, Due) is is_due
    if isinstance(decision, Wait):
        assert decision.until == NOW + (36 - passed_hours) * HOUR


def test_one_that_came_to_nothing_is_not_begun_again_at_once() -> None:
    assert isinstance(gates.upkeep(NOW - 48 * HOUR, NOW - 60, NOW, 3), Wait)
    assert isinstance(gates.upkeep(NOW - 48 * HOUR, NOW - HOUR, NOW, 3), Due)
    assert isinstance(gates.upkeep(NOW - 48 * HOUR, NOW + HOUR, NOW, 3), Due)  # the clock was set back


def test_a_first_start_is_left_in_peace(database: Database, paths: Paths, config: Config) -> None:
    assert not upkeep_due(database, NOW)
    assert not upkeep_due(database, NOW + HOUR)
    assert upkeep_due(database, NOW + 36 * HOUR)
    assert last_upkeep(database) is None
    done = upkeep(database, paths, config, FastClock(NOW + 36 * HOUR))
    assert last_upkeep(database) == done == UpkeepOutcome(at=NOW + 36 * HOUR)
    assert not upkeep_due(database, NOW + 37 * HOUR)


def test_one_that_died_is_known_to_have_been_begun(database: Database, paths: Paths, config: Config) -> None:
    class Dying(FastClock):
        def wait(self, event: threading.Event, seconds: float) -> bool:
            del event, seconds
            raise KeyboardInterrupt

    upkeep_due(database, NOW - 48 * HOUR)
    archive = Archive(database, Path(paths.state_dir, "memory"))
    archive.write("a.md", "one", OLD)
    archive.write("a.md", "two", OLD)
    archive.write("a.md", "three", OLD)
    with pytest.raises(KeyboardInterrupt):
        upkeep(database, paths, config, Dying(NOW))
    assert not upkeep_due(database, NOW + 60)
    assert last_upkeep(database) is None
    assert upkeep_due(database, NOW + HOUR)


# --- history ----------------------------------------------------------------------------------------------------------


def memory(body: str) -> bytes:
    return new_document(
        name="a", description="what it says", kind="user", body=body, session_id="s", evidence="", modified="2026-10-16"
    ).render()


class Archive:
    """A memory directory and its history, written at times of the past."""

    def __init__(self, database: Database, place: Path) -> None:
        self.database, self.place = database, place
        place.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, body: str | None, at: float, kind: str = "restore") -> int:
        """Returns the number of the change."""
        with self.open() as directory:
            now = directory.read(name)
            after = None if body is None else memory(body)
            change = FileChange(name, now.data if now else None, after, now.mtime_ns if now else None)
            done = commit(self.database, directory, Changeset(kind, "", (Group((change,), ""),)), at)  # type: ignore[arg-type]
        assert done.change_id is not None
        return done.change_id

    def open(self) -> AbstractContextManager[MemoryDirectory]:
        return open_directory(str(self.place))

    def undo(self, change_id: int, at: float = NOW) -> int:
        change = history.find(self.database, change_id)
        assert change is not None
        with self.open() as directory:
            done = commit(self.database, directory, undoing(self.database, change), at)
        assert done.change_id is not None
        assert not done.conflicted
        return done.change_id

    def keep_up(self, paths: Paths, config: Config | None = None, now: float = NOW) -> UpkeepOutcome:
        """As if one had been done the day before."""
        settings.put(self.database, settings.UPKEEP, {"tried_at": None, "did": None}, now - DAY)
        return upkeep(self.database, paths, config or Config(), FastClock(now))

    def is_kept(self, change_id: int) -> bool:
        change = history.find(self.database, change_id)
        assert change is not None
        return change.is_kept

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.place.iterdir()}


@pytest.fixture
def archive(database: Database, tmp_path: Path) -> Archive:
    return Archive(database, tmp_path / "memory")


def test_an_old_change_can_no_longer_be_taken_back_and_a_young_one_can(archive: Archive, paths: Paths) -> None:
    first = archive.write("a.md", "one", OLD)
    second = archive.write("a.md", "two", OLD + DAY)
    third = archive.write("a.md", "three", YOUNG)
    files, rows = archive.files(), archive.database.query("SELECT count(*) FROM change_files")[0][0]
    done = archive.keep_up(paths)
    assert done.contents > 0
    assert done.content_bytes >= len(memory("one"))
    assert [archive.is_kept(number) for number in (first, second, third)] == [False, False, True]
    assert archive.files() == files
    assert archive.database.query("SELECT count(*) FROM change_files")[0][0] == rows
    for number in (first, second):
        with pytest.raises(DroppedError, match=rf"Change {number} is older than history is kept .*history\.keep_days"):
            archive.undo(number)
    assert archive.files() == files
    archive.undo(archive.undo(third))
    archive.undo(third + 2)
    assert archive.files()["a.md"] == memory("two")
    assert archive.keep_up(paths).contents == 0


def test_a_file_whose_last_change_is_too_old_cannot_be_restored(archive: Archive, paths: Paths) -> None:
    archive.write("a.md", "one", OLD)
    gone = archive.write("a.md", None, OLD, kind="forget")
    archive.write("b.md", "one", YOUNG)
    archive.keep_up(paths)
    with archive.open() as directory:
        with pytest.raises(DroppedError):
            restoring(archive.database, directory, "a.md", None)
        with pytest.raises(DroppedError):
            restoring(archive.database, directory, "a.md", history.find(archive.database, gone))
    assert sorted(archive.files()) == ["MEMORY.md", "b.md"]


def test_a_content_that_comes_again_can_be_taken_back_again(archive: Archive, paths: Paths) -> None:
    """The same bytes were let go before: what is stored anew is there, not the empty rest."""
    archive.write("a.md", "one", OLD)
    archive.write("a.md", "two", OLD)
    archive.write("a.md", None, OLD)
    archive.keep_up(paths)
    archive.write("a.md", "one", NOW)
    last = archive.write("a.md", "two", NOW)
    archive.undo(last)
    assert archive.files()["a.md"] == memory("one")


def test_beyond_its_room_the_oldest_history_goes_whatever_its_age(archive: Archive, paths: Paths) -> None:
    written = [archive.write("a.md", f"{number} " + "x" * 100_000, NOW - 60 + number) for number in range(30)]
    done = archive.keep_up(paths, Config(history=HistorySettings(keep_megabytes=1)))
    kept = [archive.is_kept(number) for number in written]
    assert kept == sorted(kept), "a younger one went before an older one"
    assert 0 < sum(kept) < 12
    assert 500_000 < done.history_bytes <= 1_000_000
    (left,) = archive.database.query("SELECT sum(length(data)) FROM blobs")[0]
    assert left == done.history_bytes
    archive.undo(written[-1])


def test_what_is_not_finished_keeps_what_it_needs(archive: Archive, paths: Paths) -> None:
    archive.write("a.md", "one", OLD)
    begun = archive.write("a.md", "two", OLD)
    archive.write("a.md", "three", OLD)
    archive.write("a.md", None, OLD)
    archive.database.execute("UPDATE changes SET state = 'prepared' WHERE id = ?", (begun,))
    archive.keep_up(paths)
    (file,) = changes.planned_files(archive.database, begun)
    assert (file.before, file.after) == (memory("one"), memory("two"))
    assert not archive.is_kept(begun + 1)


def test_a_rescued_edit_is_kept_as_long_as_its_change(archive: Archive, paths: Paths) -> None:
    old, young = archive.write("a.md", "one", OLD), archive.write("a.md", "two", YOUNG)
    for number, edit in ((old, b"an old edit"), (young, b"a young edit")):
        changes.rescue(archive.database, number, "a.md", edit)
    archive.keep_up(paths)
    assert history.rescued(archive.database, old) == []
    assert history.rescued(archive.database, young) == [("a.md", b"a young edit")]


def test_what_a_change_stores_between_plan_and_deed_stays(archive: Archive) -> None:
    archive.write("a.md", "one", OLD)
    archive.write("a.md", None, OLD)
    plan = retention.plan(archive.database, NOW - 90 * DAY, 1e9, NOW)
    assert digest(memory("one")) in {content.hash for content in plan.contents}
    again = archive.write("b.md", "one", NOW)
    dropped = retention.drop(archive.database, plan, plan.contents, NOW)
    assert digest(memory("one")) not in {content.hash for content in dropped}
    archive.undo(again)


def test_what_a_change_stores_that_had_begun_before_the_plan_stays(archive: Archive) -> None:
    """An index that has to be made again is added to a commit that is under way."""
    archive.write("a.md", "one", OLD)
    archive.write("a.md", None, OLD)
    begun = archive.write("b.md", "two", OLD)
    archive.database.execute("UPDATE changes SET state = 'prepared' WHERE id = ?", (begun,))
    plan = retention.plan(archive.database, NOW - 90 * DAY, 1e9, NOW)
    assert digest(memory("one")) in {content.hash for content in plan.contents}
    added = changes.PlannedFile(begun, 9, -1, "", "MEMORY.md", "t", None, None, memory("one"), 1, 0o600, "applied")
    changes.add_file(archive.database, added)
    changes.close(archive.database, {begun: set()}, NOW)
    retention.drop(archive.database, plan, plan.contents, NOW)
    assert memory("one") in [file.after for file in changes.planned_files(archive.database, begun)]


def test_a_clock_that_is_wrong_for_some_nights_costs_no_history(archive: Archive, paths: Paths) -> None:
    number = archive.write("a.md", "one", NOW - 2 * DAY)
    settings.put(archive.database, settings.UPKEEP, {"tried_at": None, "did": None}, NOW - DAY)
    for night in range(3):
        years_later = FastClock(NOW + (5000 + night) * DAY)
        assert upkeep(archive.database, paths, Config(), years_later).contents == 0
    assert upkeep_due(archive.database, NOW + DAY)
    assert upkeep(archive.database, paths, Config(), FastClock(NOW + DAY)).contents == 0
    assert upkeep(archive.database, paths, Config(), FastClock(1000.0)).contents == 0  # one that begins in 1970
    assert archive.is_kept(number)
    later = NOW + 100 * DAY  # a machine that was off for as long: within some nights it is believed
    dropped = [
        upkeep(archive.database, paths, Config(), FastClock(later + night * DAY)).contents for night in range(20)
    ]
    assert dropped[0] == 0
    assert sum(dropped) > 0


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        ((NOW - 200 * DAY, YOUNG), (False, True)),
        ((YOUNG, 1000.0, NOW), (True, True, True)),  # a clock that began in 1970
        ((NOW + 9999 * DAY, OLD, YOUNG), (False, False, True)),  # one that was years ahead
        ((OLD, NOW + 9999 * DAY), (False, True)),
        ((NOW + 9999 * DAY,), (True,)),
        ((YOUNG, OLD), (True, True)),
    ],
)
def test_changes_are_as_old_as_those_around_them(
    archive: Archive, paths: Paths, times: tuple[float, ...], kept: tuple[bool, ...]
) -> None:
    written = [archive.write(f"{number}.md", f"{number}", at) for number, at in enumerate(times)]
    archive.keep_up(paths)
    assert tuple(archive.is_kept(number) for number in written) == kept


def test_what_history_is_beside_contents_stays(workspace: Workspace) -> None:
    """Which file is ours, what it rests on, what was undone: after years it is as known as after a day."""
    archive = Archive(workspace.database, workspace.memory)
    workspace.say(TABS)
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    names = (
        history.names_written(workspace.database, str(workspace.memory)),
        history.made(workspace.database, str(workspace.memory)),
    )
    evidence = history.evidence_of(workspace.database, str(workspace.memory), TABS_MD)
    assert archive.keep_up(workspace.paths, now=NOW + 200 * DAY).contents > 0
    assert names == (
        history.names_written(workspace.database, str(workspace.memory)),
        history.made(workspace.database, str(workspace.memory)),
    )
    assert history.evidence_of(workspace.database, str(workspace.memory), TABS_MD) == evidence


def test_what_was_undone_does_not_come_back_after_its_history_is_gone(workspace: Workspace) -> None:
    workspace.say(TABS)
    workspace.work()
    workspace.undo()
    assert Archive(workspace.database, workspace.memory).keep_up(workspace.paths, now=NOW + 200 * DAY).contents > 0
    workspace.database.execute("UPDATE turns SET outcome = NULL")
    workspace.work()
    assert TABS_MD not in workspace.files()


def test_a_dream_that_was_undone_is_not_dreamt_again_after_its_time(dream_workspace: DreamWorkspace) -> None:
    archived = RevisingEngine(lambda _: [Revision("expired", "Archiving the freeze", ("project_freeze.md",))])
    dream_workspace.remember("project_freeze.md", "No merges from 2020-03-09 to 2020-03-27.")
    assert dream_workspace.dream(archived).change_id is not None
    dream_workspace.undo()
    before = dream_workspace.state()
    dream_workspace.clock.at += 200 * DAY
    archive = Archive(dream_workspace.database, dream_workspace.memory)
    archive.keep_up(dream_workspace.paths, now=dream_workspace.clock.at)
    assert dream_workspace.dream(archived).change_id is None
    assert dream_workspace.state() == before


def test_a_dream_whose_history_is_half_gone_does_not_keep_others_from_dreaming(dream_workspace: DreamWorkspace) -> None:
    dream_workspace.remember("project_freeze.md", "No merges from 2020-03-09 to 2020-03-27.")
    archived = RevisingEngine(lambda _: [Revision("expired", "Archiving the freeze", ("project_freeze.md",))])
    dream_workspace.dream(archived)
    dream_workspace.undo()
    dream_workspace.database.execute("UPDATE blobs SET data = x'', dropped_at = 1")
    assert dream_workspace.dream(archived).outcome == "succeeded"


# --- notes of jobs ----------------------------------------------------------------------------------------------------


def test_of_old_jobs_only_what_came_of_them_is_kept(database: Database, paths: Paths) -> None:
    for number, ended_at in ((1, OLD), (2, NOW - DAY)):
        database.execute(
            "INSERT INTO jobs (id, kind, memory_dir, session_id, token, started_at, ended_at, outcome)"
            " VALUES (?, 'dream', '/m', '', 't', 1, ?, 'failed')",
            (number, ended_at),
        )
        note_not_done(database, number, [NotDone("a.md", "words", "held", "")])
        database.execute("INSERT INTO dream_turns VALUES (?, 1, 1, 'gather', 'Reading', 'words')", (number,))
        model_calls.remark(database, number, "refused", "words")
        step = model_calls.reserve(database, number, b"r", model="m", prompt="p", usd=1, now=ended_at)
        model_calls.settle(database, step, model_calls.Spent(1, 2, 3, 4, 5, 0.25), b"words")
    assert Archive(database, Path(paths.state_dir, "memory")).keep_up(paths).jobs == 1
    left = {
        table: [row[0] for row in database.query(f"SELECT job_id FROM {table}")]  # noqa: S608 - names of ours
        for table in ("fates", "dream_turns", "remarks", "steps")
    }
    assert left == {"fates": [2], "dream_turns": [2], "remarks": [2], "steps": [1, 2]}
    assert [row[0] for row in database.query("SELECT reply FROM steps ORDER BY job_id")] == [None, b"words"]
    assert model_calls.spent_by(database, 1).usd == 0.25
    assert [row[0] for row in database.query("SELECT outcome FROM jobs")] == ["failed", "failed"]


# --- what processes left ----------------------------------------------------------------------------------------------


def used_at(path: str, at: float) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8"):
        os.utime(path, (at, at))
    return path


def test_unused_locks_and_abandoned_copies_go_and_those_in_use_stay(database: Database, paths: Paths) -> None:
    unused, lately = (paths.place_for(place, "workers") for place in ("/unused", "/lately"))
    used_at(unused, OLD)
    used_at(lately, NOW - DAY)
    for place, purpose in (("/unused", "dreams"), ("/lately", "staging"), ("/busy", "staging")):
        used_at(os.path.join(paths.place_for(place, purpose), "a.md"), OLD)
    with only_process(paths, "/busy", "workers", "busy"), only_process(paths, "/held", "dreamers", "busy"):
        os.utime(paths.place_for("/held", "dreamers"), (OLD, OLD))
        done = Archive(database, Path(paths.state_dir, "memory")).keep_up(paths)
        assert (done.copies, done.locks) == (2, 2)
        assert os.listdir(os.path.join(paths.state_dir, "dreams")) == []
        assert os.listdir(os.path.join(paths.state_dir, "staging")) == [
            os.path.basename(paths.place_for("/busy", "staging"))
        ]
        assert not os.path.exists(unused)
        assert os.path.exists(lately)
        with pytest.raises(BusyError), only_process(paths, "/held", "dreamers", "busy"):
            pass


def test_taking_a_lock_counts_as_using_it(paths: Paths) -> None:
    place = used_at(paths.place_for("/m", "workers"), 1.0)
    with only_process(paths, "/m", "workers", "busy"):
        pass
    assert os.stat(place).st_mtime > 1.0


def test_a_lock_that_is_removed_between_opening_and_taking_it_is_not_the_lock(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two would be inside: one holds a file without a name, the next makes a new one."""
    used_at(paths.place_for("/m", "workers"), 1.0)
    real = fcntl.flock

    def flock(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        assert clear(paths, "workers", "staging", 2.0).locks == 1
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with (
        only_process(paths, "/m", "workers", "busy"),
        pytest.raises(BusyError),
        only_process(paths, "/m", "workers", "busy"),
    ):
        pass


def test_old_rotated_logs_go_and_nothing_that_only_looks_like_one(database: Database, paths: Paths) -> None:
    for name, at in (
        ("memoryd.log", OLD),
        ("memoryd.log.1", NOW - DAY),
        ("memoryd.log.2", OLD),
        ("memoryd.log.12", OLD),
        ("memoryd.log.mine", OLD),
        ("memoryd.logs.1", OLD),
        ("memoryd.sqlite3.damaged-20260101T000000Z", OLD),
    ):
        used_at(os.path.join(paths.state_dir, name), at)
    assert Archive(database, Path(paths.state_dir, "memory")).keep_up(paths).logs == 2
    assert {name for name in os.listdir(paths.state_dir) if not name.startswith("memoryd.sqlite3-")} == {
        *("memory", "memoryd.log", "memoryd.log.1", "memoryd.log.mine", "memoryd.logs.1", "memoryd.sqlite3"),
        "memoryd.sqlite3.damaged-20260101T000000Z",
    }


def test_what_launchd_noted_of_crashes_does_not_grow_without_end(database: Database, paths: Paths) -> None:
    crashes = Path(paths.crash_log)
    crashes.write_bytes(b"x" * 1000)
    assert Archive(database, Path(paths.state_dir, "memory")).keep_up(paths).logs == 0
    assert crashes.stat().st_size == 1000
    crashes.write_bytes(b"x" * 2_000_000)
    assert Archive(database, Path(paths.state_dir, "memory")).keep_up(paths).logs == 1
    assert crashes.stat().st_size == 0


# --- room -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def roomy(archive: Archive) -> Archive:
    """Twelve megabytes of old history."""
    for number in range(12):
        archive.write("a.md", f"{number} " + "x" * 1_000_000, OLD)
    archive.write("a.md", None, OLD)
    return archive


def test_a_database_that_is_mostly_free_is_made_smaller(roomy: Archive, paths: Paths) -> None:
    assert excess(roomy.database, Config(), NOW).bytes > 12_000_000
    done = roomy.keep_up(paths)
    assert done.freed_bytes > 12_000_000
    assert os.path.getsize(paths.database) < 1_000_000
    assert os.path.getsize(f"{paths.database}-wal") < 100_000
    assert roomy.database.query("PRAGMA quick_check")[0][0] == "ok"
    assert roomy.database.is_in_place()


def test_it_is_left_as_it_is_while_a_job_runs(roomy: Archive, paths: Paths) -> None:
    roomy.database.execute(
        "INSERT INTO jobs (kind, memory_dir, session_id, token, started_at) VALUES ('extract', '/m', 's', 't', 1)"
    )
    done = roomy.keep_up(paths)
    assert (done.freed_bytes, done.left) == (0, "a job was running")
    assert retention.database_size(roomy.database).free_bytes > 12_000_000


def test_whoever_writes_meanwhile_goes_first(roomy: Archive, paths: Paths) -> None:
    real = retention.optimize
    with closing(sqlite3.connect(paths.database, isolation_level=None)) as other:

        def optimize(database: Database) -> None:
            real(database)
            other.execute("BEGIN IMMEDIATE")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(retention, "optimize", optimize)
            patch.setattr(settings, "put", lambda *_: None)  # which would wait for the other
            done = upkeep(roomy.database, paths, Config(), FastClock())
        other.execute("ROLLBACK")
    assert (done.freed_bytes, done.left) == (0, "another process used the database")


def test_without_room_for_a_copy_it_is_not_copied(
    roomy: Archive, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 50 << 20

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    done = roomy.keep_up(paths)
    assert (done.freed_bytes, done.left) == (0, "the disk has no room for a copy")


def test_a_copy_that_cannot_be_made_does_not_undo_the_rest(
    roomy: Archive, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = roomy.database.query("PRAGMA page_count")[0][0]

    def compact(database: Database) -> None:
        database.execute("VACUUM INTO '/nowhere/copy'")

    monkeypatch.setattr(retention, "compact", compact)
    done = roomy.keep_up(paths)
    assert done.contents > 0
    assert done.left.startswith("The state database")
    assert last_upkeep(roomy.database) == done
    assert roomy.database.query("PRAGMA page_count")[0][0] == pages


# --- the inbox --------------------------------------------------------------------------------------------------------


def test_what_nobody_answers_leaves_the_inbox_after_thirty_days(
    database: Database, paths: Paths, config: Config
) -> None:
    store(database, "/memory", numbered(1), now=NOW - 30 * DAY - 1)
    store(database, "/memory", numbered(2, "unconfirmed"), now=NOW - 29 * DAY)
    upkeep_due(database, NOW - DAY)
    assert upkeep(database, paths, config, FastClock(NOW)).expired == 1
    assert [row.first.name for row in inbox.waiting(database)] == ["feedback_2.md"]
    assert [(row.names, row.outcome) for row in inbox.closed(database)] == [(("feedback_1.md",), "expired")]
    assert upkeep(database, paths, config, FastClock(NOW + 2 * DAY)).expired == 1


def test_a_clock_that_is_far_ahead_empties_no_inbox(database: Database, paths: Paths, config: Config) -> None:
    store(database, "/memory", numbered(1), now=NOW)
    upkeep_due(database, NOW)
    assert upkeep(database, paths, config, FastClock(NOW + 1000 * DAY)).expired == 0
    assert inbox.number_waiting(database) == 1


def test_the_texts_of_answered_rows_are_kept_as_long_as_history(
    database: Database, paths: Paths, config: Config
) -> None:
    for number, closed_at in ((1, OLD), (2, YOUNG)):
        row = store(database, "/memory", numbered(number), now=closed_at)[-1]
        inbox.reject(database, row.id, closed_at)
    upkeep_due(database, NOW - DAY)
    upkeep(database, paths, config, FastClock(NOW))
    rows = [inbox.find(database, number) for number in (1, 2)]
    assert [row.first.after is None for row in rows if row] == [True, False]
    assert len(inbox.closed(database)) == 2
