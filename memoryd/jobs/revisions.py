"""What a dream wants, as groups of file changes: a merge changes its target and its sources together or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import iso
from memoryd.jobs.changeset import free_name
from memoryd.memory.document import DocumentError, body_of, new_document, parse
from memoryd.memory.guards import RefusedError
from memoryd.model import FileChange, Group
from memoryd.state import history
from memoryd.state.changes import digest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memoryd.memory.directory import FileState
    from memoryd.model import Evidence, Revision
    from memoryd.state.changes import PlannedFile
    from memoryd.state.database import Database


class Drawn(NamedTuple):
    """The files of a directory, as a dream read them, and what is known of them."""

    files: Mapping[str, FileState]
    odd: Mapping[str, str]
    evidence: Mapping[str, list[Evidence]]
    undone: set[frozenset[tuple[str, bytes]]]

    @classmethod
    def of(cls, database: Database, memory_dir: str, files: Mapping[str, FileState], odd: Mapping[str, str]) -> Drawn:
        return cls(
            files,
            odd,
            history.evidence_in(database, memory_dir),
            {_signature(group) for group in history.undone_dreams(database, memory_dir)},
        )


def group_of(revision: Revision, drawn: Drawn, taken: set[str], now: float) -> Group | None:
    """The changes of one revision; None where the user has undone that very thing before.

    `taken` are the names that are in use, in small letters; a new one is added. Raises RefusedError for what must not be.
    """
    for name in revision.files:
        _check_whose(name, drawn)
    changes = [
        FileChange(name, drawn.files[name].data, None, drawn.files[name].mtime_ns, mode=drawn.files[name].mode)
        for name in revision.files
    ]
    evidence: list[tuple[str, Evidence]] = []
    if revision.body.strip():
        target = _target(revision, drawn, taken, now)
        changes[: 1 if revision.files else 0] = [target]
        evidence = _evidence(revision, target.name, drawn)
    if _is_undone(revision, _signature(changes), drawn.undone):
        return None
    return Group(tuple(changes), revision.line, tuple(evidence))


def _is_undone(
    revision: Revision, signature: frozenset[tuple[str, bytes]], undone: Collection[frozenset[tuple[str, bytes]]]
) -> bool:
    """Newer words on one memory are another matter than what was undone; a merge that holds an undone one is not."""
    if len(signature) == 1:
        return not revision.evidence and signature in undone
    return any(len(one) > 1 and one <= signature for one in undone)


def _signature(changes: Sequence[FileChange | PlannedFile]) -> frozenset[tuple[str, bytes]]:
    """What a group is about: its files as they were before; a new one is known by what it says, whatever its name."""
    return frozenset(
        (one.name, digest(one.before)) if one.before is not None else ("", digest(body_of(one.after or b"").encode()))
        for one in changes
    )


def _target(revision: Revision, drawn: Drawn, taken: set[str], now: float) -> FileChange:
    if not revision.files:
        if revision.type is None:
            raise RefusedError("valid frontmatter", f"A new memory without a type: {revision.line}.")
        name = free_name(f"{revision.type}_{revision.title.replace('-', '_')}", taken)
        taken.add(name.casefold())
        newest = revision.evidence[-1] if revision.evidence else None
        document = new_document(
            name=revision.title,
            description=revision.description,
            kind=revision.type,
            body=revision.body,
            session_id=newest.session_id if newest else "",
            evidence=newest.hash if newest else "",
            modified=iso(now),
            keys=revision.keys,
        )
        return FileChange(name, None, document.render())
    name = revision.files[0]
    state = drawn.files[name]
    return FileChange(name, state.data, _rewritten(revision, drawn, now), state.mtime_ns, mode=state.mode)


def _rewritten(revision: Revision, drawn: Drawn, now: float) -> bytes:
    """Only what changes is touched: other keys, comments and the blank line above the text stay."""
    document, *others = (parse(drawn.files[name].data) for name in revision.files)
    values: dict[tuple[str, ...], str] = {}
    if revision.description and revision.description != document.description:
        values["description",] = revision.description
    if revision.evidence:
        values["metadata", "evidence"] = revision.evidence[-1].hash
    if len(revision.files) > 1:  # also where the target says it all: then this is the change that ties them together
        earlier = str(document.metadata.get("mergedFrom") or "").split()
        values["metadata", "mergedFrom"] = " ".join(dict.fromkeys((*earlier, *revision.files[1:])))
    values["metadata", "modified"] = iso(now)
    head = document.body[: len(document.body) - len(document.body.lstrip("\r\n"))]
    try:
        for path, value in values.items():
            document = document.with_value(path, value)
    except DocumentError as error:
        raise RefusedError("valid frontmatter", f"{revision.files[0]} cannot be edited: {error}.") from error
    # Who looked for one of the others finds this one from now on.
    keys = (*(revision.keys or document.keys), *(key for other in others for key in other.keys))
    return document.with_keys(keys).with_body(head.replace("\r\n", "\n") + revision.body.strip("\n") + "\n").render()


def _evidence(revision: Revision, target: str, drawn: Drawn) -> list[tuple[str, Evidence]]:
    """A merge inherits what its sources rested on; what is newer comes last."""
    inherited = [piece for name in revision.files[1:] for piece in drawn.evidence.get(name, ())]
    own = {(piece.message_id, piece.hash) for piece in drawn.evidence.get(target, ())}
    found: dict[tuple[str, str], tuple[str, Evidence]] = {}
    for piece in (*inherited, *revision.evidence):
        if (piece.message_id, piece.hash) not in own:
            found[piece.message_id, piece.hash] = (target, piece)
    return list(found.values())


def _check_whose(name: str, drawn: Drawn) -> None:
    state = drawn.files.get(name)
    if state is None or name in drawn.odd:
        why = drawn.odd.get(name, "not there, or not ours to read")
        raise RefusedError("left alone", f"{name} is left alone: it is {why}.")
    document = parse(state.data)
    if document.is_pinned:
        raise RefusedError("pinned", f"{name} is pinned.", f"remove `pinned` from {name} first")
    if document.problem or document.type is None:
        why = document.problem or "it has no type"
        raise RefusedError("foreign", f"{name} is no memory that memoryd understands ({why}), and stays as it is.")
