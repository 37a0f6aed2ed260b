"""Three homes, one with two clones, that exchange with their machines and with a team in any order: no memory gets lost."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from memoryd.jobs.team import ShareError, share, team_dir_of, unshare
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.history import undoing
from memoryd.paths import paths_from
from memoryd.state import history, sync
from memoryd.state.database import open_database
from memoryd.stores.base import StoreError
from memoryd.stores.directory import directory_store
from memoryd.stores.keys import twin_key
from memoryd.stores.protocol import exchange
from memoryd.stores.replica import Replica
from tests.stores.machines import PREFIX, CutStore, KilledError, memory

if TYPE_CHECKING:
    from memoryd.state.database import Database

NAMES = ("project_a.md", "Project_A.md", "project_b.md", "project_c.md")
MACHINES, TEAM = "machines", "team"
HOMES = ((0, "shop"), (0, "shop-clone"), (1, "shop"), (2, "shop"))
"""Number of the home and name of the clone, for each checkout; the last home is another person's."""


class Checkout(NamedTuple):
    """A memory directory, of one clone in one home."""

    home: int
    path: Path

    def folder(self, kind: str) -> Path:
        """What is exchanged with a store of this kind."""
        return self.path if kind == MACHINES else Path(team_dir_of(str(self.path)))


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.md") if path.name != "MEMORY.md"}


