"""A round: what travels, what wins, what stays, and what it costs."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from memoryd.memory import guards
from memoryd.memory.commit import commit
from memoryd.memory.directory import MemoryDirectory, open_directory
from memoryd.memory.history import restoring, undoing
from memoryd.state import history, sync
from memoryd.state.sync import KeptApart
from memoryd.stores import manifest, outgoing, protocol
from memoryd.stores.base import StoreChangedError, StoreError
from memoryd.stores.directory import directory_store
from memoryd.stores.protocol import RETRIES, RoundResult, exchange
from memoryd.stores.replica import Replica
from tests.stores.machines import PREFIX, CutStore, machines, memory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from memoryd.model import Changeset
    from memoryd.stores.base import SharedStore, StoreListing
    from tests.stores.machines import Machine

FACT, OTHER, THIRD = memory("Deploys go out on Tuesdays."), memory("Deploys go out on Thursdays."), memory("Never.")
NAME = "project_deploys.md"


@pytest.fixture
def shared(tmp_path: Path) -> str:
    (tmp_path / "shared").mkdir()
    return str(tmp_path / "shared")


@pytest.fixture
def two(tmp_path: Path, shared: str) -> Iterator[tuple[Machine, Machine]]:
    """Two machines that share a directory."""
    laptop, desktop = machines(tmp_path, lambda: directory_store(shared), 2)
    yield laptop, desktop
    laptop.close()
    desktop.close()


def test_a_memory_travels_with_its_line_in_the_index(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    assert laptop.exchange() == RoundResult(given=1)
    assert desktop.exchange() == RoundResult(taken=1)
    assert desktop.files == {NAME: FACT}
    assert NAME in (desktop.directory / "MEMORY.md").read_text()
    change = history.recent(desktop.database, str(desktop.directory))[0]
    assert (change.kind, change.why, change.names) == ("sync", "from machine-0", (NAME,))


def test_a_memory_is_as_old_as_it_says_wherever_it_has_travelled(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    desktop.exchange()
    assert (desktop.directory / NAME).stat().st_mtime == 1_790_848_800  # its `modified`, 2026-10-01T10:00:00Z


def test_a_deletion_travels_as_one_and_can_be_undone(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    desktop.exchange()
    laptop.remove(NAME)
    assert laptop.exchange() == RoundResult(deleted=1)
    assert desktop.exchange() == RoundResult(dropped=1)
    assert desktop.files == {}
    with open_directory(str(desktop.directory)) as directory:
        change = history.recent(desktop.database, directory.path)[0]
        commit(desktop.database, directory, undoing(desktop.database, change), 1.0)
    assert desktop.exchange() == RoundResult(given=1)
    assert laptop.exchange() == RoundResult(taken=1)
    assert laptop.files == {NAME: FACT}


def test_of_two_versions_the_local_one_wins_and_the_other_is_listed_and_can_be_restored(
    two: tuple[Machine, Machine],
) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    desktop.exchange()
    laptop.write(NAME, OTHER)
    laptop.exchange()
    desktop.write(NAME, THIRD)
    assert desktop.exchange() == RoundResult(given=1, conflicts=1)
    assert laptop.exchange() == RoundResult(taken=1)
    assert laptop.files == desktop.files == {NAME: THIRD}
    with open_directory(str(desktop.directory)) as directory:
        change = history.recent(desktop.database, directory.path)[0]
        assert change.why == "kept here against the version from machine-0"
        commit(desktop.database, directory, restoring(desktop.database, directory, NAME, None), 1.0)
    assert desktop.files == {NAME: OTHER}
    assert desktop.exchange() == RoundResult(given=1)


def test_undoing_a_conflict_takes_the_other_version(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write(NAME, OTHER)
    laptop.exchange()
    desktop.write(NAME, THIRD)
    desktop.exchange()
    with open_directory(str(desktop.directory)) as directory:
        change = history.recent(desktop.database, directory.path)[0]
        commit(desktop.database, directory, undoing(desktop.database, change), 1.0)
    assert desktop.files == {NAME: OTHER}


def test_a_deletion_here_wins_against_an_edit_there_which_is_in_the_history(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    desktop.exchange()
    laptop.write(NAME, OTHER)
    laptop.exchange()
    desktop.remove(NAME)
    assert desktop.exchange() == RoundResult(deleted=1, conflicts=1)
    assert laptop.exchange() == RoundResult(dropped=1)
    assert OTHER in desktop.history
    with open_directory(str(desktop.directory)) as directory:
        commit(desktop.database, directory, restoring(desktop.database, directory, NAME, None), 1.0)
    assert desktop.files == {NAME: OTHER}


def test_an_edit_here_wins_against_a_deletion_there(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    desktop.exchange()
    laptop.remove(NAME)
    laptop.exchange()
    desktop.write(NAME, OTHER)
    assert desktop.exchange() == RoundResult(given=1)
    assert laptop.exchange() == RoundResult(taken=1)
    assert laptop.files == {NAME: OTHER}


def test_the_same_words_on_both_sides_are_no_conflict(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    for machine in two:
        machine.write(NAME, FACT)
    assert laptop.exchange() == RoundResult(given=1)
    assert desktop.exchange() == RoundResult()
    assert history.recent(desktop.database) == []


def test_nothing_changed_is_one_request_and_reads_no_file(
    two: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, _ = two
    laptop.write(NAME, FACT)
    laptop.later = 60.0
    laptop.exchange()

    def read(*_: object) -> None:
        raise AssertionError("a file was read")

    monkeypatch.setattr(MemoryDirectory, "read", read)
    before = laptop.store.requests
    assert laptop.exchange() == RoundResult()
    assert laptop.store.requests == before + 1


def test_weeks_apart_each_brings_its_own(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    for number in range(4):
        laptop.write(f"project_{number}.md", FACT)
    laptop.exchange()
    desktop.exchange()
    laptop.write("project_0.md", OTHER)
    laptop.remove("project_1.md")
    laptop.write("project_new.md", THIRD)
    desktop.write("project_2.md", OTHER)
    desktop.remove("project_3.md")
    laptop.exchange()
    assert desktop.exchange() == RoundResult(taken=2, dropped=1, given=1, deleted=1)
    laptop.exchange()
    wanted = {"project_0.md": OTHER, "project_2.md": OTHER, "project_new.md": THIRD}
    assert laptop.files == desktop.files == wanted


def test_a_deletion_is_one_also_for_a_machine_that_was_away_for_hundreds_of_changes(
    two: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.write("project_b.md", OTHER)
    laptop.exchange()
    desktop.exchange()
    laptop.remove(NAME)
    laptop.exchange()
    listing = laptop.store.list_files("", is_needed=True)
    for number in range(600):
        assert listing is not None
        listing = laptop.store.write_files(listing, {f"{PREFIX}project_c.md": memory(f"{number}.")}, (), "laptop", 1.0)
    assert desktop.exchange() == RoundResult(taken=1, dropped=1)


def test_what_a_writer_left_unfinished_is_removed_when_it_is_old_by_the_clock_of_the_store(
    two: tuple[Machine, Machine], shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of this machine is days ahead: what another one is just writing must not look old to it."""
    monkeypatch.setattr(manifest, "_SWEEP_EVERY", 1)
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    blobs = Path(shared, "blobs")
    young, old = (blobs / f"{letter * 64}-{letter * 16}" for letter in "ab")
    for unfinished in (young, old):
        unfinished.write_bytes(b"unfinished")
    os.utime(old, (time.time() - 90_000, time.time() - 90_000))
    laptop.later = 5 * 86_400
    laptop.write(NAME, OTHER)
    laptop.exchange()
    assert (young.exists(), old.exists()) == (True, False)
    desktop.exchange()
    assert desktop.files == {NAME: OTHER}


