"""Many writers of one store, with cuts and deaths at random: in the end all are equal, and nothing is lost."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from memoryd.state import sync
from memoryd.stores import outgoing
from memoryd.stores.base import StoreError
from tests.stores.machines import CutStore, KilledError, machines, memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoryd.stores.base import SharedStore
    from tests.stores.machines import Machine
    from tests.torture.campaign import Campaign

NAMES = tuple(f"project_{number:02}.md" for number in range(24))


@pytest.fixture
def die_at_random(monkeypatch: pytest.MonkeyPatch) -> Callable[[random.Random], None]:
    """Makes processes die before and after they note what is the same on both sides."""
    real = sync.update_synced

    def begin(chance: random.Random) -> None:
        monkeypatch.setattr(outgoing, "BATCH_FILES", 3)

        def update(*arguments: object) -> None:
            if chance.random() < 0.02:
                raise KilledError
            real(*arguments)  # type: ignore[arg-type]
            if chance.random() < 0.02:
                raise KilledError

        monkeypatch.setattr(sync, "update_synced", update)

    return begin


def run_campaign(
    place: Path,
    new_client: Callable[[], SharedStore],
    chance: random.Random,
    die_at_random: Callable[[random.Random], None],
    monkeypatch: pytest.MonkeyPatch,
    *,
    writers: int,
    writes: int,
    trouble: float,
    has_time: Callable[[], bool],
) -> int:
    """How many changes were made: at least 40 of each writer, then until the time is over."""
    stores = [CutStore(new_client(), chance) for _ in range(writers)]
    made = iter(stores)
    people = machines(place, lambda: next(made), writers)
    written: set[bytes] = set()
    replaced: set[bytes] = set()  # by whoever looked at it
    busy: set[str] = set()
    die_at_random(chance)
    left = [person for person in people for _ in range(writes)]
    chance.shuffle(left)
    for store in stores:
        store.trouble = trouble
        store.meanwhile = lambda: exchange_or_die(chance.choice(people), busy)
    changes = 0
    for number, person in enumerate(left):
        if number >= 40 * writers and not has_time():
            break
        changes += 1
        change(person, number, chance, written, replaced)
        if chance.random() < 0.35:
            exchange_or_die(chance.choice(people), busy)
    monkeypatch.undo()
    for store in stores:
        store.trouble, store.meanwhile = 0.0, None
    for _ in range(3):
        for person in people:
            assert person.exchange().is_whole
    assert_equal(people)
    kept = set(people[0].files.values()).union(*(person.history for person in people))
    assert written - replaced - kept == set()
    seen = sum((store.seen for store in stores), Counter[str]())
    print(f"{changes} changes, {len(people[0].files)} files in the end; {dict(sorted(seen.items()))}")
    assert min(seen[what] for what in ("cut", "killed", "refused", "written")) > 0
    for person in people:
        before = person.store.requests
        person.exchange()
        assert person.store.requests == before + 1
        person.close()
    return changes


def change(person: Machine, number: int, chance: random.Random, written: set[bytes], replaced: set[bytes]) -> None:
    """Write, edit or remove a file, as the user of one machine would."""
    name = chance.choice(NAMES)
    here = person.files.get(name)
    if here is not None:
        replaced.add(here)
        if chance.random() < 0.25:
            person.remove(name)
            return
    data = memory(f"Fact {number} of {person.name} in {name}, and what it is good for.")
    person.write(name, data)
    written.add(data)


def exchange_or_die(person: Machine, busy: set[str]) -> None:
    """One exchange of a person, unless that person is in the middle of one."""
    if person.name in busy:
        return
    busy.add(person.name)
    with suppress(StoreError, KilledError):
        person.exchange()
    busy.remove(person.name)


def assert_equal(people: list[Machine]) -> None:
    first = people[0].files
    for person in people[1:]:
        assert person.files == first
    listing = people[0].store.list_files("", is_needed=True)
    assert listing is not None
    assert {key.rpartition("/")[2] for key in listing.files} == set(first)


@pytest.mark.torture
def test_writers_with_cuts_and_deaths_become_equal_and_lose_nothing(
    torture: bool,
    tmp_path: Path,
    new_client: Callable[[], SharedStore],
    die_at_random: Callable[[random.Random], None],
    monkeypatch: pytest.MonkeyPatch,
    campaign: Campaign,
) -> None:
    """Eight writers with 300 changes each in the long campaign, if there is time (git takes a quarter of an hour)."""
    writers, writes, trouble = (8, 300, 0.08) if torture else (3, 8, 0.2)
    changes = run_campaign(
        tmp_path,
        new_client,
        random.Random(campaign.seed if torture else 7),
        die_at_random,
        monkeypatch,
        writers=writers,
        writes=writes,
        trouble=trouble,
        has_time=lambda: campaign.has_time,
    )
    campaign.tried("faults", "change of a file that machines share, with cuts and deaths", changes)
