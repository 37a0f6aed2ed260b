"""A message of the user to the facts told in it: the sentences that are worth keeping, joined to whom they belong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.linear_model import type_of, worth_of
from memoryd.engines.offline.wishes import is_rule, is_wish
from memoryd.language.approval import is_approval
from memoryd.language.certainty import is_meant
from memoryd.language.cues import cues_of
from memoryd.language.lexicon import pattern
from memoryd.language.sentences import sentences_of, without_secrets
from memoryd.language.subjects import names_nothing, subject_of
from memoryd.language.taken_back import speaks_of, taken_back_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import MemoryType, UserMessage

KEPT = 0.55
"""A fact holds a sentence that is at least as likely worth it."""
KEPT_WISH = 0.1
"""So does a wish in so many words inside a longer message."""
SHORT_MESSAGE = 3
"""In a message of so few sentences a wish in so many words is believed as it is: nobody dictates a text there."""
JOINED_BEFORE = 0.2
JOINED_RULE = 0.05
JOINED_BEHIND = 0.08
"""A sentence beside such a one belongs to it from here on: what stands behind a rule is mostly its reason, and what
stands before a reason is mostly its rule, even where either alone would not be worth keeping."""

_RULE_CUES = frozenset(
    {"order", "negative_order", "standing", "constraint", "prefer", "when_you", "answers", "correct"}
)
_REASON_CUES = frozenset({"past", "reason", "we_got"})
_LEAST_APPROVED = 3


class StatedFact(NamedTuple):
    """One fact in the user's own sentences, in order."""

    sentences: tuple[str, ...]
    type: MemoryType
    is_taken_back: bool = False
    """A later sentence of the same message takes it back."""


def facts_in(said: UserMessage) -> list[StatedFact]:
    """The facts of a message."""
    sentences = [sentence for sentence in map(without_secrets, sentences_of(said.text)) if sentence]
    worth = _with_reasons(sentences, worth_of(sentences, said.answer))
    wish = 0.0 if len(sentences) <= SHORT_MESSAGE else KEPT_WISH
    dictated = next(
        (number for number, one in enumerate(sentences) if pattern("facts", "dictates").search(one)), len(sentences)
    )
    seeds = [
        number < dictated
        and likely >= (wish if is_wish(sentence) else KEPT)
        and not (_is_left(sentence) or names_nothing(sentence) or _approves_of_nothing(sentence, said.answer))
        for number, (sentence, likely) in enumerate(zip(sentences, worth, strict=True))
    ]
    spans = _spans(sentences, worth, seeds)
    gone = _taken_back(sentences, spans)
    return [
        StatedFact(
            tuple(sentences[start:end]),
            "feedback" if any(map(is_rule, sentences[start:end])) else type_of(sentences[start:end]),
            is_taken_back=(start, end) in gone,
        )
        for start, end in spans
    ]


def _taken_back(sentences: Sequence[str], spans: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """The facts that a later sentence of the same message takes back: the one that it names, else the one before it."""
    gone: set[tuple[int, int]] = set()
    for number, sentence in enumerate(sentences):
        take_back = taken_back_by(sentence)
        if take_back is None and not (pattern("facts", "instead").match(sentence) and is_wish(sentence)):
            continue
        before = [span for span in spans if span[1] <= number]
        if take_back is not None and take_back.named:
            meant = [span for span in before if speaks_of(" ".join(sentences[slice(*span)]), take_back.named)]
            gone.update(meant if len(meant) == 1 else ())
        else:
            gone.update(before[-1:])
    return gone


def _with_reasons(sentences: Sequence[str], worth: Sequence[float]) -> list[float]:
    """The same, but a rule and the reason behind it count together: either makes the other more likely to be meant."""
    found = list(worth)
    for number in range(len(sentences) - 1):
        rule, reason = (set(cues_of(sentences[at])) for at in (number, number + 1))
        if rule & _RULE_CUES and reason & _REASON_CUES and not reason & _RULE_CUES:
            both = 1 - (1 - worth[number]) * (1 - worth[number + 1])
            found[number], found[number + 1] = max(found[number], both), max(found[number + 1], both)
    return found


def _is_left(sentence: str) -> bool:
    """Whether a sentence can be no part of a fact: it was not meant, or takes words back."""
    return (not is_meant(sentence) and not is_wish(sentence)) or taken_back_by(sentence) is not None


def _approves_of_nothing(sentence: str, answer: str) -> bool:
    """Whether a sentence is content with something that neither it nor the answer before names: "yes, just like that"."""
    subject = subject_of(sentence)
    return is_approval(sentence) and len(subject) < _LEAST_APPROVED and len(subject_of(answer)) < _LEAST_APPROVED


def _spans(sentences: Sequence[str], worth: Sequence[float], seeds: Sequence[bool]) -> list[tuple[int, int]]:
    """From where to where a fact goes: seeds and what is joined to them, broken where a new subject begins."""
    spans: list[tuple[int, int]] = []
    for number, is_seed in enumerate(seeds):
        if not is_seed or (spans and number < spans[-1][1]):
            continue
        start = number
        while (
            start > (spans[-1][1] if spans else 0)
            and worth[start - 1] >= (JOINED_RULE if _RULE_CUES & set(cues_of(sentences[start - 1])) else JOINED_BEFORE)
            and not _is_new(sentences, start)
            and not _is_left(sentences[start - 1])
        ):
            start -= 1
        end = number + 1
        while (
            end < len(sentences)
            and (worth[end] >= JOINED_BEHIND or tells_how(sentences[end]) or _draws_from(sentences[end]))
            and not _is_new(sentences, end)
        ):
            end += 1
        spans.append((start, end))
    return spans


def _is_new(sentences: Sequence[str], number: int) -> bool:
    """Whether a sentence begins something else than what stands before it."""
    sentence = sentences[number]
    return (
        _is_left(sentence)
        or bool(pattern("facts", "another").match(sentence))
        or (is_wish(sentence) and is_wish(sentences[number - 1]))
    )


def tells_how(sentence: str) -> bool:
    """Whether a sentence says where the one before it applies."""
    return bool(pattern("facts", "applies").match(sentence))


def _draws_from(sentence: str) -> bool:
    """Whether a sentence says what follows from the one before it, with a date or a rule."""
    return bool(pattern("facts", "so").match(sentence)) and bool(
        {"deadline", "standing", "constraint"} & set(cues_of(sentence))
    )
