"""Later words beside a fact: whether they go on with it, speak of it, or come when its day has passed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.classifier import is_change, is_joined, is_reason
from memoryd.engines.offline.facts import WRITTEN
from memoryd.language.cues import has_cue
from memoryd.language.expiry import has_only_past_dates
from memoryd.language.parts import parts_of
from memoryd.language.replaced import (
    forbidden_in,
    has_change,
    is_exception,
    is_permission,
    said_beside_swap,
    swap_in,
    without_change,
)
from memoryd.language.subjects import (
    content_words,
    is_about,
    is_contrasted,
    is_numbered_otherwise,
    is_same_kind_of_value,
    mentions_taking_back,
    shared_subjects,
    shared_words,
    subject_of,
    word_count,
)
from memoryd.language.taken_back import is_correction
from memoryd.language.titles import without_fillers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.engines.offline.facts import StatedFact
    from memoryd.language.replaced import Swap
    from memoryd.model import StoredMemory

_REASON_BEHIND = 0.5
_JOINED_BEHIND = 0.7
"""From here on the first sentence of a message is the reason of the message before it, or belongs to it."""
_CHANGES = 0.6
"""From here on words that speak of a change say that an older fact holds otherwise now; of stories by others, nine in ten of these
are right. Words that do not speak of one change nothing, however alike: "the meeting with Globex is on March 10"."""
_CHANGES_PASSED = 0.4
"""The same where the day of the older fact has passed."""
_LEAST_PART = 0.25
"""How many of the words of the shorter of the two they have to share: two long sentences share two words by chance."""


def continued(
    stated: StatedFact, sentences: Sequence[str], text: str, facts: Sequence[StatedFact]
) -> StatedFact | None:
    """A fact with the next message joined to it; None where that speaks of something else."""
    last = stated.sentences[-1]
    is_restated = bool(facts) and has_cue(sentences[0], "correct") and bool(shared_words(last, text))
    if is_correction(text, last) or (is_restated and not mentions_taking_back(text)[0]):
        key = max(sentences, key=word_count)  # the title is what holds now
        return stated._replace(sentences=(*stated.sentences, *sentences), key=key, is_last=True, is_all=False)
    is_own = any(fact.likely >= WRITTEN for fact in facts)
    if not is_own and is_reason(last, sentences[0], is_next_message=True) >= _REASON_BEHIND:
        return stated._replace(why=(*stated.why, *sentences), is_last=True, is_all=False)
    if not is_own and is_joined(last, sentences[0], is_next_message=True) >= _JOINED_BEHIND:
        return stated._replace(sentences=(*stated.sentences, *sentences), is_last=True, is_all=False)
    return None


def rests_on(memory: StoredMemory, message_ids: Sequence[str]) -> bool:
    return bool(memory.evidence) and memory.evidence[-1].message_id in message_ids


def fact_of(body: str) -> str:
    return parts_of(body).fact


def has_passed(memory: StoredMemory, now: float | None) -> bool:
    """Whether the days of a memory were still to come when it was said, and have passed since."""
    return now is not None and has_only_past_dates(memory, now) and not has_only_past_dates(memory, memory.written_at)


def spoken_of(text: str, bodies: Sequence[str], passed: Sequence[bool]) -> int | None:
    """The one of several memories that words limit, or say that it holds otherwise now; None where that is not certain.

    What limits or allows something is about the one that it shares most words with; what allows, about one that forbids it. A
    change names first what it shares with the memory. Less certainty is enough where the day of the memory has `passed`.
    """
    facts = [*map(fact_of, bodies)]
    if is_exception(text) or is_permission(text):
        return _limited(text, facts)
    if not has_change(text):
        return None
    subject = without_change(text)
    shared = [
        shared_subjects(fact, subject)
        if not is_contrasted(fact, text) and not is_numbered_otherwise(fact, text) and not is_elsewhere(fact, text)
        else frozenset()
        for fact in facts
    ]
    about = _only_longest(shared)
    if about is None or not is_about(subject, shared[about]):
        return None
    fact = facts[about]
    least = _LEAST_PART * min(word_count(fact), word_count(text))
    if len(shared[about]) + is_same_kind_of_value(fact, text) < least:
        return None
    likely = is_change(fact, text, [*facts[:about], *facts[about + 1 :]])
    return about if likely >= (_CHANGES_PASSED if passed[about] else _CHANGES) else None


def _limited(text: str, facts: Sequence[str]) -> int | None:
    is_allowed = is_permission(text)
    return _only_longest(
        [
            frozenset()
            if is_elsewhere(fact, text)
            else shared_subjects(forbidden_in(fact) if is_allowed else fact, text)
            for fact in facts
        ]
    )


def _only_longest(shared: Sequence[frozenset[str]]) -> int | None:
    """Where most words stand; None where there are none, or as many in another place."""
    numbers = [*map(len, shared)]
    most = max(numbers, default=0)
    return numbers.index(most) if most and numbers.count(most) == 1 else None


def names_old(memory: StoredMemory, text: str, swap: Swap) -> bool:
    """Whether a sentence replaces a value of a memory by name, and is about the same thing.

    The two have more in common than the value, or the memory says little else.
    """
    fact = fact_of(memory.body)
    words = subject_of(fact) - subject_of(swap.old)
    is_shared = not words or bool(words & subject_of(text))
    return swap.fits(fact) and is_shared and not is_elsewhere(fact, text) and not is_contrasted(fact, text)


def is_elsewhere(fact: str, text: str) -> bool:
    """Whether a sentence replaces a value by name, but not where the fact has it.

    What the sentence says beside the two values is not in the fact: "spaces instead of tabs in Python files" changes no rule
    about Go files.
    """
    swap = swap_in(text)
    scope = content_words(without_fillers(without_change(said_beside_swap(text))))
    return swap is not None and swap.fits(fact) and not scope <= content_words(fact)
