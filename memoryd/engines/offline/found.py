"""Facts found while messages are read, beside the memories that are there.

A fact goes only by the user's explicit words: a later message of the same session takes back or corrects what the one
before it said, or a "forget …" singles out exactly one memory. Two facts that merely look alike are two facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.compose import description_of, revision_of
from memoryd.engines.offline.keys import keys_of
from memoryd.language.evidence import evidence_of
from memoryd.language.instructed import is_instructed, paragraphs_of
from memoryd.language.sentences import sentences_of
from memoryd.language.taken_back import is_correction, speaks_of, taken_back_by
from memoryd.model import Revision

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.engines.offline.facts import StatedFact
    from memoryd.model import StoredMemory, UserMessage

_QUOTE_CHARACTERS = 400


class _Fact(NamedTuple):
    """One fact of a message, and what is written of it."""

    said: UserMessage
    memory: Revision
    is_all_that_was_said: bool


class FoundFacts:
    """`memories` is called when a message takes something back: most messages need none of the memories."""

    def __init__(self, memories: Callable[[], Sequence[StoredMemory]], instructions: Sequence[str]) -> None:
        self._memories = memories
        self._paragraphs = paragraphs_of(instructions)
        self._facts: list[_Fact] = []
        self._withdrawn: dict[str, Revision] = {}

    def add(self, said: UserMessage, told: StatedFact) -> None:
        memory = revision_of(said, told)
        if not is_instructed(memory.body, self._paragraphs):
            is_all = len(told.sentences) == len(sentences_of(said.text))
            self._facts.append(_Fact(said, memory._replace(keys=keys_of(said, memory)), is_all))

    def correct(self, said: UserMessage) -> bool:
        """Join a correction to the fact that the message before told; False where there is no such pair.

        Both stay: the correction alone ("sorry, I meant tabs") says little, and which words of the fact it replaces would be
        a guess.
        """
        before = said.after[:1]
        earlier = [fact for fact in self._facts if (fact.said.message_id,) == before]
        if len(earlier) != 1 or not earlier[0].is_all_that_was_said:
            return False
        if not is_correction(said.text, earlier[0].memory.body):
            return False
        memory = earlier[0].memory
        fact, gap, rest = memory.body.rstrip("\n").partition("\n\n")
        fact = f"{fact} (Corrected: “{' '.join(sentences_of(said.text))}”)"
        evidence = evidence_of(said, said.text[:_QUOTE_CHARACTERS])
        corrected = memory._replace(
            line=f"you said: {evidence.quote}",
            body=f"{fact}{gap}{rest}\n",
            description=description_of(fact, ""),
            evidence=(*memory.evidence, evidence),
        )
        self._facts[self._facts.index(earlier[0])] = earlier[0]._replace(said=said, memory=corrected)
        return True

    def take_back(self, said: UserMessage) -> bool:
        """Drop what a message takes back: the one thing that it names, else what the message before it told.

        Whether it took something back. Names have to single out one of all facts and memories. Without a name, a memory that
        was written already goes only where it rests on the message right before this one.
        """
        for take_back in filter(None, map(taken_back_by, sentences_of(said.text))):
            if take_back.named:
                done = self._drop_named(said, take_back.named)
            elif take_back.is_bare and "?" in said.answer:
                done = False  # it may answer the assistant's question
            else:
                done = self._drop_last(said, is_bare=take_back.is_bare)
            if done:
                return True
        return False

    def news(self) -> list[Revision]:
        return [*(fact.memory for fact in self._facts), *self._withdrawn.values()]

    def _drop_named(self, said: UserMessage, named: frozenset[str]) -> bool:
        facts = [fact for fact in self._facts if speaks_of(fact.memory.body, named)]
        memories = [memory for memory in self._memories() if speaks_of(f"{memory.description}\n{memory.body}", named)]
        if len(facts) + len(memories) != 1:
            return False
        for fact in facts:
            self._facts.remove(fact)
        return bool(facts) or self._withdraw(memories[0], said)

    def _drop_last(self, said: UserMessage, *, is_bare: bool) -> bool:
        before = said.after[:1]
        facts = [fact for fact in self._facts if (fact.said.message_id,) == before]
        if facts:
            if is_bare and not facts[0].is_all_that_was_said:
                return False
            self._facts = [fact for fact in self._facts if fact not in facts]
            return True
        resting = [
            memory for memory in self._memories() if memory.evidence and (memory.evidence[-1].message_id,) == before
        ]
        return len(resting) == 1 and not is_bare and self._withdraw(resting[0], said)

    def _withdraw(self, memory: StoredMemory, said: UserMessage) -> bool:
        if memory.is_ours:
            evidence = evidence_of(said, said.text[:_QUOTE_CHARACTERS])
            line = f"you took it back: {evidence.quote}"
            self._withdrawn[memory.name] = Revision("taken_back", line, (memory.name,), evidence=(evidence,))
        return memory.is_ours
