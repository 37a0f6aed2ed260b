"""Tiers: the memories about the person beside those of a project, as engines and review see them: in one snapshot.

There a global memory is called `global/user_role.md`. A commit changes both directories, or neither.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memoryd.memory import history as second_thoughts
from memoryd.memory.commit import CommitPart, Committed, commit_together
from memoryd.memory.directory import open_directory, problem_of
from memoryd.memory.guards import RefusedError
from memoryd.memory.plan import index_rules, plan
from memoryd.memory.snapshot import Contents, DirectorySnapshot, Snapshot
from memoryd.memory.tier_names import GLOBAL_FOLDER, as_global, is_global, place_of, without_tier
from memoryd.memory.unconfirmed import unconfirmed_memories
from memoryd.model import Changeset, HeldGroup
from memoryd.state import inbox_intake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memoryd.errors import StateError
    from memoryd.memory.directory import FileState, MemoryDirectory
    from memoryd.model import Evidence, Group, StoredMemory
    from memoryd.state.changes import PlannedFile
    from memoryd.state.database import Database

T = TypeVar("T")


class Tiers(NamedTuple):
    """A project's memory directory, and the global one beside it. Who locks both locks the project's first."""

    project: str
    person: str = ""
    """Empty: there is none, since this is the global directory itself, or the only one."""

    @property
    def directories(self) -> tuple[str, ...]:
        return (self.project, self.person) if self.person else (self.project,)

    def place_of(self, name: str) -> tuple[str, str]:
        """The directory of a memory, and its name there."""
        return place_of(name, self.project, self.person)

    @property
    def unreadable(self) -> StateError | None:
        """Why the global memories cannot be read now, and the command that helps; None where they can be."""
        return problem_of(self.person, os.R_OK | os.X_OK) if self.person else None

    def snapshot(self, database: Database) -> Snapshot:
        """Of both directories. A global one that cannot be read counts as empty: the project's memories do without it."""
        own = DirectorySnapshot(database, self.project)
        if not self.person:
            return own
        if self.unreadable is not None:
            return TieredSnapshot(own, Snapshot(self.person, lambda: Contents({}, {}, None)))
        return TieredSnapshot(own, DirectorySnapshot(database, self.person))

    def committable(self, groups: Sequence[Group]) -> tuple[tuple[Group, ...], tuple[HeldGroup, ...]]:
        """The groups that can be committed now, and for the inbox the global ones while their directory cannot be used."""
        problem = problem_of(self.person) if self.person else None
        if problem is None:
            return tuple(groups), ()
        reason = f"It could not be saved. {problem.sentence} To mend it: {problem.fix}"
        fine: list[Group] = []
        held: list[HeldGroup] = []
        for group in groups:
            if _in_its_directory(group)[1]:
                held.append(HeldGroup(group, "held", reason))
            else:
                fine.append(group)
        return tuple(fine), tuple(held)

    def unconfirmed(self, database: Database) -> list[StoredMemory]:
        """The memories that wait to be confirmed, oldest first."""
        found = unconfirmed_memories(database, self.project)
        if not self.person:
            return found
        others = (
            memory._replace(name=as_global(memory.name)) for memory in unconfirmed_memories(database, self.person)
        )
        return sorted((*found, *others), key=lambda memory: memory.row_id)

    def is_refused(self, database: Database, evidence: Evidence) -> bool:
        """Whether the user has undone or forgotten a memory that rested on these words."""
        return any(second_thoughts.is_refused(database, place, evidence) for place in self.directories)

    def is_settled(self, database: Database, evidence: Evidence) -> bool:
        """Whether these words have led to a memory already, or to one that the user took back."""
        return any(second_thoughts.is_settled(database, place, evidence) for place in self.directories)

    def held_by_directory(self, held: Iterable[HeldGroup]) -> dict[str, list[HeldGroup]]:
        """What waits in the inbox, by the directory that it is about."""
        found: dict[str, list[HeldGroup]] = {}
        for row in held:
            group, of_person = _in_its_directory(row.group)
            place = self.person if of_person else self.project
            found.setdefault(place, []).append(row._replace(group=group))
        return found

    def plan(
        self, database: Database, directory: MemoryDirectory, changeset: Changeset, now: float
    ) -> list[PlannedFile]:
        """The files that `commit` would change. Raises RefusedError."""
        wanted, rules = _split(changeset), index_rules(database, self.project)
        with directory.locked():
            files, _ = plan(directory, wanted.project, now, rules)
        if wanted.person is not None and wanted.person.groups:
            with open_directory(self.person, create=True) as person, person.locked():
                others, _ = plan(person, wanted.person, now, rules)
                files += [file._replace(name=as_global(file.name)) for file in others]
        return files

    def commit(
        self,
        database: Database,
        directory: MemoryDirectory,
        changeset: Changeset,
        now: float,
        is_still_allowed: Callable[[], bool] = lambda: True,
    ) -> Committed:
        """Commit to both directories at once; `directory` is the project's. Raises what `commit_together` raises.

        The project's index has lines of the global memories, so it is part of every commit that changes one.
        """
        wanted = _split(changeset)
        if wanted.person is not None and not wanted.person.groups and problem_of(self.person):
            # Before the commit: a kill behind it must not cost what the inbox gets, and the same rows are not kept twice.
            self._hold_global(database, wanted.person, now)
            wanted = wanted._replace(person=None)
        if wanted.person is None:
            return commit_together(database, (CommitPart(directory, wanted.project),), now, is_still_allowed)[0]
        with ExitStack() as stack:
            person = stack.enter_context(open_directory(self.person, create=True))
            parts = (CommitPart(directory, wanted.project), CommitPart(person, wanted.person))
            own, others = commit_together(database, parts, now, is_still_allowed)
        conflicted = (
            *(wanted.project_numbers[number] for number in own.conflicted),
            *(wanted.person_numbers[number] for number in others.conflicted),
        )
        has_own = bool(wanted.project.groups)
        return Committed(own.change_id if has_own else others.change_id, tuple(sorted(conflicted)), own.left_out)

    def _hold_global(self, database: Database, changeset: Changeset, now: float) -> None:
        """Put what is about the person into the inbox, without the directory."""
        with database.transaction():
            rows = inbox_intake.add(
                database, self.person, changeset.held, session_id=changeset.session_id, job_id=changeset.job_id
            )
            inbox_intake.publish(database, rows, now)