def test_two_clones_on_one_machine_exchange_through_the_store(two: tuple[Machine, Machine], tmp_path: Path) -> None:
    laptop, _ = two
    clone = tmp_path / "clone-memory"
    clone.mkdir()
    (clone / "project_clone.md").write_bytes(OTHER)
    laptop.write(NAME, FACT)
    replicas = [laptop.replica, Replica(str(clone), PREFIX)]
    exchange(laptop.database, laptop.store, replicas, "laptop", 1.0)
    assert {path.name for path in clone.glob("project_*")} == set(laptop.files) == {NAME, "project_clone.md"}
    exchange(laptop.database, laptop.store, replicas, "laptop", 2.0)
    before = laptop.store.requests
    exchange(laptop.database, laptop.store, replicas, "laptop", 3.0)
    assert laptop.store.requests == before + 1


def test_two_clones_with_the_same_file_agree_also_after_a_kill_between_their_turns(
    two: tuple[Machine, Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, _ = two
    clone = tmp_path / "clone-memory"
    clone.mkdir()
    replicas = [laptop.replica, Replica(str(clone), PREFIX)]
    laptop.write(NAME, FACT)
    (clone / NAME).write_bytes(OTHER)
    exchange(laptop.database, laptop.store, replicas, "laptop", 1.0)
    assert laptop.files == {NAME: OTHER}
    assert FACT in laptop.history
    laptop.write(NAME, THIRD)
    with monkeypatch.context() as patched:
        patched.setattr(protocol, "RETRIES", 0)  # the first pass is made, and no other
        exchange(laptop.database, laptop.store, replicas, "laptop", 2.0)
    exchange(laptop.database, laptop.store, replicas, "laptop", 3.0)
    assert (clone / NAME).read_bytes() == THIRD


def test_a_directory_that_is_seen_later_gets_what_the_store_has(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    exchange(desktop.database, desktop.store, [], "desktop", 1.0)
    assert exchange(desktop.database, desktop.store, [desktop.replica], "desktop", 2.0) == RoundResult(taken=1)


def test_a_store_that_was_made_anew_is_filled_and_deletes_nothing(two: tuple[Machine, Machine], shared: str) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    desktop.exchange()
    os.remove(os.path.join(shared, "memoryd-manifest.json"))
    assert desktop.exchange() == RoundResult(given=1)
    assert laptop.exchange() == RoundResult()
    assert laptop.files == desktop.files == {NAME: FACT}


def test_a_directory_that_was_lost_is_filled_again(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    for number in range(3):
        laptop.write(f"project_{number}.md", FACT)
    laptop.exchange()
    desktop.exchange()
    for number in range(3):
        desktop.remove(f"project_{number}.md")
    assert desktop.exchange() == RoundResult(taken=3)
    assert laptop.exchange() == RoundResult()


def test_a_refused_write_is_tried_three_times_and_then_at_the_next_round(
    two: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, _ = two
    laptop.write(NAME, FACT)
    tries = []

    def refuse(*_: object) -> None:
        tries.append(1)
        raise StoreChangedError

    with monkeypatch.context() as patch:
        patch.setattr(laptop.store, "write_files", refuse)
        assert laptop.exchange() == RoundResult(is_whole=False)
    assert len(tries) == RETRIES + 1
    assert laptop.exchange() == RoundResult(given=1)


def test_a_file_that_is_edited_while_it_is_fetched_stays_as_edited(
    two: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    desktop.exchange()
    laptop.write(NAME, OTHER)
    laptop.exchange()
    real = desktop.store.read_files

    def edited_meanwhile(listing: StoreListing, keys: list[str]) -> dict[str, bytes]:
        desktop.write(NAME, THIRD)
        return real(listing, keys)

    with monkeypatch.context() as patch:
        patch.setattr(desktop.store, "read_files", edited_meanwhile)
        assert desktop.exchange() == RoundResult(is_whole=False)
    assert desktop.files == {NAME: THIRD}
    assert desktop.exchange() == RoundResult(given=1, conflicts=1)
    assert OTHER in desktop.history


def test_a_secret_stays_at_home_and_is_named_until_it_is_taken_out(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    secret = memory("The deploy token is ghp_" + "a1B2c3D4" * 4 + "e5F6.")
    laptop.write(NAME, secret)
    laptop.write("project_fine.md", FACT)
    result = laptop.exchange()
    assert result.given == 1
    (apart,) = result.newly_apart
    assert (apart.key, apart.direction) == (PREFIX + NAME, "out")
    assert apart.reason.startswith("it holds a secret")
    assert "ghp_" not in apart.reason
    desktop.exchange()
    assert set(desktop.files) == {"project_fine.md"}
    before = laptop.store.requests
    assert laptop.exchange() == RoundResult()  # named once, and no reason to ask more
    assert laptop.store.requests == before + 1
    laptop.write(NAME, FACT)
    assert laptop.exchange() == RoundResult(given=1)
    assert sync.kept_apart(laptop.database, laptop.store.address) == []


def test_what_is_no_memory_stays_at_home(two: tuple[Machine, Machine]) -> None:
    laptop, _ = two
    laptop.write("notes.md", b"just some notes\n")
    (laptop.directory / "link.md").symlink_to("/etc/passwd")
    assert [file.reason for file in laptop.exchange().newly_apart] == ["it is no memory that memoryd understands"]


def test_a_link_here_is_not_followed_for_what_comes(two: tuple[Machine, Machine], tmp_path: Path) -> None:
    laptop, desktop = two
    target = tmp_path / "target.md"
    target.write_bytes(OTHER)
    (desktop.directory / NAME).symlink_to(target)
    laptop.write(NAME, FACT)
    laptop.exchange()
    (apart,) = desktop.exchange().newly_apart
    assert apart.reason == "it is a symlink here"
    assert target.read_bytes() == OTHER


def test_a_name_that_changes_its_case_there_changes_it_here(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write("Deploys.md", FACT)
    laptop.exchange()
    desktop.exchange()
    laptop.remove("Deploys.md")
    laptop.write("deploys.md", OTHER)
    laptop.exchange()
    desktop.exchange()
    desktop.exchange()
    assert desktop.files == {"deploys.md": OTHER}


def test_an_unwritable_project_does_not_keep_the_others_back(two: tuple[Machine, Machine], tmp_path: Path) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no directory")
    replicas = [Replica(str(in_the_way), "projects/other-1/"), desktop.replica]
    result = exchange(desktop.database, desktop.store, replicas, "desktop", 1.0)
    assert (result.taken, result.is_whole) == (1, False)
    assert [file.memory_dir for file in result.newly_apart] == [str(in_the_way)]


def test_a_cut_connection_is_recorded_and_the_next_round_makes_it_good(two: tuple[Machine, Machine]) -> None:
    laptop, _ = two
    laptop.write(NAME, FACT)
    whole = laptop.store
    cut = CutStore(whole, Random(3))
    cut.trouble = 1.0
    laptop.store = cut
    with pytest.raises(StoreError):
        laptop.exchange()
    assert sync.last_round(laptop.database, whole.address).error == "The connection was cut."
    laptop.store = whole
    assert laptop.exchange() == RoundResult(given=1)
    assert sync.last_round(laptop.database, whole.address).error == ""


class CutAfterWrites(CutStore):
    """A store whose connection is cut after so many writes."""

    left = 1

    def write_files(
        self, listing: StoreListing, puts: Mapping[str, bytes], deletes: Collection[str], author: str, now: float
    ) -> StoreListing:
        if not self.left:
            raise StoreError("The connection was cut.", "memoryd sync")
        self.left -= 1
        return super().write_files(listing, puts, deletes, author, now)


def test_a_first_upload_that_is_cut_off_goes_on_where_it_was_and_names_what_is_held_back(
    two: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, desktop = two
    monkeypatch.setattr(outgoing, "BATCH_FILES", 4)
    for number in range(10):
        laptop.write(f"project_{number}.md", memory(f"Fact {number}."))
    laptop.write("project_secret.md", memory("The token is ghp_" + "a1B2c3D4" * 4 + "e5F6."))
    laptop.store = store = CutAfterWrites(laptop.store, Random(1))
    arrived = []
    for _ in range(3):
        store.left = 1
        with suppress(StoreError):
            laptop.exchange()
        assert [file.key for file in sync.kept_apart(laptop.database, store.address)] == [f"{PREFIX}project_secret.md"]
        desktop.exchange()
        arrived.append(len(desktop.files))
    assert arrived == [4, 8, 10]
    assert sync.last_round(laptop.database, store.address).error == ""


def test_what_a_guard_refuses_is_named_and_keeps_no_other_back(
    two: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, desktop = two
    for name in ("a.md", "b.md", "c.md"):
        laptop.write(name, memory(f"The fact in {name}."))
    laptop.exchange()
    real = guards.check

    def check(changeset: Changeset, odd: Mapping[str, str]) -> None:
        if any(change.name == "b.md" for group in changeset.groups for change in group.changes):
            raise guards.RefusedError("new", "b.md breaks a rule of a later version.")
        real(changeset, odd)

    monkeypatch.setattr(guards, "check", check)
    result = desktop.exchange()
    assert set(desktop.files) == {"a.md", "c.md"}
    assert [(file.key, file.reason) for file in result.newly_apart] == [
        (f"{PREFIX}b.md", "b.md breaks a rule of a later version")
    ]
    assert desktop.exchange().taken == 0


def test_keys_of_projects_that_are_not_here_are_left_alone(two: tuple[Machine, Machine]) -> None:
    laptop, desktop = two
    laptop.write(NAME, FACT)
    laptop.exchange()
    elsewhere = Replica(str(desktop.directory), "projects/elsewhere-2/")
    assert exchange(desktop.database, desktop.store, [elsewhere], "desktop", 1.0) == RoundResult()
    assert sync.kept_apart(desktop.database, desktop.store.address) == []


def test_what_was_refused_is_told_once(
    two: tuple[Machine, Machine], new_listing: Callable[[SharedStore], None]
) -> None:
    laptop, _ = two
    new_listing(laptop.store)
    first = laptop.exchange().newly_apart
    assert first == (KeptApart(str(laptop.directory), PREFIX + "nul.md", "in", first[0].hash, first[0].reason),)
    new_listing(laptop.store)
    assert laptop.exchange().newly_apart == ()


@pytest.fixture
def new_listing() -> Callable[[SharedStore], None]:
    """Writes another version of a key that is refused."""

    def write(store: SharedStore) -> None:
        listing = store.list_files("", is_needed=True)
        assert listing is not None
        store.write_files(listing, {PREFIX + "nul.md": os.urandom(4)}, (), "somebody", 1.0)

    return write