class Homes(RuleBasedStateMachine):
    """Two machines of one person, the first with two clones, and a teammate's."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="homes-"))
        self.checkouts = [Checkout(home, self.place / f"home-{home}" / clone) for home, clone in HOMES]
        self.databases: list[Database] = []
        for home in range(3):
            (self.place / f"home-{home}").mkdir()
            self.databases.append(open_database(paths_from({"HOME": str(self.place / f"home-{home}")})))
            self.databases[-1].execute("PRAGMA synchronous = OFF")
        for kind in (MACHINES, TEAM):
            (self.place / kind).mkdir()
            for checkout in self.checkouts:
                checkout.folder(kind).mkdir(parents=True, exist_ok=True)
        self.number = 0
        self.later = 0.0
        self.written: set[bytes] = set()
        self.seen_and_gone: set[bytes] = set()
        """Contents that a user has replaced or deleted where they stood."""
        self.names: dict[str, set[str]] = {MACHINES: set(), TEAM: set()}
        """Names of memories that were ever there, as every file system tells them apart."""
        self.deleted: dict[str, set[str]] = {MACHINES: set(), TEAM: set()}
        """Those of them that a user has deleted somewhere."""

    # --- what users do ------------------------------------------------------------------------------------------------

    @rule(which=st.integers(0, 3), kind=st.sampled_from([MACHINES, MACHINES, TEAM]), name=st.sampled_from(NAMES))
    def write(self, which: int, kind: str, name: str) -> None:
        """A memory is written or edited, as with an editor."""
        folder = self.checkouts[which].folder(kind)
        self.number += 1
        data = memory(f"Fact {self.number} about the shop, and what it is good for.")
        self._give_up(folder, name)
        (folder / ".draft").write_bytes(data)
        os.replace(folder / ".draft", folder / name)
        self.written.add(data)
        if kind == TEAM or which < 3:
            self.names[kind].add(twin_key(name))

    @rule(which=st.integers(0, 3), kind=st.sampled_from([MACHINES, TEAM]), name=st.sampled_from(NAMES))
    def remove(self, which: int, kind: str, name: str) -> None:
        folder = self.checkouts[which].folder(kind)
        if (folder / name).exists():
            self._give_up(folder, name)
            (folder / name).unlink()
            self.deleted[kind].add(twin_key(name))

    @rule(which=st.integers(0, 3), name=st.sampled_from(NAMES))
    def share(self, which: int, name: str) -> None:
        checkout = self.checkouts[which]
        copied = files_in(checkout.folder(TEAM)).get(name)
        with suppress(ShareError):
            share(self.databases[checkout.home], str(checkout.path), name, f"person {checkout.home}", self._now())
            self.names[TEAM].add(twin_key(name))
            if copied is not None:
                self.seen_and_gone.add(copied)

    @rule(which=st.integers(0, 3), name=st.sampled_from(NAMES))
    def unshare(self, which: int, name: str) -> None:
        checkout = self.checkouts[which]
        with suppress(ShareError):
            self._give_up(checkout.folder(TEAM), name)
            unshare(self.databases[checkout.home], str(checkout.path), name, self._now())
            self.deleted[TEAM].add(twin_key(name))

    @rule(which=st.integers(0, 3), kind=st.sampled_from([MACHINES, TEAM]))
    def undo(self, which: int, kind: str) -> None:
        """Undo the last change: an exchange, a conflict, a share."""
        checkout = self.checkouts[which]
        database, folder = self.databases[checkout.home], checkout.folder(kind)
        change = history.last_undoable(database, str(folder))
        if change is not None:
            before = files_in(folder)
            with open_directory(str(folder)) as directory:
                commit(database, directory, undoing(database, change), self._now())
            self.deleted[kind] |= {twin_key(name) for name in before.keys() - files_in(folder).keys()}

    # --- what memoryd does --------------------------------------------------------------------------------------------

    @rule(home=st.integers(0, 2), kind=st.sampled_from([MACHINES, TEAM]))
    def exchange(self, home: int, kind: str) -> None:
        self._exchange(home, kind, None)

    @rule(home=st.integers(0, 2), kind=st.sampled_from([MACHINES, TEAM]), seed=st.integers(0, 10_000))
    def exchange_with_cuts_kills_and_others_in_between(self, home: int, kind: str, seed: int) -> None:
        chance = Random(seed)
        real = sync.update_synced

        def update(*arguments: object) -> None:
            if chance.random() < 0.1:
                raise KilledError
            real(*arguments)  # type: ignore[arg-type]
            if chance.random() < 0.1:
                raise KilledError

        with pytest.MonkeyPatch.context() as patched, suppress(StoreError, KilledError):
            patched.setattr(sync, "update_synced", update)
            self._exchange(home, kind, chance)

    @rule(seconds=st.sampled_from([3.0, 86_400.0, -3_600.0]))
    def let_time_pass_or_jump(self, seconds: float) -> None:
        self.later += seconds

    @precondition(lambda self: self.number > 4)
    @rule(kind=st.sampled_from([MACHINES, TEAM]), copy=st.booleans())
    def back_up_the_store_or_put_it_back(self, kind: str, copy: bool) -> None:
        """Whoever keeps the store puts an older state of it back; what was deleted since may be there again."""
        store, backup = self.place / kind, self.place / f"{kind}-backup"
        if copy:
            shutil.rmtree(backup, ignore_errors=True)
            shutil.copytree(store, backup)
        elif backup.exists():
            shutil.rmtree(store)
            shutil.copytree(backup, store)

    # --- in the end ---------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            for kind in (MACHINES, TEAM):
                self._check(kind)
        finally:
            for database in self.databases:
                database.close()
            shutil.rmtree(self.place)

    def _check(self, kind: str) -> None:
        homes = (0, 1) if kind == MACHINES else (0, 1, 2)
        for _ in range(3):
            for home in homes:
                self._exchange(home, kind, None)
        folders = [checkout.folder(kind) for checkout in self.checkouts if checkout.home in homes]
        apart = {
            twin_key(file.key.rpartition("/")[2])
            for home in homes
            for file in sync.kept_apart(self.databases[home], str(self.place / kind))
        }
        found = [
            {name: data for name, data in files_in(folder).items() if twin_key(name) not in apart} for folder in folders
        ]
        assert all(files == found[0] for files in found), (found, apart)
        there = {twin_key(name) for folder in folders for name in files_in(folder)}
        assert self.names[kind] - self.deleted[kind] <= there, "a memory that nobody deleted is gone"
        kept = {
            data
            for checkout in self.checkouts
            for each in (MACHINES, TEAM)
            for data in files_in(checkout.folder(each)).values()
        }
        for database in self.databases:
            kept |= {row[0] for row in database.query("SELECT data FROM blobs")}
        assert self.written - self.seen_and_gone <= kept, "what was written is neither there nor in a history"
        if not apart:
            for home in homes:
                assert self._exchange(home, kind, None) == 1, "nothing has changed"

    def _exchange(self, home: int, kind: str, chance: Random | None) -> int:
        """Exchange, perhaps with trouble; returns how many requests that took."""
        if kind == MACHINES and home == 2:
            return 0
        client = directory_store(str(self.place / kind))
        store = CutStore(client, chance or Random(0))
        if chance is not None:
            store.trouble = 0.1
            store.meanwhile = lambda: self._meanwhile(home, kind, chance)
        prefix = PREFIX if kind == MACHINES else ""
        replicas = [Replica(str(each.folder(kind)), prefix) for each in self.checkouts if each.home == home]
        exchange(self.databases[home], store, replicas, f"home-{home}", self._now())
        return client.requests

    def _meanwhile(self, home: int, kind: str, chance: Random) -> None:
        """Another home exchanges, or somebody here edits a file, between the listing and the write."""
        if chance.random() < 0.5:
            self._exchange((home + 1) % 3, kind, None)
        else:
            self.write(chance.randrange(4), kind, chance.choice(NAMES))

    def _give_up(self, folder: Path, name: str) -> None:
        here = files_in(folder).get(name)
        if here is not None:
            self.seen_and_gone.add(here)

    def _now(self) -> float:
        return time.time() + self.later


@pytest.mark.torture
def test_no_memory_is_lost_whoever_exchanges_when(torture: bool) -> None:
    limits = settings(max_examples=60 if torture else 12, stateful_step_count=50 if torture else 25, deadline=None)
    run_state_machine_as_test(Homes, settings=limits)
