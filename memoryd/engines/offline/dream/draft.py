"""A draft: what a memory is about to say, and why it no longer says what it did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from memoryd.model import Revision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.memory_types import MemoryType
    from memoryd.model import Evidence, StoredMemory

Reason = Literal["learnt", "updated", "merged", "dated", "expired", "moved", "taken_back"]


@dataclass(slots=True)
class Draft:
    """The steps of consolidation change these in place, and add new ones to the list."""

    files: tuple[str, ...]
    """The files it stands for, the one that stays first; none: it is new."""
    type: MemoryType | None
    description: str
    body: str
    written_at: float
    title: str = ""
    """Words joined by hyphens, of a new memory, or the new name of one that is there."""
    is_fixed: bool = False
    """Never to be changed, merged or taken away."""
    is_archived: bool = False
    evidence: tuple[Evidence, ...] = ()
    """Newer words that this draft rests on, oldest first: only those that were added here."""
    from_index: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """What a new memory is searched by; one that is there keeps its own."""
    answers: tuple[int, ...] = ()
    """Rows of the inbox that it makes needless."""
    is_renamed: bool = False
    reason: Reason | None = None
    """Why it was changed, the weightiest reason; None: it was not."""
    line: str = field(default="")

    def change(self, reason: Reason, line: str) -> str:
        """Note why it was changed; what is told of several changes is the last one."""
        self.reason, self.line = reason, line
        return line


def drafts_of(memories: Sequence[StoredMemory]) -> list[Draft]:
    return [
        Draft((one.name,), one.type, one.description, one.body, one.written_at, is_fixed=one.is_fixed)
        for one in memories
    ]


def revisions_of(drafts: Sequence[Draft], memories: Sequence[StoredMemory]) -> list[Revision]:
    """The drafts that differ from what is on the memories."""
    before = {one.name: one for one in memories}
    revisions = []
    for draft in drafts:
        if draft.reason is None or draft.is_fixed:
            continue
        first = before.get(draft.files[0]) if draft.files else None
        if draft.is_archived:
            if draft.files:
                revisions.append(Revision(draft.reason, draft.line, draft.files, evidence=draft.evidence))
            continue
        is_same = first is not None and (first.description, first.body, first.type) == (
            draft.description,
            draft.body,
            draft.type,
        )
        if is_same and len(draft.files) == 1:
            continue
        revisions.append(
            Revision(
                draft.reason,
                draft.line,
                draft.files,
                draft.type,
                draft.title,
                draft.description,
                draft.body,
                draft.evidence,
                draft.from_index,
                draft.keys,
                answers=draft.answers,
                is_renamed=draft.is_renamed,
            )
        )
    return revisions
