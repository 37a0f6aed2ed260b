"""Revisions rendered as groups of file changes: a merge changes its target and its sources together or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clock import iso
from memoryd.memory.document import DocumentError, new_document, parse
from memoryd.memory.guards import RefusedError
from memoryd.memory.tier_names import as_global, is_global
from memoryd.model import FileChange, Group

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Evidence, Revision


def groups_of(snapshot: Snapshot, revisions: Iterable[Revision], now: float) -> tuple[Group, ...]:
    """The groups of these revisions, in order. New files get names that nobody has.

    Raises RefusedError where a file has frontmatter that cannot be edited.
    """
    taken = set(snapshot.names)
    return tuple(_group(snapshot, revision, taken, now) for revision in revisions)


def _group(snapshot: Snapshot, revision: Revision, taken: set[str], now: float) -> Group:
    states = [snapshot.files[name] for name in revision.files]
    removals = [
        FileChange(name, state.data, None, state.mtime_ns, mode=state.mode)
        for name, state in zip(revision.files, states, strict=True)
    ]
    if not revision.body.strip():
        changes, target = removals, revision.files[0]
    elif not revision.files:
        target = _new_name(snapshot, revision, taken)
        said_at = _said_at(revision, now)
        changes = [FileChange(target, None, _new_file(revision, said_at), after_mtime_ns=_mtime_ns(said_at, now))]
    elif revision.is_renamed:
        target = _new_name(snapshot, revision, taken)
        mtime_ns = _mtime_ns(_said_at(revision, now), now)
        changes = [FileChange(target, None, _rewritten(snapshot, revision, now), after_mtime_ns=mtime_ns), *removals]
    else:
        target = revision.files[0]
        changes = [removals[0]._replace(after=_rewritten(snapshot, revision, now)), *removals[1:]]
    evidence = [(target, piece) for piece in _evidence(snapshot, revision)]
    if revision.is_renamed:  # the old name goes because of the same words
        evidence += [(revision.files[0], piece) for piece in revision.evidence]
    return Group(
        tuple(changes),
        revision.line,
        tuple(evidence),
        revision.reason,
        revision.from_index,
        revision.answers,
    )


def _new_name(snapshot: Snapshot, revision: Revision, taken: set[str]) -> str:
    # A memory that is renamed stays in its tier.
    in_global = is_global(revision.files[0]) if revision.files else revision.is_global
    folder = as_global("") if in_global and snapshot.folders else ""
    name = revision.file_name or free_name(f"{folder}{revision.type}_{revision.name.replace('-', '_')}", taken)
    taken.add(name.casefold())
    return name


def _said_at(revision: Revision, now: float) -> float:
    """When the newest words were said that a revision rests on: the memory is as old as they are."""
    said = [piece.said_at for piece in revision.evidence if piece.said_at is not None]
    return min(max(said), now) if said else now


def _mtime_ns(said_at: float, now: float) -> int | None:
    return None if said_at >= now else int(said_at * 1e9)


def _new_file(revision: Revision, said_at: float) -> bytes:
    if revision.type is None:
        raise RefusedError("valid frontmatter", f"A new memory without a type: {revision.line}.")
    newest = revision.evidence[-1] if revision.evidence else None
    return new_document(
        name=revision.name,
        description=revision.description,
        kind=revision.type,
        body=revision.body,
        session_id=newest.session_id if newest else "",
        evidence=newest.hash if newest else "",
        modified=iso(said_at),
        keys=revision.keys,
    ).render()


def _rewritten(snapshot: Snapshot, revision: Revision, now: float) -> bytes:
    """Edit a file in place: other keys, comments and the blank line above the text stay."""
    document, *others = (parse(snapshot.files[name].data) for name in revision.files)
    values: dict[tuple[str, ...], str] = {}
    if revision.name and revision.name != document.name:  # the title of its index line
        values["name",] = revision.name
    if revision.description and revision.description != document.description:
        values["description",] = revision.description
    if revision.type is not None and revision.type != document.type:
        values |= {("type",): revision.type, ("metadata", "type"): revision.type}
    if revision.evidence:
        values["metadata", "evidence"] = revision.evidence[-1].hash
    if others:  # also where the target has the whole text: the change then only records the sources
        earlier = str(document.metadata.get("mergedFrom") or "").split()
        values["metadata", "mergedFrom"] = " ".join(dict.fromkeys((*earlier, *revision.files[1:])))
    values["metadata", "modified"] = iso(_said_at(revision, now))
    head = document.body[: len(document.body) - len(document.body.lstrip("\r\n"))]
    try:
        for path, value in values.items():
            document = document.with_value(path, value)
    except DocumentError as error:
        raise RefusedError("valid frontmatter", f"{revision.files[0]} cannot be edited: {error}.") from error
    # Searches for the merged memories find this one from now on.
    keys = (*(revision.keys or document.keys), *(key for other in others for key in other.keys))
    return document.with_keys(keys).with_body(head.replace("\r\n", "\n") + revision.body.strip("\n") + "\n").render()


def _evidence(snapshot: Snapshot, revision: Revision) -> list[Evidence]:
    """Evidence of a revision; a merge has that of its sources too, oldest first."""
    known = snapshot.contents.evidence
    others = revision.files if revision.is_renamed else revision.files[1:]
    inherited = [piece for name in others for piece in known.get(name, ())] if revision.body else []
    is_kept = bool(revision.files) and not revision.is_renamed
    own = {(piece.message_id, piece.hash) for piece in known.get(revision.files[0], ())} if is_kept else set()
    found: dict[tuple[str, str], Evidence] = {}
    for piece in (*inherited, *revision.evidence):
        key = (piece.message_id, piece.hash)
        if key not in own or not revision.body.strip():
            found[key] = piece
    return list(found.values())


def free_name(stem: str, taken: set[str]) -> str:
    number = 1
    name = f"{stem}.md"
    while name.casefold() in taken:
        number += 1
        name = f"{stem}_{number}.md"
    return name
