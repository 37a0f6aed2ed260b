"""The embedded engine: no network, no key, no download. It keeps the user's own sentences, and few of them wrong.

A message becomes sentences (`language/sentences`), a small linear model tells which are worth keeping and what belongs to
them (`features`, `classifier`, `facts`); they are written as they were said (`wording`). Later messages may go on with them,
replace them, end them (`changes`) or take them back (`found`). What stood around a fact may be what it is searched by (`keys`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.facts import StatedFact, facts_in, told_beside
from memoryd.engines.offline.found import Findings, FoundFacts
from memoryd.engines.offline.wording import revision_of
from memoryd.language.taken_back import begins_by_taking_back, is_off_the_record, says_nothing_else

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memoryd.memory_types import MemoryType
    from memoryd.model import Revision, StoredMemory, UserMessage

__all__ = ["Findings", "find", "statement"]


def find(
    messages: Iterable[UserMessage],
    memories: Callable[[], Sequence[StoredMemory]] = lambda: (),
    instructions: Sequence[str] = (),
    unconfirmed: Sequence[StoredMemory] = (),
    *,
    is_certain: bool = False,
) -> Findings:
    """What these messages, in the order they were said, add to the memories or change in them.

    With `is_certain`, memories are changed only where the old value is named beside the new one.
    """
    found = FoundFacts(memories, instructions, unconfirmed, is_certain=is_certain)
    last: UserMessage | None = None
    for message in messages:
        is_next = last is not None and last.session_id == message.session_id
        is_first = not is_next
        said = message._replace(after=(last.message_id,)) if last and is_next and not message.after else message
        last = said
        if is_off_the_record(said.text):
            if says_nothing_else(said.text) or begins_by_taking_back(said.text):
                # else it speaks of its own words: "off the record: … don't keep that"
                found.take_back(said)
            continue
        facts = facts_in(said)
        if not any(fact.is_taken_back for fact in facts) and (
            found.take_back(said) or found.continues(said, facts, is_first=is_first)
        ):
            continue
        again = found.confirm(said)
        for fact in (*facts, *told_beside(said, facts)):
            if not fact.is_taken_back and again.isdisjoint(fact.sentences):
                found.add(said, fact)
        found.withdraw_passed(said)
    return found.found()


def statement(said: UserMessage, kind: MemoryType | None = None) -> Revision:
    """What the user asks to be remembered in so many words, taken as it is."""
    return revision_of(said, StatedFact((" ".join(said.text.split()),)), kind)
