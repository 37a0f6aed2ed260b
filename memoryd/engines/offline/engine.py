"""The embedded engine behind the contract of engines: it has no model of language, so review asks nobody about meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline import find
from memoryd.language.same_words import statements_in
from memoryd.language.titles import without_fillers
from memoryd.memory.changeset import groups_of
from memoryd.memory.document import body_of
from memoryd.memory.tier_names import is_global
from memoryd.model import HeldGroup, Progress, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.engines.base import Signal
    from memoryd.engines.offline import Findings
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Revision
    from memoryd.review.meaning import Ask
    from memoryd.review.review import Review


_SAID_ONCE = "You said this once. It is kept when you say it again in another session, or yes here."
_CONTRADICTED = "What you said since may contradict this or take it back. It stands until you answer."


class OfflineEngine:
    """Finds by a small linear model; it changes a memory only by words of the user that name the change."""

    name = "offline"

    def extract(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:  # noqa: ARG002 - the contract
        # The memories are read only where something was found: most turns need none of them.
        found = find(signal.messages, lambda: snapshot.memories, signal.instructions, signal.unconfirmed)
        return proposal_of(snapshot, found, signal.now)

    def dream(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:  # noqa: ARG002 - the contract
        from memoryd.engines.offline.dream import consolidate  # noqa: PLC0415 - a tenth of a second

        found = consolidate(
            [memory for memory in snapshot.memories if not is_global(memory.name)],  # a dream of their own tidies those
            snapshot.index_text,
            signal.messages,
            signal.instructions,
            signal.now,
            lambda phase, line: signal.tell(Progress(phase, line)),
            signal.unconfirmed,
            signal.logged,
        )
        proposal = proposal_of(snapshot, found.learnt, signal.now)
        groups = groups_of(snapshot, found.revisions, signal.now)
        return proposal._replace(groups=groups, unused=found.left_to_extraction)

    def meaning_asker(self, signal: Signal, memory_dir: str) -> Ask | None:  # noqa: ARG002 - the contract
        return None

    def close(self) -> None:
        """There is nothing to give back."""


def proposal_of(snapshot: Snapshot, found: Findings, now: float) -> Proposal:
    """What was found as groups of file changes, without what a memory says already in the same words."""
    if not any(found):
        return Proposal()
    likely = groups_of(snapshot, without_known(snapshot, found.unconfirmed), now) if found.unconfirmed else ()
    suspected = groups_of(snapshot, found.suspected, now)
    return Proposal(
        groups_of(snapshot, without_known(snapshot, found.written), now) if found.written else (),
        held=(
            *(HeldGroup(group, "unconfirmed", _SAID_ONCE) for group in likely),
            *(HeldGroup(group, "held", _CONTRADICTED) for group in suspected),
        ),
        withdrawn=found.withdrawn,
    )


def without_known(snapshot: Snapshot, revisions: Iterable[Revision]) -> Iterator[Revision]:
    """The revisions without new memories that another one says in the same words, sentence by sentence.

    A memory that one of the revisions takes away says nothing any more.
    """
    revisions = list(revisions)
    gone = {name for revision in revisions for name in revision.files if not revision.body}
    known = [statements_in(body_of(state.data)) for name, state in snapshot.files.items() if name not in gone]
    for revision in revisions:
        said, bare = statements_in(revision.body), statements_in(without_fillers(revision.body))
        if not revision.files and any(said <= told or bare <= told for told in known):
            continue
        if not revision.files:
            known.append(said)
        yield revision
