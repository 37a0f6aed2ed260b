"""The embedded engine behind the contract of engines: it has no model, so review asks nobody about meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline import find
from memoryd.language.same_words import statements_in
from memoryd.memory.changeset import groups_of
from memoryd.memory.document import body_of
from memoryd.model import Progress, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.engines.base import Signal
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Revision
    from memoryd.review.meaning import Ask
    from memoryd.review.review import Review


class OfflineEngine:
    """Finds by rules and a small linear model; it never rewrites a memory because of what was said."""

    name = "offline"

    def extract(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:  # noqa: ARG002 - the contract
        # The memories are read only where something was found: most turns need none of them.
        found = find(signal.messages, lambda: snapshot.memories, signal.instructions)
        return Proposal(groups_of(snapshot, without_known(snapshot, found), signal.now) if found else ())

    def dream(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:  # noqa: ARG002 - the contract
        from memoryd.engines.offline.dream import consolidate  # noqa: PLC0415 - a tenth of a second

        found = consolidate(
            snapshot.memories,
            snapshot.index_text,
            signal.messages,
            signal.instructions,
            signal.now,
            lambda phase, line: signal.tell(Progress(phase, line)),
        )
        groups = groups_of(snapshot, found.revisions, signal.now)
        return Proposal(groups, unused=found.left_to_extraction)

    def meaning_asker(self, signal: Signal, memory_dir: str) -> Ask | None:  # noqa: ARG002 - the contract
        return None

    def close(self) -> None:
        """There is nothing to give back."""


def without_known(snapshot: Snapshot, revisions: Iterable[Revision]) -> Iterator[Revision]:
    """The revisions without new memories that another one says in the same words, sentence by sentence.

    A memory that one of the revisions takes away says nothing any more.
    """
    revisions = list(revisions)
    gone = {name for revision in revisions for name in revision.files if not revision.body}
    known = [statements_in(body_of(state.data)) for name, state in snapshot.files.items() if name not in gone]
    for revision in revisions:
        said = statements_in(revision.body)
        if not revision.files and any(said <= told for told in known):
            continue
        if not revision.files:
            known.append(said)
        yield revision
