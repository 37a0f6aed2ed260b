"""Machines of tests: a memory directory, a database and a client of a store; connections that are cut, processes that die."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING

from memoryd.paths import paths_from
from memoryd.state.database import open_database
from memoryd.stores.base import StoreChangedError, StoreError
from memoryd.stores.protocol import exchange
from memoryd.stores.replica import Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path
    from random import Random

    from memoryd.stores.base import SharedStore, StoreListing
    from memoryd.stores.protocol import RoundResult

PREFIX = "projects/shop-1a2b/"


def memory(text: str, kind: str = "project") -> bytes:
    """A memory that says this."""
    head = (
        f'name: note\ndescription: "{text}"\ntype: {kind}\nmetadata:\n  type: {kind}\n  modified: 2026-10-01T10:00:00Z'
    )
    return f"---\n{head}\n---\n{text}\n".encode()


class KilledError(BaseException):
    """The process is killed here: no handler runs, no row is written."""


class CutStore:
    """A store whose connection is cut, whose process dies, and to which others write, before a request or after it."""

    def __init__(self, store: SharedStore, random: Random) -> None:
        self._store = store
        self._random = random
        self.trouble = 0.0
        self.meanwhile: Callable[[], None] | None = None
        """What others do between the listing and the write, at times."""
        self.seen: Counter[str] = Counter()
        """How often which trouble was met."""

    @property
    def address(self) -> str:
        return self._store.address

    @property
    def requests(self) -> int:
        return self._store.requests

    def _maybe(self) -> None:
        if self._random.random() < self.trouble:
            if self._random.random() < 0.5:
                self.seen["killed"] += 1
                raise KilledError
            self.seen["cut"] += 1
            raise StoreError("The connection was cut.", "memoryd sync")

    def list_files(self, known: str, *, is_needed: bool = False) -> StoreListing | None:
        self._maybe()
        listing = self._store.list_files(known, is_needed=is_needed)
        self._maybe()
        return listing

    def read_files(self, listing: StoreListing, keys: Collection[str]) -> dict[str, bytes]:
        contents = self._store.read_files(listing, keys)
        self._maybe()
        return contents

    def write_files(
        self, listing: StoreListing, puts: Mapping[str, bytes], deletes: Collection[str], author: str, now: float
    ) -> StoreListing:
        self._maybe()
        if self.meanwhile is not None and self._random.random() < 0.3:
            self.meanwhile()
        try:
            written = self._store.write_files(listing, puts, deletes, author, now)
        except StoreChangedError:
            self.seen["refused"] += 1
            raise
        self.seen["written"] += 1
        self._maybe()
        return written


class Machine:
    """One machine of a person, or one person of a team."""

    def __init__(self, place: Path, store: SharedStore, number: int = 0, prefix: str = PREFIX) -> None:
        self.name = f"machine-{number}"
        self.store = store
        self.paths = paths_from({"HOME": str(place)})
        self.directory = place / "memory"
        self.directory.mkdir(parents=True, exist_ok=True)
        self.database = open_database(self.paths)
        self.database.execute("PRAGMA synchronous = OFF")
        self.replica = Replica(str(self.directory), prefix)
        self.later = 0.0
        """Seconds by which this machine is ahead of the time at which its files are written."""

    def close(self) -> None:
        self.database.close()

    def write(self, name: str, data: bytes) -> None:
        """Write a file as an editor would."""
        fresh = self.directory / ".draft"
        fresh.write_bytes(data)
        os.replace(fresh, self.directory / name)

    def remove(self, name: str) -> None:
        (self.directory / name).unlink()

    def exchange(self) -> RoundResult:
        return exchange(self.database, self.store, [self.replica], self.name, time.time() + self.later)

    @property
    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.directory.glob("*.md") if path.name != "MEMORY.md"}

    @property
    def history(self) -> set[bytes]:
        """Every content that the history holds."""
        return {row[0] for row in self.database.query("SELECT data FROM blobs")}


def machines(place: Path, new_client: Callable[[], SharedStore], number: int) -> list[Machine]:
    return [Machine(place / f"home-{each}", new_client(), each) for each in range(number)]
