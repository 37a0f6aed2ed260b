"""The embedded engine: no network, no key, no download. Precise before complete.

It works on what the user said and on nothing else. A message becomes sentences (`sentences`), sentences are judged by a
small model (`features`, `linear_model`), those worth keeping are joined to `facts` and written down (`compose`); later
messages may take them back (`found`, `taken_back`). What stood around a fact may be what it is searched by (`keys`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.compose import revision_of
from memoryd.engines.offline.facts import StatedFact, facts_in
from memoryd.engines.offline.found import FoundFacts
from memoryd.engines.offline.linear_model import type_of
from memoryd.language.evidence import evidence_of
from memoryd.language.taken_back import is_off_the_record, says_nothing_else

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memoryd.model import Revision, StoredMemory, UserMessage

__all__ = ["find", "statement"]


def find(
    messages: Iterable[UserMessage],
    memories: Callable[[], Sequence[StoredMemory]] = lambda: (),
    instructions: Sequence[str] = (),
) -> list[Revision]:
    """Facts that these messages, in the order they were said, add to the memories, and memories that they take back."""
    found = FoundFacts(memories, instructions)
    last: UserMessage | None = None
    for message in messages:
        is_next = last is not None and last.session_id == message.session_id
        said = message._replace(after=(last.message_id,)) if last and is_next and not message.after else message
        last = said
        if is_off_the_record(said.text):
            if says_nothing_else(said.text):  # else it speaks of its own words: "off the record: … don't keep that"
                found.take_back(said)
            continue
        facts = facts_in(said)
        if any(told.is_taken_back for told in facts) or not (found.take_back(said) or found.correct(said)):
            for told in facts:
                if not told.is_taken_back:
                    found.add(said, told)
    return found.news()


def statement(said: UserMessage) -> Revision:
    """What the user asks to be remembered in so many words, taken as it is."""
    text = " ".join(said.text.split())
    memory = revision_of(said, StatedFact((text,), type_of((text,))))
    return memory._replace(evidence=(evidence_of(said, text),))
