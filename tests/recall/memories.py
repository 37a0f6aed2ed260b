"""A memory directory of real files, and a store that knows their terms, for the tests of recall."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.memory.document import new_document
from memoryd.recall.choose import LEAST_PROBABILITY, SHARE_BESIDE
from memoryd.recall.index import up_to_date_index
from memoryd.recall.rank import candidates, query_of
from memoryd.recall.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory_types import MemoryType
    from memoryd.paths import Paths
    from memoryd.recall.rank import Candidate

NOW = 2_000_000_000.0

RELEASE, TESTS, ROLE, TRACKER, FREEZE = (
    "project_release.md",
    "feedback_tests.md",
    "user_role.md",
    "reference_tracker.md",
    "project_freeze.md",
)
FIVE = {
    RELEASE: ("Releases are cut from the branch stable, never from main", "Customers get what is tagged there."),
    TESTS: ("Integration tests hit a real database", "Mocks hid a broken migration, so none in integration tests."),
    ROLE: ("The user is a data scientist", "Knows Python and statistics well, and is new to frontend work."),
    TRACKER: ("Pipeline bugs are tracked in the Linear project INGEST", "Look there for the context of tickets."),
    FREEZE: ("Merge freeze before the mobile launch", "Nothing is merged after 2026-03-05."),
}


def topic(description: str, body: str = "", *, kind: MemoryType = "project", keys: Iterable[str] = ()) -> bytes:
    """A topic file as memoryd writes it."""
    return new_document(
        name="a",
        description=description,
        kind=kind,
        body=body,
        session_id="",
        evidence="",
        modified="2026-10-16T07:40:18Z",
        keys=keys,
    ).render()


class Library:
    def __init__(self, paths: Paths, place: Path | str) -> None:
        self.paths, self.place = paths, Path(place)
        self.place.mkdir(parents=True, exist_ok=True)

    def write(self, memories: dict[str, tuple[str, str]]) -> None:
        for name, (description, body) in memories.items():
            (self.place / name).write_bytes(topic(description, body))

    def candidates(self, prompt: str, now: float = NOW) -> list[Candidate]:
        """What comes into question for a prompt, by the files as they are."""
        with closing(open_store(self.paths)) as store:
            directory = up_to_date_index(store, str(self.place), now)
            return candidates(store, directory, query_of(prompt)) if directory else []

    def ranked(self, prompt: str) -> list[str]:
        return [one.memory.name for one in self.candidates(prompt)]

    def sure(self, prompt: str) -> list[str]:
        """Those that are probable enough to be shown."""
        least = SHARE_BESIDE * LEAST_PROBABILITY
        return [one.memory.name for one in self.candidates(prompt) if one.probability >= least]
