"""Proposal of an agent: what it wrote into its private copy, as groups of changes that belong together.

Only what the agent itself says ties files together: the memory that a removed one was merged into. Whether it did so rightly
is for review to judge, of both together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.model.progress import merging, topic_of
from memoryd.memory.changeset import groups_of
from memoryd.memory.document import parse
from memoryd.memory.tier_names import is_global
from memoryd.model import Revision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.memory.document import Document
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import ChangeReason, Evidence, FileChange, Group
    from memoryd.review.context import Writing
    from memoryd.review.review import Review

_WORD = re.compile(r"[\w./:-]*\w")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class StagedWrite(NamedTuple):
    """What the agent said beside the last writes of one file."""

    evidence: tuple[Evidence, ...] = ()
    kept_in: str = ""
    from_index: tuple[str, ...] = ()


class StagedWrites:
    """Asks review about each write of the agent, and remembers what it gave as its ground."""

    def __init__(self, snapshot: Snapshot, review: Review) -> None:
        self._snapshot = snapshot
        self._review = review
        self._by_name: dict[str, StagedWrite] = {}

    def __call__(self, writing: Writing) -> str | None:
        """None where it may be staged, else why not. To put a file back as it was is always allowed."""
        state = self._snapshot.files.get(writing.name)
        before = state.data if state and writing.name not in self._snapshot.odd else None
        if writing.after == before and writing.name not in self._snapshot.odd:
            self._by_name.pop(writing.name, None)
            return self._review.check_write(writing)  # which forgets the words that it had rested on
        if writing.kept_in and is_global(writing.kept_in) != is_global(writing.name):
            return f"{writing.kept_in} is in another directory; a memory is merged only into one of its own"
        writing = writing._replace(before=before)
        if problem := self._review.check_write(writing):
            return problem
        earlier = self._by_name.get(writing.name, StagedWrite())
        found = self._review.find_evidence(writing.quote) if writing.quote.strip() else None
        kept = () if writing.is_whole else earlier.evidence
        evidence = (*kept, found) if found and found not in kept else kept
        from_index = (*earlier.from_index, writing.from_index) if writing.from_index else earlier.from_index
        self._by_name[writing.name] = StagedWrite(evidence, writing.kept_in, from_index)
        return None

    def groups(self, changes: Sequence[FileChange], now: float, *, is_dream: bool) -> tuple[Group, ...]:
        """The groups that these changes of the copy come to."""
        revisions = _revisions(self._snapshot, changes, self._by_name)
        if not is_dream:
            revisions = [_told_by_quote(revision) for revision in revisions]
        return groups_of(self._snapshot, revisions, now)


def _revisions(snapshot: Snapshot, changes: Sequence[FileChange], staged: Mapping[str, StagedWrite]) -> list[Revision]:
    """A removed memory joins the one that it was merged into; all others stand for themselves."""
    changes = [change for change in changes if not is_same(change)]
    after = {change.name: change.after for change in changes if change.after is not None}
    joined: dict[str, list[str]] = {}
    removed: list[str] = []
    for change in changes:
        if change.after is None:
            target = staged.get(change.name, StagedWrite()).kept_in
            is_there = target in after or (target in snapshot.files and target != change.name)
            is_there = is_there and target not in {gone.name for gone in changes if gone.after is None}
            (joined.setdefault(target, []) if is_there else removed).append(change.name)
    targets = [*after, *(name for name in joined if name not in after)]
    return [
        *(_revision(name, after.get(name), joined.get(name, []), snapshot, staged) for name in targets),
        *(_removal(name, staged.get(name, StagedWrite()).evidence) for name in removed),
    ]


def _removal(name: str, evidence: tuple[Evidence, ...]) -> Revision:
    """A memory that nothing takes in: the user's words have ended it, or it has ended by itself."""
    reason: ChangeReason = "taken_back" if evidence else "expired"
    return Revision(reason, f"Removing {topic_of(name)}", (name,), evidence=evidence)


def _revision(
    name: str, data: bytes | None, merged: Sequence[str], snapshot: Snapshot, staged: Mapping[str, StagedWrite]
) -> Revision:
    """What the agent made of one memory, and of those that it merged into it."""
    is_new = name not in snapshot.files
    files = (*(() if is_new else (name,)), *merged)
    document = parse(data if data is not None else snapshot.files[name].data)
    pieces = {piece for file in (name, *merged) for piece in staged.get(file, StagedWrite()).evidence}
    evidence = tuple(sorted(pieces, key=lambda piece: piece.said_at or 0.0))
    from_index = staged.get(name, StagedWrite()).from_index
    was = None if is_new else parse(snapshot.files[name].data)
    reason, line = _reason(name, files, document, was, has_evidence=bool(evidence), is_moved=bool(from_index))
    return Revision(
        reason,
        line,
        files,
        document.type,
        document.name,
        document.description,
        document.body,
        evidence,
        from_index,
        document.keys,
        name if not files else "",
    )


def _reason(
    name: str, files: Sequence[str], after: Document, was: Document | None, *, has_evidence: bool, is_moved: bool
) -> tuple[ChangeReason, str]:
    if len(files) > 1 or (files and was is None):
        return "merged", merging(files if was else (name, *files))
    if is_moved and not has_evidence:
        return "moved", f"Moving {topic_of(name)}"
    if was is None:
        return "learnt", f"Learning {topic_of(name)}"
    if not has_evidence and all(map(_DAY.fullmatch, _words(after.body) - _words(was.body))):
        return "dated", f"Dating {topic_of(name)}"
    return "updated", f"Updating {topic_of(name)}"


def _told_by_quote(revision: Revision) -> Revision:
    """After a turn people are told the words that led to a change, after a dream what was done."""
    if not revision.evidence:
        return revision
    verb = {"learnt": "you said", "taken_back": "you took it back"}.get(revision.reason, "you said later")
    return revision._replace(line=f"{verb}: {revision.evidence[-1].quote}")


def is_same(change: FileChange) -> bool:
    """Whether a rewritten memory says what it said, but for white space, search keys or what is ours to set."""
    if change.before is None or change.after is None:
        return False
    before, after = parse(change.before), parse(change.after)
    return before.body.split() == after.body.split() and (
        (before.type, before.name, before.description) == (after.type, after.name, after.description)
    )


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))
