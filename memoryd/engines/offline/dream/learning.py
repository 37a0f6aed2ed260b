"""New facts in messages that nobody has worked on: what extraction would keep of them, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline import Findings, find, statement
from memoryd.engines.offline.dream.draft import Draft
from memoryd.engines.offline.dream.naming import name_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.engines.base import LoggedFact
    from memoryd.model import Revision, StoredMemory, UserMessage


class Learnt:
    """What the messages of a dream say beside its drafts."""

    def __init__(self) -> None:
        self.found = Findings()
        self.left_to_extraction: set[str] = set()
        """Messages that take a memory back: a dream removes nothing because of words."""

    def learn(
        self,
        drafts: list[Draft],
        said: Sequence[UserMessage],
        memories: Sequence[StoredMemory],
        instructions: Sequence[str],
        unconfirmed: Sequence[StoredMemory],
        logged: Sequence[LoggedFact] = (),
    ) -> Iterator[str]:
        """Add a draft for each new fact and each value that was replaced; yields a line for each.

        `logged` are lines of daily logs that extraction left to this dream, which then does all that extraction would do.
        """
        self.found = find(said, lambda: memories, instructions, unconfirmed, is_certain=not logged)
        missed = [_stated(fact) for fact in logged if self._is_missed(fact, memories, instructions, unconfirmed)]
        self.found = self.found._replace(written=(*self.found.written, *missed))
        by_file = {draft.files[0]: draft for draft in drafts if draft.files}
        for memory in self.found.written:
            newest = memory.evidence[-1]
            draft = by_file.get(memory.files[0]) if memory.files else None
            if not memory.body and draft is not None and logged:
                draft.is_archived, draft.evidence = True, memory.evidence
                yield draft.change("taken_back", f"Taking back {name_in_words(draft)}")
                continue
            if not memory.body or (memory.files and draft is None):
                self.left_to_extraction.add(newest.message_id)
                continue
            if draft is None:
                draft = Draft((), memory.type, "", "", 0.0)
                drafts.append(draft)
            draft.description, draft.body, draft.title = memory.description, memory.body, memory.name
            draft.written_at = newest.said_at or 0.0
            draft.evidence, draft.keys, draft.answers = memory.evidence, memory.keys, memory.answers
            draft.is_renamed = memory.is_renamed
            is_new = not memory.files
            yield draft.change(
                "learnt" if is_new else "updated",
                f"{'Learning about' if is_new else 'Updating'} {name_in_words(draft)}",
            )

    def _is_missed(
        self,
        fact: LoggedFact,
        memories: Sequence[StoredMemory],
        instructions: Sequence[str],
        unconfirmed: Sequence[StoredMemory],
    ) -> bool:
        """Whether a line led to nothing: another engine wrote it, or what stood around its words is missing here.

        Where its words alone would lead to a memory, other words have taken that back, replaced it or said it too.
        """
        if fact.type is None:
            return False
        own = {message.message_id for message in fact.said}
        used = (
            piece.message_id for memory in (*self.found.written, *self.found.suspected) for piece in memory.evidence
        )
        return own.isdisjoint(used) and not find(fact.said, lambda: memories, instructions, unconfirmed).written


def _stated(fact: LoggedFact) -> Revision:
    """The memory that says what a line says."""
    newest = fact.said[-1]._replace(text=fact.text, answer="")
    return statement(newest, fact.type)._replace(evidence=fact.evidence)
