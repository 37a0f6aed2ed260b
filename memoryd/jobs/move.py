"""Moving a memory between a project and the global directory, with what it rests on: one commit over both."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, MemorydError
from memoryd.language.same_words import statements_in
from memoryd.memory.changeset import free_name
from memoryd.memory.commit import CommitPart, commit_together
from memoryd.memory.directory import open_directory
from memoryd.memory.document import body_of, parse
from memoryd.model import Changeset, FileChange, Group
from memoryd.state import history, settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory.directory import FileState, MemoryDirectory
    from memoryd.state.database import Database

_OFFERED = "user_memories_offered"


class PersonalMemory(NamedTuple):
    """A memory about the person that stands in one project alone."""

    memory_dir: str
    name: str
    description: str


def personal_memories(memory_dirs: Iterable[str]) -> list[PersonalMemory]:
    """The memories of the type user in these directories, as memoryd wrote them before there was a global one."""
    found = []
    for memory_dir in memory_dirs:
        try:
            with open_directory(memory_dir) as directory:
                listing = directory.listing()
                states = {name: directory.read(name) for name in sorted(listing.topics) if name not in listing.odd}
        except (OSError, MemorydError):
            continue
        for name, state in states.items():
            document = parse(state.data) if state else None
            if document is not None and document.type == "user":
                found.append(PersonalMemory(memory_dir, name, document.description))
    return found


def is_offered(database: Database) -> bool:
    """Whether the user was asked about the memories that stand in projects from before; that is done once."""
    return settings.get(database, _OFFERED) is not None


def note_offered(database: Database, now: float) -> None:
    settings.put(database, _OFFERED, value=True, now=now)


def move(database: Database, source_dir: str, target_dir: str, name: str, global_dir: str, now: float) -> str:
    """Move a memory; returns its name in the target. Where the target says just that already, only the source goes.

    Raises MemorydError where there is no such memory, BusyError where somebody changes it meanwhile.
    """
    with ExitStack() as stack:
        opened = {place: stack.enter_context(open_directory(place, create=True)) for place in (source_dir, target_dir)}
        # A project is locked before the global directory, everywhere.
        for place in sorted(opened, key=lambda place: place == global_dir):
            stack.enter_context(opened[place].locked())
        source, target = opened[source_dir], opened[target_dir]
        state = source.read(name)
        if state is None:
            raise MemorydError(f"There is no memory {name} in {source_dir}.", "memoryd memories")
        new_name, made = _made(database, source, target, name, state)
        gone = FileChange(name, state.data, None, state.mtime_ns, mode=state.mode)
        why = f"moved {name}"
        parts = [
            CommitPart(source, Changeset("adopt", why, (Group((gone,), why),))),
            CommitPart(target, Changeset("adopt", why, made)),
        ]
        parts.sort(key=lambda part: part.directory.path == global_dir)
        if any(done.conflicted for done in commit_together(database, parts, now)):
            raise BusyError(f"{name} was changed meanwhile; look at it in both places.", "memoryd history")
    return new_name


def _made(
    database: Database, source: MemoryDirectory, target: MemoryDirectory, name: str, state: FileState
) -> tuple[str, tuple[Group, ...]]:
    """The name in the target, and the group that makes it; no group where a memory there says the very same."""
    topics = target.listing().topics
    said = statements_in(body_of(state.data))
    for other in sorted(topics):
        there = target.read(other)
        if there is not None and said and said == statements_in(body_of(there.data)):
            return other, ()
    new_name = free_name(name.removesuffix(".md"), {topic.casefold() for topic in topics})
    evidence = history.evidence_in(database, source.path).get(name, ())
    made = FileChange(new_name, None, state.data, None, state.mtime_ns, mode=state.mode)
    return new_name, (Group((made,), f"moved {name}", tuple((new_name, piece) for piece in evidence)),)
