"""Simulation of the exchange for many people and many memories: what grows, and what it costs. `python -m bench.scale`.

Sizes and times of a store with many memories are measured with the real stores; how often writers meet is simulated, with the
protocol's own rules: a write counts if nobody has written since the listing, three tries at once, then at the next period.
"""

from __future__ import annotations

import heapq
import os
import random
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple

from memoryd.daemon.syncer import PERIOD
from memoryd.stores.directory import directory_store
from memoryd.stores.git import TEAM_REF, GitStore
from memoryd.stores.manifest import MANIFEST_NAME
from memoryd.stores.protocol import RETRIES
from tests.stores.machines import Machine, memory
from tests.stores.places import GIT_ENVIRONMENT, bare_repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.stores.base import SharedStore

_DAY_SECONDS = 8 * 3600.0
_PERIOD_SECONDS = 60.0 * PERIOD
_MINE = 250
"""Memories of the project that the measured machine works on."""


class Met(NamedTuple):
    """What came of a day of writers."""

    writes: int
    refused: int
    put_off: int
    """Writes that were refused four times in a row, and wait for the next period."""
    slowest_seconds: float
    """99 of 100 writes were in the store after so long."""


def meet(people: int, changes_a_day: float, seconds: float, chance: random.Random) -> Met:
    """A working day in which each of these people writes so often to one store, each write taking so long."""
    events = []  # when the answer comes, when it was listed, when it was first tried, how many tries
    for _ in range(people):
        at = chance.expovariate(changes_a_day / _DAY_SECONDS)
        while at < _DAY_SECONDS:
            events.append((at + seconds, at, at, 0))
            at += chance.expovariate(changes_a_day / _DAY_SECONDS)
    heapq.heapify(events)
    last_write = -1.0
    refused = put_off = 0
    delays: list[float] = []
    while events:
        now, listed, began, tries = heapq.heappop(events)
        if last_write <= listed:
            last_write = now
            delays.append(now - began)
        elif tries < RETRIES:
            refused += 1
            heapq.heappush(events, (now + seconds * chance.uniform(0.8, 1.2), now, began, tries + 1))
        else:
            refused += 1
            put_off += 1
            later = now + _PERIOD_SECONDS * chance.uniform(0.9, 1.1)
            heapq.heappush(events, (later + seconds, later, began, 0))
    return Met(len(delays), refused, put_off, statistics.quantiles(delays, n=100)[98] if len(delays) > 1 else 0.0)


def measure(kind: str, memories: int, place: str) -> dict[str, float]:
    """Sizes and times of one store with so many memories, and of a machine that has a few of them."""
    folder = os.path.join(place, f"{kind}-{memories}")
    os.makedirs(folder)
    if kind == "git":
        from pathlib import Path  # noqa: PLC0415

        remote = bare_repository(Path(folder) / "remote.git")
        stores: list[SharedStore] = [
            GitStore(str(remote), TEAM_REF, os.path.join(folder, f"cache-{each}"), GIT_ENVIRONMENT) for each in range(2)
        ]
    else:
        shared = os.path.join(folder, "shared")
        os.makedirs(shared)
        stores = [directory_store(shared) for _ in range(2)]
    puts = {
        f"projects/p-{each % (memories // _MINE)}/m{each}.md": memory(f"Fact {each}, told in a line or two.")
        for each in range(memories)
    }
    listing = stores[0].list_files("", is_needed=True)
    assert listing is not None
    found = {"fill": timed(lambda: stores[0].write_files(listing, puts, (), "filler", 1.0))}
    from pathlib import Path  # noqa: PLC0415

    machine = Machine(Path(folder) / "home", stores[1], prefix="projects/p-0/")
    found["first"] = timed(machine.exchange)
    machine.later = 60.0
    machine.exchange()
    found["nothing"] = timed(machine.exchange)
    machine.write("mine.md", memory("One more."))
    found["one"] = timed(machine.exchange)
    if kind == "git":
        found["megabytes"] = size_of(os.path.join(folder, "remote.git")) / 1e6
        found["listing_megabytes"] = 0.0
    else:
        found["megabytes"] = size_of(os.path.join(folder, "shared")) / 1e6
        found["listing_megabytes"] = os.path.getsize(os.path.join(folder, "shared", MANIFEST_NAME)) / 1e6
    machine.close()
    return found


def timed(work: object) -> float:
    assert callable(work)
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def size_of(place: str) -> int:
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(place) for name in names)


def meeting_rows() -> Iterator[str]:
    """The table of docs/scale.md about writers that meet, a row each; the same in every run."""
    for people, seconds in ((13, 2.0), (50, 0.3), (50, 2.0), (500, 0.3), (500, 2.0), (5_000, 0.3), (5_000, 2.0)):
        met = meet(people, 3.0, seconds, random.Random(1))
        refused, put_off = met.refused / met.writes, met.put_off / met.writes
        refused_in_words = f"each {refused:.0f} times" if refused >= 1 else f"{refused:.1%}"
        slowest = met.slowest_seconds
        later = f"{slowest / 60:.0f} minutes" if slowest >= 120 else f"{slowest:.1f} s"
        yield (
            f"| {people:,} | {seconds:g} s | {met.writes:,} | {refused_in_words} | {met.put_off:,}"
            f"{f' ({put_off:.1f} times each)' if put_off >= 1 else ''} | {later} |"
        )


def request_rows() -> Iterator[str]:
    """The table of docs/scale.md about looks at which nothing has changed: one request each."""
    for people, interval in ((50, 60.0), (5_000, 60.0), (5_000, 300.0)):
        number = people * _DAY_SECONDS / (interval * PERIOD)
        yield f"| {people:,} | {interval:g} s | {number:,.0f} | {number / _DAY_SECONDS:.1f} |"


def main() -> None:
    print(
        "| people on one store | a write takes | writes in a day | refused at first | put off | 99 of 100 are there after |"
    )
    print(*meeting_rows(), sep="\n")
    print("\n| people | `sync.interval_seconds` | requests in a working day | in a second |")
    print(*request_rows(), sep="\n")
    sizes = [int(each) for each in sys.argv[1:]] or [1_000, 10_000, 100_000]
    print("\nstore      memories  fill s  first s  nothing s  one s   MB  listing MB")
    with tempfile.TemporaryDirectory() as place:
        for kind in ("git", "directory"):
            for memories in sizes:
                got = measure(kind, memories, place)
                print(
                    f"{kind:<9}  {memories:>8}  {got['fill']:>6.1f}  {got['first']:>7.2f}  {got['nothing']:>9.3f}"
                    f"  {got['one']:>5.2f}  {got['megabytes']:>3.0f}  {got['listing_megabytes']:>10.1f}"
                )


if __name__ == "__main__":
    main()
