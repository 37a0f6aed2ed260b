"""Later words beside a fact: whether they go on with it, speak of it, or come when its day has passed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.offline.changes import Sentence, likely_changes
from memoryd.engines.offline.classifier import is_joined, is_reason
from memoryd.engines.offline.facts import WRITTEN, own_sentences
from memoryd.engines.offline.features import ANSWER_CHARACTERS
from memoryd.language.cues import has_cue
from memoryd.language.expiry import has_only_past_dates, is_expired, is_said_to_go_on, tells_a_beginning
from memoryd.language.parts import parts_of
from memoryd.language.replaced import (
    differs_in_one_place,
    forbidden_in,
    has_change,
    is_exception,
    is_permission,
    only_ends,
    said_beside_swap,
    swap_in,
    tells_anew,
    without_change,
)
from memoryd.language.requests import is_request
from memoryd.language.subjects import (
    content_words,
    is_about,
    is_contrasted,
    is_numbered_otherwise,
    is_of_another,
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

    from memoryd.engines.offline.changes import Known
    from memoryd.engines.offline.facts import StatedFact
    from memoryd.language.replaced import Swap
    from memoryd.model import StoredMemory, UserMessage

_REASON_BEHIND = 0.5
_JOINED_BEHIND = 0.7
"""From here on the first sentence of a message is the reason of the message before it, or belongs to it."""
_CHANGES = 0.4
"""From here on a sentence that speaks of a change says that an older fact holds otherwise now; or any, where the day of that has passed."""
_CHANGES_UNSAID = 0.5
"""The same of words that name no change. Of stories by others, three in four of both are right."""
_TELLS_MORE = 0.3
"""What is at least as likely worth keeping tells more than that something ended."""
_ALIKE = 0.3
_FEW_WORDS = 6
"""From this part of shared words on, or up to so many words, another word before the same one makes two things of two texts."""
_LEAST_PART = 0.2
"""How many of the words of the shorter of the two they have to share: two long sentences share two words by chance."""
_NAMED = 2
"""So many words of a fact in what the assistant said just before: "got it back" is about that."""


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
    """Whether the days of a memory were still to come when it was said, and have passed since. What began on one of them goes on."""
    is_past = now is not None and has_only_past_dates(memory, now)
    return is_past and not has_only_past_dates(memory, memory.written_at) and not tells_a_beginning(memory)


def has_expired(memory: StoredMemory, said: UserMessage) -> bool:
    """Whether the own end of a memory has passed when a message is said, which does not say that it goes on."""
    is_past = said.said_at is not None and is_expired(memory, said.said_at)
    return is_past and not is_said_to_go_on(memory.description, memory.body, (said.text,))


def is_told_anew(memory: StoredMemory, text: str) -> bool:
    """Whether words tell the same subject anew, and it is not one thing of another: "réunion avec Paul", "… avec Marie"."""
    fact = fact_of(memory.body)
    return tells_anew(fact, text) and not is_of_another(fact, text)


def spoken_of(said: UserMessage, stated: StatedFact, known: Sequence[Known], passed: Sequence[bool]) -> int | None:
    """The one of several facts that words limit, or say that it holds otherwise now; None where that is not certain.

    What limits or allows something is about the one that it shares most words with; what allows, about one that forbids it. Less
    certainty is enough where the day of a fact has `passed`.
    """
    text, facts = " ".join(stated.sentences), [fact.text for fact in known]
    all_sentences = own_sentences(said)
    likely = [0.0] * len(known)
    for sentence in stated.sentences:
        around = Sentence(all_sentences, all_sentences.index(sentence), said.answer, said.reply)
        likely = [*map(max, likely, likely_changes(around, known))]
    tells = has_change(text)
    likely = [
        max(value, float(tells and _has_another_value(fact, text)))
        if (value or tells) and _may_be_about(fact, text, said, has_passed=over)
        else 0.0
        for value, fact, over in zip(likely, facts, passed, strict=True)
    ]
    about = max(range(len(known)), key=likely.__getitem__, default=None)
    is_asked = any(map(is_request, stated.sentences)) and not tells  # to remember this, whatever it resembles
    if about is not None and not is_asked:
        least = _CHANGES if tells or passed[about] else _CHANGES_UNSAID
        if likely[about] >= least:
            return about
    return _limited(text, facts) if is_exception(text) or is_permission(text) else None


def _may_be_about(fact: str, text: str, said: UserMessage, *, has_passed: bool) -> bool:
    """Whether words can be about a fact: they name something of it, or the assistant had just spoken of it, or its day has passed.

    What says of something that it holds otherwise now names it first: "releases go to main now" is no word on pushing to main.
    """
    if _are_two(fact, text):
        return False
    if shared := shared_subjects(fact, text):
        shorter = min(word_count(fact), word_count(text))
        if len(shared) + is_same_kind_of_value(fact, text) < _LEAST_PART * shorter:
            return False
        return not has_change(text) or is_about(without_change(text), shared)
    return has_passed or len(shared_subjects(fact, said.answer[-ANSWER_CHARACTERS:])) >= _NAMED


def _has_another_value(fact: str, text: str) -> bool:
    """Whether words of a change say another day or measure of what a fact is about, and nothing else: "code freeze is dec 12 now"."""
    words = content_words(without_change(text))
    return is_same_kind_of_value(fact, text) and bool(words) and words <= content_words(fact)


def tells_only_an_end(stated: StatedFact) -> bool:
    """Whether words that change something say nothing of what holds instead: "got it back tuesday"."""
    return only_ends(stated.text) or stated.likely < _TELLS_MORE


def _are_two(fact: str, text: str) -> bool:
    """Whether words are about another thing than a fact, however alike: another number, name or place, said of the same."""
    return (
        is_numbered_otherwise(fact, text)
        or is_elsewhere(fact, text)
        or is_of_another(fact, text)
        or (is_contrasted(fact, text) and _are_alike(fact, text))
        or (differs_in_one_place(fact, text) and not has_change(text))
    )


def _are_alike(fact: str, text: str) -> bool:
    """Whether two texts are short, or tell much of the same. Long ones about one thing say some words of two things by chance."""
    longer = max(word_count(fact), word_count(text))
    return longer <= _FEW_WORDS or len(shared_subjects(fact, text)) >= _ALIKE * longer


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
