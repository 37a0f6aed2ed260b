"""kill -9, or an error of the disk, at every system call of a commit that touches the disk: all old or all new."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from memoryd.memory.commit import commit, recover, reindex
from memoryd.memory.directory import TEMPORARY_PREFIX, open_directory
from memoryd.memory.index import entry_of
from memoryd.memory.limits import INDEX_NAME
from memoryd.model import Changeset, FileChange, Group
from memoryd.state.database import open_database
from tests.crash import strace, victim

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crash.strace import Call, Run
    from tests.torture.campaign import Campaign

# Where the kernel cannot exchange names, three renames do it: more steps to be killed between.
KERNELS = {"exchange": (), "three renames": ("renameat2:error=ENOSYS",)}


class File(NamedTuple):
    data: bytes
    mtime_ns: int
    mode: int


class World:
    """One home that is put back to how it was before every attempt; its path is in the database and must not change."""

    def __init__(self, place: Path, scenario: str, kernel: str) -> None:
        self.home = str(place / "home")
        self.scenario = scenario
        self._kernel = KERNELS[kernel]
        self._fresh = str(place / "fresh")
        victim.make_world(self._fresh)
        self.reset()
        self._index = self.files()[INDEX_NAME]

    def reset(self, snapshot: str | None = None) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(snapshot or self._fresh, self.home, symlinks=True)

    def keep(self, place: Path) -> str:
        shutil.copytree(self.home, place, symlinks=True)
        return str(place)

    def run(self, action: str, *inject: str) -> Run:
        return strace.run(self.home, self.scenario, action, *self._kernel, *inject)

    def kill(self, action: str, call: Call) -> None:
        run = self.run(action, f"{call.kind}:signal=KILL:when={call.number}")
        assert run.was_killed, f"{call} was not reached"

    # --- what is there ------------------------------------------------------------------------------------------------

    def files(self) -> dict[str, File]:
        found = {}
        for entry in os.scandir(victim.memory_dir(self.home)):
            with open(entry.path, "rb") as file:
                found[entry.name] = File(file.read(), entry.stat().st_mtime_ns, entry.stat().st_mode & 0o777)
        return found

    def state(self) -> frozenset[tuple[str, bytes]]:
        """The directory without what differs in every run."""
        return frozenset(
            (re.sub(r"^\.memoryd-\w+", TEMPORARY_PREFIX, name), file.data) for name, file in self.files().items()
        )

    def rows(self) -> list[str]:
        with closing(sqlite3.connect(victim.paths_of(self.home).database)) as connection:
            return list(connection.iterdump())

    def query(self, sql: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(victim.paths_of(self.home).database)) as connection:
            return connection.execute(sql).fetchall()

    # --- what must hold -----------------------------------------------------------------------------------------------

    def recover(self) -> None:
        """As the next process does."""
        with (
            closing(open_database(victim.paths_of(self.home))) as database,
            open_directory(victim.memory_dir(self.home)) as directory,
            directory.locked(),
        ):
            recover(database, directory, victim.NOW + 60)

    def check_recovered(self) -> bool:
        """Everything that must hold once the next process has recovered. Returns whether the change was made."""
        self.recover()
        is_applied = self.check_old_or_new()
        before = self.files(), self.rows()
        self.recover()
        assert (self.files(), self.rows()) == before, "recovery changed something the second time"
        self._check_next_commit()
        return is_applied

    def check_old_or_new(self) -> bool:
        changes = self.query("SELECT state FROM changes")
        assert changes in ([], [("applied",)], [("conflicted",)])
        is_applied = changes == [("applied",)]
        files = self.files()
        expected = {name: File(data, victim.OLD_NS, 0o640) for name, data in victim.BEFORE.items()}
        expected["notes.txt"] = File(b"no memory\n", victim.OLD_NS, 0o640)
        if is_applied:
            for group in victim.SCENARIOS["applied"]:
                for name, _, after in group:
                    expected.pop(name, None)
                    if after is not None:
                        expected[name] = File(after, int(victim.NOW * 1e9), 0o640)
        index = files.pop(INDEX_NAME)
        assert files == expected, "some of a group is old and some of it new, or a temporary file was left"
        if changes == [("conflicted",)] and index == self._index:
            pass  # right before, or as wrong as before: nothing was changed
        elif changes:
            self._check_index(index, set(expected) - {"notes.txt"})
        # Where a group met an edit, the work is to be done again.
        is_whole = is_applied and not self.query("SELECT 1 FROM change_files WHERE state = 'conflicted'")
        outcome = "succeeded" if is_whole else None
        assert self.query("SELECT outcome FROM turns") == [(outcome,)] * len(victim.TURNS)
        in_the_inbox = self.query("SELECT at IS NOT NULL FROM inbox")
        assert in_the_inbox == [(1,)] * is_whole, "what review held comes with the turns"
        evidence = self.query("SELECT name FROM evidence ORDER BY name")
        assert evidence == ([("created.md",), ("made.md",), ("replaced.md",), ("target.md",)] if is_applied else [])
        return is_applied

    def _check_index(self, index: File, topics: set[str]) -> None:
        lines = index.data.decode().splitlines()
        entries = [name for line in lines if (name := entry_of(line))]
        assert len(entries) == len(set(entries))
        assert set(entries) == topics
        assert {"# Memories of mine", victim.OWN_LINE, "free text"} <= set(lines)
        for name in ("created.md", "replaced.md"):
            if name in topics and self.files()[name].data == victim.new(name):
                assert any(entry_of(line) == name and line.endswith(f"about new-{name}") for line in lines)

    def _check_next_commit(self) -> None:
        after = victim.memory("next.md", "said later")
        wish = Changeset("restore", "next", (Group((FileChange("next.md", None, after),), "said"),))
        with (
            closing(open_database(victim.paths_of(self.home))) as database,
            open_directory(victim.memory_dir(self.home)) as directory,
        ):
            committed = commit(database, directory, wish, victim.NOW + 120)
            assert committed.change_id
            assert not committed.conflicted
            assert reindex(database, directory, victim.NOW + 180).change_id is None
        assert self.files()["next.md"].data == after


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=victim.SCENARIOS)
def world(request: pytest.FixtureRequest, tmp_path: Path, kernel: str) -> Iterator[World]:
    yield World(tmp_path, request.param, kernel)
    shutil.rmtree(tmp_path)  # hundreds of copies that pytest would keep


def sample(points: list[Call], number: int) -> list[Call]:
    """Some of them, the same in every run: of what happens in the database a quarter, the files' calls first."""
    files = [call for call in points if not call.is_of_the_database]
    others = [call for call in points if call.is_of_the_database]
    choose = random.Random(len(points))
    some = choose.sample(files, min(len(files), number * 3 // 4))
    return some + choose.sample(others, min(len(others), number - len(some)))


@pytest.mark.torture
def test_killed_anywhere_a_commit_is_all_old_or_all_new(world: World, torture: bool, campaign: Campaign) -> None:
    plain = world.run("commit")
    assert plain.returncode == 0
    assert world.check_old_or_new()
    intend, closed = plain.marks["intend"], plain.marks["closed"]
    print(f"{len(plain.calls)} points to be killed at, {closed - intend} of them between intend and close")
    assert closed - intend >= 50
    outcomes = []
    for call in campaign.in_time(plain.calls if torture else sample(list(plain.calls), 10)):
        world.reset()
        world.kill("commit", call)
        outcomes.append(world.check_recovered())
    print(f"killed at {len(outcomes)}: {outcomes.count(True)} finished, {outcomes.count(False)} never begun")
    assert {True, False} <= set(outcomes)
    campaign.tried("faults", "kill at a disk call of a commit", len(outcomes))


@pytest.mark.torture
def test_killed_anywhere_in_recovery_the_next_recovery_ends_it(
    world: World, tmp_path: Path, torture: bool, campaign: Campaign
) -> None:
    """From states of the directory that a killed commit leaves, no two alike."""
    calls = [call for call in world.run("commit").calls if not call.is_of_the_database]
    random.Random(campaign.seed).shuffle(calls)
    states: set[frozenset[tuple[str, bytes]]] = set()
    kills = 0
    for number, call in enumerate(calls):
        if len(states) == 2 and not (campaign.has_time and len(states) < 16):
            break
        world.reset()
        world.kill("commit", call)
        state = world.state()
        if state in states:
            continue
        states.add(state)
        snapshot = world.keep(tmp_path / f"killed-{number}")
        recovery = world.run("recover")
        assert recovery.returncode == 0
        for again in campaign.in_time(recovery.calls if torture else sample(list(recovery.calls), 4)):
            world.reset(snapshot)
            world.kill("recover", again)
            assert world.check_recovered()
            kills += 1
        shutil.rmtree(snapshot)
    print(f"killed at {kills} points of recoveries, from {len(states)} states")
    campaign.tried("faults", "kill at a disk call of a recovery", kills)


ERRORS = {
    "openat": ("ENOSPC", "EMFILE"),
    "write": ("ENOSPC",),
    "pwrite64": ("ENOSPC", "EIO"),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "renameat2": ("EIO", "EACCES"),
    "rename": ("EIO",),
    "renameat": ("EIO",),
    "linkat": ("EIO",),
    "unlinkat": ("EIO",),
    "fchmod": ("EPERM",),
    "utimensat": ("EPERM",),
}


@pytest.mark.torture
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
def test_an_error_of_the_disk_anywhere_is_reported_and_nothing_is_half_done(
    world: World, torture: bool, lasting: bool, campaign: Campaign
) -> None:
    """`from then on` keeps failing, so that taking back fails too: then the next process finishes what was begun."""
    plain = world.run("commit")
    points = list(plain.calls[: plain.marks["closed"]])
    said: dict[int, int] = {}
    for call in campaign.in_time(points if torture else sample(points, 6)):
        for error in ERRORS.get(call.kind, ()):
            world.reset()
            run = world.run("commit", f"{call.kind}:error={error}:when={call.number}{'+' if lasting else ''}")
            said[run.returncode] = said.get(run.returncode, 0) + 1
            if run.returncode == victim.SAID_NOTHING_WAS_CHANGED:
                assert not world.check_old_or_new()
            else:
                assert run.returncode in (0, victim.SAID_IT_WILL_BE_FINISHED, victim.DATABASE_FAILED), call
            world.check_recovered()
    print("exit codes:", said)
    campaign.tried("faults", "error of a disk call of a commit", sum(said.values()))
