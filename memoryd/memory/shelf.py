"""The memories of a directory as an engine sees them: what they say, what they rest on, and whether they are ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.memory.document import parse
from memoryd.memory.glance import glance_at
from memoryd.model import Shelved
from memoryd.state import history
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.state.database import Database


def shelf_of(database: Database, directory: MemoryDirectory) -> list[Shelved]:
    """Every memory that can be read, oldest first."""
    listing = directory.listing()
    made = history.made(database, directory.path)
    evidence = history.evidence_in(database, directory.path)
    found = []
    for name in sorted(listing.topics, key=lambda name: (listing.topics[name], name)):
        try:
            state = directory.read(name)
        except PermissionError:  # somebody else's: it cannot be compared, and is no reason to stop
            continue
        if state is None:
            continue
        is_ours = name not in listing.odd and (name, digest(state.data)) in made
        glance = glance_at(state.data)
        is_fixed = (
            name in listing.odd or glance.type is None or (b"pinned" in state.data and parse(state.data).is_pinned)
        )
        found.append(
            Shelved(
                name,
                glance.type,
                glance.description,
                glance.body,
                is_ours,
                tuple(evidence.get(name, ())),
                listing.topics[name] / 1e9,
                listing.topics[name] / 1e9,
                is_fixed,
            )
        )
    return found