def tiers_of(database: Database, memory_dir: str) -> Tiers:
    """The tiers for whoever works with this directory."""
    person = database.paths.global_dir if database.paths is not None else ""
    return Tiers(memory_dir, person if person != memory_dir else "")


class TieredSnapshot(Snapshot):
    """The snapshot of a project's directory and of the global one, whose names begin with `global/`."""

    folders = (GLOBAL_FOLDER,)

    def __init__(self, project: Snapshot, person: Snapshot) -> None:
        super().__init__(project.path, self._read_both)
        self.project = project
        self._person = person

    @cached_property
    def mtimes_ns(self) -> Mapping[str, int]:
        return {**self.project.mtimes_ns, **_renamed(self._person.mtimes_ns)}

    def read(self, name: str) -> FileState | None:
        return self._person.read(without_tier(name)) if is_global(name) else self.project.read(name)

    def _read_both(self) -> Contents:
        own, others = self.project.contents, self._person.contents
        files = {**own.files, **_renamed(others.files)}
        by_age = sorted(files, key=lambda name: (files[name].mtime_ns, name))
        return Contents(
            {name: files[name] for name in by_age},
            {**own.odd, **_renamed(others.odd)},
            own.index_file,
            frozenset((*own.made, *((as_global(name), digest) for name, digest in others.made))),
            {**own.evidence, **_renamed(others.evidence)},
        )


def _renamed(by_name: Mapping[str, T]) -> dict[str, T]:
    return {as_global(name): value for name, value in by_name.items()}


class _Split(NamedTuple):
    """A changeset by directory. The numbers are those that its groups had."""

    project: Changeset
    person: Changeset | None
    project_numbers: Sequence[int]
    person_numbers: Sequence[int]


def _split(changeset: Changeset) -> _Split:
    groups: tuple[list[Group], list[Group]] = ([], [])
    numbers: tuple[list[int], list[int]] = ([], [])
    for number, whole in enumerate(changeset.groups):
        group, of_person = _in_its_directory(whole)
        groups[of_person].append(group)
        numbers[of_person].append(number)
    held: tuple[list[HeldGroup], list[HeldGroup]] = ([], [])
    for row in changeset.held:
        group, of_person = _in_its_directory(row.group)
        held[of_person].append(row._replace(group=group))
    if not groups[1] and not held[1]:
        return _Split(changeset, None, *numbers)
    answered = {row_id for group in groups[1] for row_id in group.answers}
    own = changeset._replace(
        groups=tuple(groups[0]),
        held=tuple(held[0]),
        accepts=tuple(row_id for row_id in changeset.accepts if row_id not in answered),
    )
    if not groups[0] and groups[1]:  # then the index alone changes here, which is nothing to undo
        own = own._replace(kind="reindex", why="the index", turn_ids=())
    person = changeset._replace(
        groups=tuple(groups[1]),
        held=tuple(held[1]),
        accepts=tuple(row_id for row_id in changeset.accepts if row_id in answered),
        index_edit=Changeset("reindex", "", ()).index_edit,
        elsewhere=(),
    )
    return _Split(own, person, *numbers)


def _in_its_directory(group: Group) -> tuple[Group, bool]:
    """A group by the names that its directory knows, and whether that is the global one."""
    of_person = {is_global(change.name) for change in group.changes}
    if len(of_person) > 1:
        raise RefusedError("one directory a group", "A memory of a project and a global one are not changed as one.")
    if True not in of_person:
        return group, False
    return (
        group._replace(
            changes=tuple(change._replace(name=without_tier(change.name)) for change in group.changes),
            evidence=tuple((without_tier(name), piece) for name, piece in group.evidence),
        ),
        True,
    )
