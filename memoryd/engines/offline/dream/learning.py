"""New facts in messages that nobody has worked on: what extraction would keep of them, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline import find
from memoryd.engines.offline.dream.draft import Draft
from memoryd.engines.offline.dream.naming import name_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoryd.model import StoredMemory, UserMessage


def learn(
    drafts: list[Draft],
    said: Sequence[UserMessage],
    memories: Sequence[StoredMemory],
    instructions: Sequence[str],
    left_to_extraction: set[str],
) -> Iterator[str]:
    """Add a draft for each new fact; yields a line for each.

    Messages that take a memory back are put into `left_to_extraction`: a dream removes nothing because of words.
    """
    sessions: dict[str, list[UserMessage]] = {}
    for message in said:
        sessions.setdefault(message.session_id, []).append(message)
    for messages in sessions.values():
        for found in find(messages, lambda: memories, instructions):
            newest = found.evidence[-1]
            if found.reason == "taken_back":
                left_to_extraction.add(newest.message_id)
                continue
            draft = Draft(
                (),
                found.type,
                found.description,
                found.body,
                newest.said_at or 0.0,
                found.name,
                evidence=found.evidence,
                keys=found.keys,
            )
            drafts.append(draft)
            yield draft.change("learnt", f"Learning about {name_in_words(draft)}")
