"""What an engine found, as groups of file changes: a new file for each finding, or the one that it brings up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clock import iso
from memoryd.memory.document import body_of, new_document, parse
from memoryd.model import FileChange, Finding, Group, Withdrawal
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoryd.memory.directory import MemoryDirectory
    from memoryd.memory.document import Document


class ChangedMeanwhileError(Exception):
    """A memory that was to be rewritten is no longer as the engine saw it: it is to look again."""


def groups_of(
    directory: MemoryDirectory,
    found: Sequence[Finding | Withdrawal],
    session_id: str,
    now: float,
    made: Collection[tuple[str, bytes]] = frozenset(),
) -> tuple[Group, ...]:
    """The changes, in order. A finding that some memory says in the same words makes none.

    `made` are the versions, by name and digest, that are memoryd's own: nothing else is rewritten or taken away.
    Raises ChangedMeanwhileError where somebody changed such a memory since the engine saw it.
    """
    listing = directory.listing()
    taken = {name.casefold() for name in (*listing.topics, *listing.odd)}
    replaced = {one.replaces for one in found if isinstance(one, Finding)}
    # What is said anew after it was taken back stays, in its new words.
    withdrawn = {one.name for one in found if isinstance(one, Withdrawal)} - replaced
    bodies = _bodies(directory, [name for name in listing.topics if name not in withdrawn])
    groups = []
    for one in found:
        if isinstance(one, Withdrawal):
            if one.name in withdrawn:
                groups.append(_rewritten(directory, one, session_id, now, made))
            continue
        if _words(one.body) in bodies:
            continue
        bodies.add(_words(one.body))
        if one.replaces:
            groups.append(_rewritten(directory, one, session_id, now, made))
            continue
        name = free_name(f"{one.type}_{one.name.replace('-', '_')}", taken)
        taken.add(name.casefold())
        groups.append(group_of(FileChange(name, None, None), one, session_id, now))
    return tuple(groups)


def _rewritten(
    directory: MemoryDirectory,
    one: Finding | Withdrawal,
    session_id: str,
    now: float,
    made: Collection[tuple[str, bytes]],
) -> Group:
    """A memory brought up to date, or taken away."""
    name = one.replaces if isinstance(one, Finding) else one.name
    state = directory.read(name)
    if state is None or (name, digest(state.data)) not in made:
        raise ChangedMeanwhileError(name)
    change = FileChange(name, state.data, None, state.mtime_ns, mode=state.mode)
    return group_of(change, one, session_id, now)


def group_of(change: FileChange, one: Finding | Withdrawal, session_id: str, now: float) -> Group:
    """What becomes of one file: made, brought up to date, or taken away. What it shall say is written here.

    Of a file that is there all stays that a finding says nothing of: unknown keys, comments, order.
    """
    if isinstance(one, Withdrawal):
        change = change._replace(after=None)
        return Group((change,), f"you took it back: {one.evidence.quote}", ((change.name, one.evidence),))
    if change.before is None:
        document = _new_document(one, session_id, now)
    else:
        document = parse(change.before)
        values = {("description",): one.description, ("metadata", "evidence"): one.evidence.hash}
        if one.type != document.type:
            values |= {("type",): one.type, ("metadata", "type"): one.type}
        for path, value in (values | {("metadata", "modified"): iso(now)}).items():
            document = document.with_value(path, value)
        document = document.with_keys(one.keys).with_body(one.body.strip("\n") + "\n")
    change = change._replace(after=document.render())
    evidence = tuple((change.name, piece) for piece in reversed((one.evidence, *one.also)))
    why = "you said" if change.before is None else "you said later"
    return Group((change,), f"{why}: {one.evidence.quote}", evidence)


def _new_document(finding: Finding, session_id: str, now: float) -> Document:
    return new_document(
        name=finding.name,
        description=finding.description,
        kind=finding.type,
        body=finding.body,
        session_id=session_id,
        evidence=finding.evidence.hash,
        modified=iso(now),
        keys=finding.keys,
    )


def _bodies(directory: MemoryDirectory, names: Sequence[str]) -> set[str]:
    found = set()
    for name in names:
        try:
            state = directory.read(name)
        except PermissionError:  # somebody else's: it cannot be compared, and is no reason to stop
            continue
        if state is not None:
            found.add(_words(body_of(state.data)))
    return found


def free_name(stem: str, taken: set[str]) -> str:
    number = 1
    name = f"{stem}.md"
    while name.casefold() in taken:
        number += 1
        name = f"{stem}_{number}.md"
    return name


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()
