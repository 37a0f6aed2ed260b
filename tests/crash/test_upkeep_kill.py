"""kill -9 at every system call of an upkeep that touches the disk: nothing is lost, and the next one ends it."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from memoryd.clock import SystemClock
from memoryd.config import Config
from memoryd.jobs.upkeep import last_upkeep, upkeep, upkeep_due
from memoryd.paths import paths_from
from memoryd.state import changes, dreams, history, settings
from memoryd.state.changes import digest
from memoryd.state.database import open_database
from memoryd.state.dream_verdicts import NotDone, note_not_done
from tests.crash import strace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoryd.state.database import Database
    from tests.crash.strace import Call, Run
    from tests.torture.campaign import Campaign

DAY = 86_400.0
LARGE, SMALL = 2 << 20, 3_000
DROPPED = 59
"""Of sixty old contents, the last is what a young change found."""


def make_world(home: str, *, young_bytes: int = SMALL) -> None:
    """Sixty old changes and ten young ones, and what dead processes left."""
    paths = paths_from({"HOME": home})
    now = SystemClock().now()
    with closing(open_database(paths)) as database:
        with database.transaction():
            before = None
            for number in range(1, 71):
                at = now - (100 if number <= 60 else 10) * DAY
                size = LARGE if number <= 5 else young_bytes if number > 60 else SMALL
                before = _change(database, number, at, before, f"{number} ".encode() * (size // len(f"{number} ")))
        job = dreams.begin(database, "/m", "/p", "offline", now - 100 * DAY)
        note_not_done(database, job.id, [NotDone("a.md", "words", "held", "")])
        dreams.end(database, job, "succeeded", now - 100 * DAY)
        settings.put(database, settings.UPKEEP, {"tried_at": None, "did": None}, now - DAY)
    for place in (
        paths.place_for("/m", "workers"),
        paths.place_for("/m", "dreamers"),
        os.path.join(paths.place_for("/m", "staging"), "a.md"),
        os.path.join(paths.place_for("/m", "dreams"), "a.md"),
        f"{paths.log_file}.2",
    ):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8"):
            os.utime(place, (now - 100 * DAY, now - 100 * DAY))


def _change(database: Database, number: int, at: float, before: bytes | None, data: bytes) -> bytes:
    """One file, changed again and again: each content is needed by two changes. Returns the name of the content."""
    database.execute(
        "INSERT INTO changes (id, memory_dir, kind, why, session_id, at, state)"
        " VALUES (?, '/m', 'extract', '', 's', ?, 'applied')",
        (number, at),
    )
    database.execute("INSERT INTO blobs (hash, data) VALUES (?, ?)", (digest(data), data))
    database.execute(
        "INSERT INTO change_files VALUES (?, 0, 0, '', 'a.md', 't', ?, 1, ?, 1, 384, 'applied', NULL)",
        (number, before, digest(data)),
    )
    return digest(data)


class World:
    """One home that is put back to how it was before every kill."""

    def __init__(self, place: Path) -> None:
        self.home = str(place / "home")
        self.paths = paths_from({"HOME": self.home})
        self._fresh = str(place / "fresh")
        make_world(self._fresh)
        self.reset()

    def reset(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self._fresh, self.home)

    def run(self, *inject: str) -> Run:
        return strace.run_module(self.home, ("tests.crash.keeper", self.home), *inject, is_new=True)

    def check_nothing_is_lost(self, database: Database) -> None:
        database.check()
        blobs = database.query("SELECT hash, data, dropped_at FROM blobs")
        assert len(blobs) == 70
        for blob in blobs:
            assert blob["data"] == b"" if blob["dropped_at"] is not None else digest(blob["data"]) == blob["hash"]
        for number in range(61, 71):
            assert changes.planned_files(database, number)
        assert len(history.recent(database, "/m", limit=100)) == 70

    def check_done(self, database: Database) -> None:
        self.check_nothing_is_lost(database)
        assert database.query("SELECT count(*) FROM blobs WHERE dropped_at IS NOT NULL")[0][0] == DROPPED
        assert database.query("SELECT count(*) FROM fates")[0][0] == 0
        assert last_upkeep(database) is not None
        assert not upkeep_due(database, SystemClock().now())
        found = {os.path.relpath(path, self.paths.state_dir) for path, _, _ in os.walk(self.paths.state_dir)}
        assert found == {".", "workers", "dreamers", "staging", "dreams"}
        files = [name for _, _, names in os.walk(self.paths.state_dir) for name in names]
        assert {name for name in files if not name.startswith(("memoryd.sqlite3", "recall.sqlite3"))} == set()
        assert os.path.getsize(self.paths.database) < LARGE

    def recover(self) -> None:
        with closing(open_database(self.paths)) as database:
            self.check_nothing_is_lost(database)
            upkeep(database, self.paths, Config(), SystemClock())
            self.check_done(database)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    yield World(tmp_path)
    shutil.rmtree(tmp_path)


def sample(calls: tuple[Call, ...], number: int) -> list[Call]:
    """Some of them, the same in every run: the files' calls first. Thousands write one page each into the database."""
    files = [call for call in calls if not call.is_of_the_database]
    others = [call for call in calls if call.is_of_the_database]
    choose = random.Random(len(calls))
    some = choose.sample(files, min(len(files), number // 2))
    return some + choose.sample(others, number - len(some))


@pytest.mark.torture
def test_killed_anywhere_nothing_is_lost_and_the_next_one_ends_it(
    world: World, torture: bool, campaign: Campaign
) -> None:
    plain = world.run()
    assert plain.returncode == 0
    with closing(open_database(world.paths)) as database:
        world.check_done(database)
    print(f"{len(plain.calls)} points to be killed at")
    killed = 0
    for call in campaign.in_time(sample(plain.calls, 400 if torture else 4)):
        killed += 1
        world.reset()
        assert world.run(f"{call.kind}:signal=KILL:when={call.number}").was_killed, f"{call} was not reached"
        world.recover()
    campaign.tried("faults", "kill at a disk call of upkeep", killed)


def test_the_copy_that_makes_the_database_smaller_lies_beside_it(tmp_path: Path) -> None:
    """Room was looked for there; a small /tmp would be full."""
    home = str(tmp_path)
    make_world(home, young_bytes=400_000)
    run = strace.run_module(home, ("tests.crash.keeper", home), is_new=True)
    copies = [call.arguments for call in run.calls if call.kind == "openat" and "etilqs" in call.arguments]
    assert copies
    assert all(paths_from({"HOME": home}).state_dir in arguments for arguments in copies)
