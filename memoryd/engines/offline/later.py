"""Later words beside a fact: whether they go on with it, speak of it, or come when its day has passed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.classifier import is_joined, is_reason
from memoryd.engines.offline.facts import WRITTEN
from memoryd.language.cues import has_cue
from memoryd.language.expiry import has_only_past_dates
from memoryd.language.parts import parts_of
from memoryd.language.replaced import (
    forbidden_in,
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
_LEAST_SHARED = 2
"""Words that a change shares with the memory that it is about; another value of the same kind is as good as one of them where
the change names what they share first. An exception has to have only one: it is one to something."""
_LEAST_PART = 0.25
"""And how many of the words of the shorter of the two these have to be: two long sentences share two words by chance."""


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
    """The one of several memories that words are about: none shares as many words with them.

    One word is enough where the day of the memory has `passed`. Without any there is no subject that they share. What allows
    something is about a memory that forbids it.
    """
    is_allowed = is_permission(text)
    is_limit = is_exception(text) or is_allowed
    facts = [*map(fact_of, bodies)]
    subject = without_change(text)
    both = [shared_subjects(forbidden_in(fact) if is_allowed else fact, subject) for fact in facts]
    shared = [
        len(shared_subjects(fact, subject))
        + (not is_limit and is_same_kind_of_value(fact, text) and is_about(subject, words))
        if words and (is_limit or not is_contrasted(fact, text)) and not is_elsewhere(fact, text)
        else 0
        for fact, words in zip(facts, both, strict=True)
    ]
    most = max(shared, default=0)
    if not most or shared.count(most) != 1:
        return None
    about = shared.index(most)
    words = word_count(facts[about])
    least = (
        1 if is_limit or passed[about] else max(min(_LEAST_SHARED, words), _LEAST_PART * min(words, word_count(text)))
    )
    return about if most >= least else None


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
