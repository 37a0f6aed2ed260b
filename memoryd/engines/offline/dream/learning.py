"""New facts in messages that nobody has worked on: what extraction would keep of them, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline import Findings, find
from memoryd.engines.offline.dream.draft import Draft
from memoryd.engines.offline.dream.naming import name_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.model import StoredMemory, UserMessage


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
    ) -> Iterator[str]:
        """Add a draft for each new fact and each value that was replaced; yields a line for each."""
        self.found = find(said, lambda: memories, instructions, unconfirmed, is_certain=True)
        by_file = {draft.files[0]: draft for draft in drafts if draft.files}
        for memory in self.found.written:
            newest = memory.evidence[-1]
            draft = by_file.get(memory.files[0]) if memory.files else None
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
