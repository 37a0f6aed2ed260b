"""Facts found while messages are read, beside the memories that are there and those that wait to be confirmed.

Something changes only by the user's own words: the next message puts right or takes back what the one before it said, a
"forget …" singles out one memory, an old value is named beside the new one, or the same subject is told anew word for word. What
probably changes a fact (`changes.py`), and what limits one, is set beside it: nothing is lost. What has ended by itself is archived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.changes import Known
from memoryd.engines.offline.facts import UNCONFIRMED, WRITTEN, StatedFact, own_sentences
from memoryd.engines.offline.keys import keys_of
from memoryd.engines.offline.later import (
    continued,
    fact_of,
    has_expired,
    has_passed,
    is_told_anew,
    names_old,
    rests_on,
    spoken_of,
    tells_only_an_end,
)
from memoryd.engines.offline.wording import amended, fact_evidence, memory_of, quote_of, revision_of
from memoryd.language.certainty import is_meant
from memoryd.language.expiry import is_expired
from memoryd.language.instructed import is_instructed, paragraphs_of
from memoryd.language.parts import is_stamped, parts_of
from memoryd.language.replaced import may_tell_anew, only_ends, says_again, swap_in, tells_anew
from memoryd.language.subjects import mentions_taking_back, shared_words
from memoryd.language.taken_back import only_takes_back, speaks_of, taken_back_by
from memoryd.language.titles import slug_of, title_of
from memoryd.language.tokens import words_of
from memoryd.model import Revision

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.model import Evidence, StoredMemory, UserMessage

_DAY_SECONDS = 86_400.0
_MOST_BEHIND = 2
"""Sentences of a message that can belong to the one before it as a whole."""


class Findings(NamedTuple):
    """What came of messages."""

    written: tuple[Revision, ...] = ()
    """What is certain: new memories, changes, memories that were taken back, and unconfirmed ones that were said again."""
    unconfirmed: tuple[Revision, ...] = ()
    """What is likely, and was said once."""
    suspected: tuple[Revision, ...] = ()
    """Older memories that the newer words may contradict: the user is asked."""
    withdrawn: frozenset[int] = frozenset()
    """Rows of unconfirmed memories that the user took back or told anew."""


class _Fact(NamedTuple):
    """One fact of a message, and what is written of it."""

    said: UserMessage
    stated: StatedFact
    memory: Revision

    @property
    def is_written(self) -> bool:
        return self.stated.likely >= WRITTEN

    @property
    def may_go_on(self) -> bool:
        return self.stated.is_last and not is_stamped(self.memory.body)


def _known(one: _Fact | StoredMemory, now: float | None) -> Known:
    """What was told before, beside words that are said now."""
    memory = one.memory if isinstance(one, _Fact) else one
    told_at = one.said.said_at if isinstance(one, _Fact) else one.written_at
    days = (now - told_at) / _DAY_SECONDS if now is not None and told_at is not None else 0.0
    return Known(fact_of(memory.body), memory.type or "project", max(days, 0.0))


class FoundFacts:
    """`memories` and `unconfirmed` are what is there already; the first is called only where something was found.

    With `is_certain`, a memory that the words may change stays as it is, and the user is asked about it.
    """

    def __init__(
        self,
        memories: Callable[[], Sequence[StoredMemory]],
        instructions: Sequence[str],
        unconfirmed: Sequence[StoredMemory] = (),
        *,
        is_certain: bool = False,
    ) -> None:
        self._memories = memories
        self._has_read = False
        self._is_certain = is_certain
        self._paragraphs = paragraphs_of(instructions)
        self._waiting = {memory.row_id: memory for memory in unconfirmed}
        self._facts: list[_Fact] = []
        self._changed: dict[str, Revision] = {}
        self._suspected: dict[str, Revision] = {}
        self._confirmed: list[Revision] = []
        self._withdrawn: set[int] = set()

    def _stored(self) -> Sequence[StoredMemory]:
        self._has_read = True
        return self._memories()

    def found(self) -> Findings:
        written = [fact.memory for fact in self._facts if fact.is_written]
        unconfirmed = tuple(fact.memory for fact in self._facts if not fact.is_written)
        suspected = tuple(memory for name, memory in self._suspected.items() if name not in self._changed)
        return Findings(
            (*self._confirmed, *written, *self._changed.values()), unconfirmed, suspected, frozenset(self._withdrawn)
        )

    # --- new facts ----------------------------------------------------------------------------------------------------

    def add(self, said: UserMessage, stated: StatedFact) -> None:
        """Take in a fact: as a change of what is there, or as something new. What is not worth keeping by itself is set beside a fact
        that it may end, and does nothing else: "make the header green instead of blue" is a task.
        """
        if stated.likely < UNCONFIRMED:
            self._amends(said, stated)
            return
        replaced = [fact for fact in self._facts if tells_anew(fact_of(fact.memory.body), stated.text)]
        stated = stated._replace(likely=max((stated.likely, *(fact.stated.likely for fact in replaced))))
        memory = revision_of(said, stated)
        if is_instructed(memory.body, self._paragraphs):
            return
        if self._replaces(stated, memory, replaced) or self._amends(said, stated):
            return
        if stated.likely < WRITTEN and self._is_known(stated.text):
            return
        self._facts.append(_Fact(said, stated, memory._replace(keys=keys_of(said, memory))))

    def _replaces(self, stated: StatedFact, memory: Revision, replaced: Sequence[_Fact]) -> bool:
        """Whether a fact changes a memory that is there, by the user's own words. `replaced` are facts of the same run."""
        self._facts = [fact for fact in self._facts if fact not in replaced]
        self._withdraw_outdated(stated.text)
        ours = [one for one in self._stored() if one.is_ours and not one.is_fixed and one.name not in self._changed]
        anew = [one for one in ours if is_told_anew(one, stated.text)]
        if len(anew) == 1:
            self._update(anew[0], memory._replace(type=anew[0].type))
            return True
        swap = swap_in(stated.text)
        named = [one for one in ours if swap and names_old(one, stated.text, swap)]
        if swap and len(named) == 1:
            text = swap.applied_to(fact_of(named[0].body))
            self._update(named[0], memory_of(text, "", memory.evidence, named[0].type or "project"))
            return True
        for one in ours:
            if may_tell_anew(fact_of(one.body), stated.text):
                self._suspect(one, memory.evidence)
        return False

    def _suspect(self, older: StoredMemory, newer: tuple[Evidence, ...]) -> None:
        """Ask the user whether a memory still holds beside newer words; it stands until then."""
        line = f"you said since: {newer[-1].quote}"
        self._suspected[older.name] = Revision("taken_back", line, (older.name,), evidence=newer)

    def _amends(self, said: UserMessage, stated: StatedFact) -> bool:
        """Set a fact that speaks of a change or an exception beside the one thing that it is about; whether there is one."""
        earlier = [fact for fact in self._facts if fact.said.message_id != said.message_id]
        ours = [one for one in self._stored() if one.is_ours and not one.is_fixed and one.name not in self._changed]
        known: list[_Fact | StoredMemory] = [*earlier, *self._waiting.values(), *ours]
        passed = [not isinstance(one, _Fact) and has_passed(one, said.said_at) for one in known]
        about = spoken_of(said, stated, [_known(one, said.said_at) for one in known], passed)
        if about is None:
            return False
        older, ends = known[about], tells_only_an_end(stated)
        is_behind = ends and not passed[about]  # else its title would tell of a day that has gone by
        if isinstance(older, _Fact):
            likely = max(older.stated.likely, stated.likely)
            memory = amended(said, stated, older.memory, older.said.said_at, is_behind=is_behind)
            memory = memory._replace(evidence=(*older.memory.evidence, *memory.evidence), keys=older.memory.keys)
            self._facts[self._facts.index(older)] = _Fact(said, stated._replace(likely=likely), memory)
            return True
        memory = amended(said, stated, older, older.written_at, is_behind=is_behind)
        if older.row_id:
            self._withdraw_row(older.row_id)
            kept = memory._replace(evidence=(*older.evidence, *memory.evidence))
            self._facts.append(_Fact(said, stated._replace(likely=max(stated.likely, UNCONFIRMED)), kept))
            return True
        if self._is_certain:
            self._suspect(older, memory.evidence)
            return False
        if passed[about] and only_ends(stated.text):
            return self._withdraw(older, memory.evidence[-1])
        if ends and said.said_at is not None and is_expired(older, said.said_at, is_said=True):
            line, words = f"you said: {memory.evidence[-1].quote}", memory.evidence[-1:]
            self._changed[older.name] = Revision("expired", line, (older.name,), evidence=words)
            return True
        self._update(older, memory)
        return True

    def _update(self, older: StoredMemory, memory: Revision) -> None:
        """Write a memory anew. Its file is called by the new title, unless it is called so already."""
        called = older.name.rpartition("/")[2].removesuffix(".md").partition("_")[2]
        is_same = called == memory.name.replace("-", "_")
        self._changed[older.name] = memory._replace(reason="updated", files=(older.name,), is_renamed=not is_same)

    def withdraw_passed(self, said: UserMessage) -> None:
        """Withdraw what waits and was about a day that has passed; archive, as a dream would, what has ended, if it was read anyway."""
        for row_id in [row_id for row_id, one in self._waiting.items() if has_passed(one, said.said_at)]:
            self._withdraw_row(row_id)
        for one in self._stored() if self._has_read else ():
            is_free = one.is_ours and not one.is_fixed and one.name not in self._changed
            if is_free and has_expired(one, said):
                self._changed[one.name] = Revision("expired", "Its own end has passed.", (one.name,))

    def _withdraw_outdated(self, text: str) -> None:
        """Withdraw what waits to be confirmed and is told otherwise now."""
        swap = swap_in(text)
        outdated = [
            row_id
            for row_id, memory in self._waiting.items()
            if tells_anew(fact_of(memory.body), text) or (swap and names_old(memory, text, swap))
        ]
        for row_id in outdated if len(outdated) == 1 else ():
            self._withdraw_row(row_id)

    def confirm(self, said: UserMessage) -> frozenset[str]:
        """Write what another session had said once and this message says again; the sentences that do.

        However unlikely a sentence is by itself: to be said again is the strongest sign.
        """
        again = set()
        for sentence in own_sentences(said) if self._waiting else ():
            meant = [
                row_id
                for row_id, memory in self._waiting.items()
                if all(piece.session_id != said.session_id for piece in memory.evidence)
                and says_again(fact_of(memory.body), sentence)
            ]
            if len(meant) == 1 and is_meant(sentence) and taken_back_by(sentence) is None:
                memory = self._waiting.pop(meant[0])
                parts = parts_of(memory.body)
                evidence = (*memory.evidence, fact_evidence(said, (sentence,)))
                revised = memory_of(parts.fact, parts.why, evidence, memory.type or "project")
                self._confirmed.append(revised._replace(answers=(meant[0],)))
                again.add(sentence)
        return frozenset(again)

    def _is_known(self, text: str) -> bool:
        """Whether a memory, or one that waits, has every word of a text: to ask about it would be in vain."""
        words = frozenset(words_of(text))
        there = (*self._stored(), *self._waiting.values())
        return any(words <= frozenset(words_of(f"{one.description}\n{one.body}")) for one in there)

    # --- the message behind a fact ------------------------------------------------------------------------------------

    def continues(self, said: UserMessage, facts: Sequence[StatedFact], *, is_first: bool) -> bool:
        """Join a message to the fact that the message before it ended with: its reason, an addition, a correction.

        Whether it was. A message that says more than that, or something worth writing down by itself, is read by itself.
        `facts` are those of the message; `is_first`: the message before it was read by an earlier run.
        """
        sentences = own_sentences(said)
        last = [
            at for at, fact in enumerate(self._facts) if fact.may_go_on and (fact.said.message_id,) == said.after[:1]
        ]
        if (
            not (last or is_first)
            or not sentences
            or len(sentences) > _MOST_BEHIND
            or not all(map(is_meant, sentences))
        ):
            return False
        for number in last:
            fact = self._facts[number]
            stated = continued(fact.stated, sentences, said.text, facts)
            if stated is not None:
                memory = revision_of(fact.said, stated._replace(why=()) if not stated.why else stated)
                evidence = (*fact.memory.evidence, fact_evidence(said, sentences))
                self._facts[number] = _Fact(said, stated, memory._replace(evidence=evidence, keys=fact.memory.keys))
                return True
        return is_first and self._continues_stored(said, sentences, facts)

    def _continues_stored(self, said: UserMessage, sentences: Sequence[str], facts: Sequence[StatedFact]) -> bool:
        """The same for a fact that was written, or put aside, before this message was read."""
        before = said.after[:1]
        stored = [one for one in self._stored() if one.is_ours and rests_on(one, before)] if before else []
        rows = [(row_id, one) for row_id, one in self._waiting.items() if before and rests_on(one, before)]
        if len(stored) + len(rows) != 1:
            return False
        memory = stored[0] if stored else rows[0][1]
        parts = parts_of(memory.body)
        earlier = StatedFact((parts.fact,), (parts.why,) if parts.why else ())
        stated = continued(earlier, sentences, said.text, facts)
        if stated is None:
            return False
        evidence = fact_evidence(said, sentences)
        told, why = " ".join(stated.sentences), " ".join(stated.why)
        revised = memory_of(told, why, (evidence,), memory.type or "project")
        if stated.key != stated.sentences[0]:
            revised = revised._replace(name=slug_of(title_of(stated.key)))
        if stored:
            self._update(memory, revised)
        else:
            self._withdraw_row(rows[0][0])
            kept = revised._replace(evidence=(*memory.evidence, evidence))
            self._facts.append(_Fact(said, stated._replace(likely=0.0), kept))
        return True

    # --- taking back --------------------------------------------------------------------------------------------------

    def take_back(self, said: UserMessage) -> bool:
        """Drop what a message takes back: the one thing that it names, else what the message before it told.

        Whether it took something back. Names have to single out one of all facts and memories. Without a name, a memory that
        was written already goes only where it rests on the message right before this one.
        """
        for sentence in own_sentences(said):
            take_back = taken_back_by(sentence)
            if take_back is None:
                continue
            words = fact_evidence(said, (sentence,))  # the rest of the message may speak of other memories
            if take_back.named:
                done = self._drop_named(take_back.named, words)
            elif take_back.is_bare and "?" in said.answer:
                done = False  # it may answer the assistant's question
            else:
                done = self._drop_last(said, words, is_bare=take_back.is_bare)
            if done or (not take_back.named and not take_back.is_bare and self._drop_spoken_of(said)):
                return True
        if mentions_taking_back(said.text)[0]:
            self._doubt(said)
        return False

    def _spoken_of_here(self, said: UserMessage) -> list[_Fact]:
        """The facts of the same session that a message shares words with."""
        here = [fact for fact in self._facts if fact.said.session_id == said.session_id]
        return [fact for fact in here if shared_words(fact.stated.text, said.text)]

    def _drop_spoken_of(self, said: UserMessage) -> bool:
        """Drop the one fact of the session that "forget what I said" speaks of, some messages later."""
        meant = self._spoken_of_here(said)
        if len(meant) != 1:
            return False
        self._facts.remove(meant[0])
        return True

    def _doubt(self, said: UserMessage) -> None:
        """Let facts wait that "forget that" may be about, and ask about a memory. It may be about the task as well.

        They share words with it, or it says nothing else and stands right behind them, and the assistant did not ask either.
        """
        before = said.after[:1] if only_takes_back(said.text) and "?" not in said.answer else ()
        last = [fact for fact in self._facts if (fact.said.message_id,) == before and fact.stated.is_all]
        for fact in {*self._spoken_of_here(said), *last}:
            stated = fact.stated._replace(likely=min(fact.stated.likely, UNCONFIRMED))
            self._facts[self._facts.index(fact)] = fact._replace(stated=stated)
        for memory in self._stored() if before else ():
            if memory.is_ours and rests_on(memory, before):
                self._suspect(memory, (quote_of(said),))

    def _drop_named(self, named: frozenset[str], words: Evidence) -> bool:
        facts = [fact for fact in self._facts if speaks_of(fact.memory.body, named)]
        memories = [memory for memory in self._stored() if speaks_of(f"{memory.description}\n{memory.body}", named)]
        rows = [row_id for row_id, memory in self._waiting.items() if speaks_of(memory.body, named)]
        if len(facts) + len(memories) + len(rows) != 1:
            return False
        for fact in facts:
            self._facts.remove(fact)
        for row_id in rows:
            self._withdraw_row(row_id)
        return bool(facts or rows) or self._withdraw(memories[0], words)

    def _drop_last(self, said: UserMessage, words: Evidence, *, is_bare: bool) -> bool:
        before = said.after[:1]
        facts = [fact for fact in self._facts if (fact.said.message_id,) == before]
        if facts:
            if is_bare and not facts[0].stated.is_all:
                return False
            self._facts = [fact for fact in self._facts if fact not in facts]
            return True
        if is_bare or not before:
            return False
        rows = [row_id for row_id, memory in self._waiting.items() if rests_on(memory, before)]
        for row_id in rows:
            self._withdraw_row(row_id)
        resting = [memory for memory in self._stored() if rests_on(memory, before)]
        return bool(rows) or (len(resting) == 1 and self._withdraw(resting[0], words))

    def _withdraw(self, memory: StoredMemory, words: Evidence) -> bool:
        if memory.is_ours:
            line = f"you took it back: {words.quote}"
            self._changed[memory.name] = Revision("taken_back", line, (memory.name,), evidence=(words,))
        return memory.is_ours

    def _withdraw_row(self, row_id: int) -> None:
        self._withdrawn.add(row_id)
        del self._waiting[row_id]
