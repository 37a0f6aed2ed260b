"""The team's memories of a project: sharing one, taking it back, and rules of the team that a private one contradicts."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.errors import BusyError, MemorydError
from memoryd.memory.commit import commit, reindex
from memoryd.memory.directory import open_directory
from memoryd.memory.document import DocumentError, parse
from memoryd.memory.snapshot import memories_in
from memoryd.memory.tier_names import TEAM_FOLDER
from memoryd.model import Changeset, FileChange, Group, HeldGroup
from memoryd.recall.team import NOBODY
from memoryd.review.team import contradicted_rule
from memoryd.state.team import is_on as is_team_on
from memoryd.stores.keys import clean_author, refusal_of_content, refusal_of_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.memory.document import Document
    from memoryd.model import StoredMemory
    from memoryd.state.database import Database


class ShareError(MemorydError):
    """A memory cannot be shared."""


def team_dir_of(memory_dir: str) -> str:
    return os.path.join(memory_dir, TEAM_FOLDER)


def share(database: Database, memory_dir: str, name: str, author: str, now: float) -> str:
    """Copy a memory into the team's folder, with its author; the user's own stays. Returns the path of the copy.

    Sharing it again brings the copy up to date. Raises ShareError, and what a commit raises.
    """
    with open_directory(memory_dir) as own:
        state = own.read(name)
    if state is None:
        raise ShareError(f"There is no memory {name} in {memory_dir}.", "memoryd memories")
    document = parse(state.data)
    if document.type == "user":
        raise ShareError(f"{name} is about you: memories of the type user are always private.")
    if (reason := refusal_of_name(name) or refusal_of_content(state.data)) is not None:
        raise ShareError(f"{name} cannot be shared: {reason}.", f"memoryd memories {name}")
    try:
        shared = document.with_value(("metadata", "author"), author).render()
    except DocumentError as error:
        raise ShareError(f"{name} cannot be shared: its frontmatter cannot be edited ({error}).") from error
    with open_directory(team_dir_of(memory_dir), create=True) as team, team.locked():
        there = team.read(name)
        if there is not None and _author_of(there.data) not in ("", author):
            raise ShareError(
                f"{name} in the team's folder is {_author_of(there.data)}'s; yours needs another name.",
                f"cd {memory_dir} && mv {name} {_another_name(name)} && memoryd share {_another_name(name)}",
            )
        change = FileChange(
            name, there.data if there else None, shared, there.mtime_ns if there else None, state.mtime_ns
        )
        _commit(database, team, Changeset("share", f"shared {name}", (Group((change,), f"shared {name}"),)), now)
    reindex_project(database, memory_dir, now)
    return os.path.join(team_dir_of(memory_dir), name)


def _another_name(name: str) -> str:
    return f"{name.removesuffix('.md')}_2.md"


def unshare(database: Database, memory_dir: str, name: str, now: float) -> None:
    """Take a memory out of the team's folder; the deletion travels. Its history keeps it. Raises ShareError."""
    with open_directory(team_dir_of(memory_dir), create=True) as team, team.locked():
        state = team.read(name)
        if state is None:
            raise ShareError(f"The team has no memory {name} here.", f"ls {team.path}")
        change = FileChange(name, state.data, None, state.mtime_ns, mode=state.mode)
        why = f"no longer shared: {name}"
        _commit(database, team, Changeset("share", why, (Group((change,), why),)), now)
    reindex_project(database, memory_dir, now)


def _commit(database: Database, team: MemoryDirectory, changeset: Changeset, now: float) -> None:
    if commit(database, team, changeset, now).conflicted:
        raise BusyError(f"{changeset.why}: it was changed meanwhile, and stays.", "memoryd share")


def reindex_project(database: Database, memory_dir: str, now: float) -> None:
    """Bring the lines of the team in the project's index up to date."""
    with suppress(FileNotFoundError), open_directory(memory_dir) as directory:
        reindex(database, directory, now)


def _author_of(data: bytes) -> str:
    told = parse(data).metadata.get("author")
    return told if isinstance(told, str) else ""


def author_of(document: Document) -> str:
    """Who shared a memory of the team, as its file says."""
    told = document.metadata.get("author")
    return clean_author(told) if isinstance(told, str) and clean_author(told) else NOBODY


def team_memories(memory_dir: str) -> tuple[StoredMemory, ...]:
    """What the team has shared in a project; nothing where there is no such folder."""
    try:
        with open_directory(team_dir_of(memory_dir)) as directory:
            listing = directory.listing()
            names = [name for name in listing.topics if name not in listing.odd]
            return memories_in({name: state for name in names if (state := directory.read(name)) is not None})
    except (OSError, MemorydError):
        return ()


class AgainstTeam(NamedTuple):
    """Accepted groups, and those that are held since the team says otherwise."""

    accepted: tuple[Group, ...]
    held: tuple[HeldGroup, ...]


def hold_against_team(database: Database, memory_dir: str, accepted: Sequence[Group], mode: str) -> AgainstTeam:
    """Hold private feedback that contradicts a rule of the team. Kept by a yes, it names the rule that it wins against."""
    shared = team_memories(memory_dir) if is_team_on(database, memory_dir) else ()
    rules = [memory for memory in shared if memory.type == "feedback"]
    if not rules:
        return AgainstTeam(tuple(accepted), ())
    fine: list[Group] = []
    held: list[HeldGroup] = []
    for group in accepted:
        against = (_rule_against(change, rules) for change in group.changes if group.reason in ("learnt", "updated"))
        rule = next((found for found in against if found is not None), None)
        if rule is None:
            fine.append(group)
            continue
        changes = tuple(_naming(change, rule.name) for change in group.changes)
        reason = f"The team's rule {TEAM_FOLDER}/{rule.name} says otherwise: {rule.description}"
        held.append(HeldGroup(group._replace(changes=changes), "dropped" if mode == "off" else "held", reason))
    return AgainstTeam(tuple(fine), tuple(held))


def _rule_against(change: FileChange, rules: Sequence[StoredMemory]) -> StoredMemory | None:
    if change.after is None:
        return None
    document = parse(change.after)
    if document.type != "feedback" or document.metadata.get("overrides"):
        return None
    return contradicted_rule(f"{document.description}\n{document.body}", rules)


def _naming(change: FileChange, rule: str) -> FileChange:
    """The change with the team's rule that it wins against, in its frontmatter."""
    if change.after is None:
        return change
    with suppress(DocumentError):
        document = parse(change.after).with_value(("metadata", "overrides"), f"{TEAM_FOLDER}/{rule}")
        return change._replace(after=document.render())
    return change
