"""A message of the user to the facts told in it: the sentences worth keeping, with those that belong to them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.changes import LEAST_SCORE
from memoryd.engines.offline.classifier import is_joined, is_joined_before, is_reason, scores_of, worth_of
from memoryd.engines.offline.scope import differ_in_scope
from memoryd.language.approval import is_approval
from memoryd.language.certainty import is_meant
from memoryd.language.cues import has_cue
from memoryd.language.lexicon import pattern
from memoryd.language.replaced import has_change, is_exception
from memoryd.language.requests import is_request
from memoryd.language.sentences import sentences_of, without_secrets
from memoryd.language.subjects import goes_on, means_somebody, names_nothing, subject_of, word_count
from memoryd.language.taken_back import speaks_of, taken_back_by, takes_back_before
from memoryd.language.tokens import runs_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from memoryd.model import UserMessage

WRITTEN = 0.65
"""A fact that is at least as likely worth keeping is written down."""
_ALMOST_WRITTEN = WRITTEN - 0.01
"""Of what does not say whom it is about: it is written where it changes something known, and waits elsewhere."""
UNCONFIRMED = 0.35
"""One that is at least as likely waits until it is said again, or the user says yes."""
ASKED = 0.1
"""What the user asks to be remembered in so many words is written down from here on: fewer words for it have been seen than
there are things to ask for, so a model by words underrates it."""
ASKED_TO_WAIT = 0.05
"""From here on it waits to be confirmed; what is less likely is for the task at hand: "remember to push before lunch"."""
JOINED = 0.5
"""From here on a sentence belongs to the fact before it."""
JOINED_BEFORE = 0.42
"""From here on it belongs to the fact behind it; chosen by cross-validation. Without it a reason may stand without its rule."""
PART_BEFORE = 0.05
"""And it has to be as likely worth keeping by itself: what is less likely is an order that came before."""
REASON = 0.4
"""From here on a sentence that belongs to a fact is its reason."""
_NOT_MEANT = ("joke", "says", "hypothetical")
MEANT_ALL_THE_SAME = 0.8
"""From here on a sentence with a cue for a joke, hearsay or a supposition is taken for what it says."""
_LEAST_APPROVED = 3
_LEAST_WORDS = 3
_LEAST_CHARACTERS = 5
"""Of a fact; fewer say nothing that could be understood later. The second is for scripts without spaces."""


class StatedFact(NamedTuple):
    """One fact in the user's own sentences, in order."""

    sentences: tuple[str, ...]
    why: tuple[str, ...] = ()
    """Sentences that give the reason."""
    key: str = ""
    """The sentence that tells most of what is worth keeping: the title is made of it. Empty: the first."""
    likely: float = 1.0
    """How likely it is worth keeping."""
    is_last: bool = False
    """Nothing stands behind it in its message."""
    is_all: bool = False
    """Nothing else stands in its message."""
    is_taken_back: bool = False
    """A later sentence of the same message takes it back."""

    @property
    def text(self) -> str:
        return " ".join((*self.sentences, *self.why))


def facts_in(said: UserMessage) -> list[StatedFact]:
    """The facts of a message that may be worth keeping."""
    sentences = own_sentences(said)
    if not sentences:
        return []
    likely = _likely(sentences, said.answer, said.reply)
    seeds = [
        likely[number] >= _least(sentence) and _tells_something(sentence) for number, sentence in enumerate(sentences)
    ]
    named = _named_back(sentences)
    spans = [
        span for span in _spans(sentences, seeds, likely, named) if _stands_alone(sentences[slice(*span)], said.answer)
    ]
    gone = {*_taken_back(sentences, spans), *((number, number + 1) for number in named)}
    return [
        _fact(sentences, span, likely, max(likely[at] for at in range(*span) if seeds[at]), is_gone=span in gone)
        for span in spans
    ]


def told_beside(said: UserMessage, facts: Sequence[StatedFact]) -> list[StatedFact]:
    """What a message tells beside its facts: it may say that something known holds otherwise now, as "got it back tuesday"."""
    sentences = own_sentences(said)
    told = {sentence for fact in facts for sentence in (*fact.sentences, *fact.why)}
    return [
        StatedFact((sentence,), key=sentence, likely=0.0)
        for sentence, scores in zip(sentences, scores_of(sentences, said.answer, said.reply), strict=True)
        if scores.changes >= LEAST_SCORE
        and sentence not in told
        and _tells_something(sentence)
        and not _is_told_by_others(sentence)
    ]


def _likely(sentences: tuple[str, ...], answer: str, reply: str) -> list[float]:
    """How likely each sentence is worth keeping. Of what is asked for in so many words the reply tells nothing more."""
    asked = [is_request(sentence) for sentence in sentences]
    likely = worth_of(sentences, answer, reply)
    unanswered = worth_of(sentences, answer, "") if any(asked) else likely
    return [
        _of_request(max(value, other)) if is_asked else value
        for value, other, is_asked in zip(likely, unanswered, asked, strict=True)
    ]


def _tells_something(sentence: str) -> bool:
    """Whether a sentence is meant, announces nothing that was pasted below it, and takes nothing back."""
    return (
        is_meant(sentence)
        and not sentence.endswith((":", "："))  # noqa: RUF001
        and taken_back_by(sentence) is None
        and not takes_back_before(sentence)
    )


def _of_request(likely: float) -> float:
    """How likely an explicit request is meant for later, where the model says so much of its words."""
    return max(likely, WRITTEN if likely >= ASKED else UNCONFIRMED if likely >= ASKED_TO_WAIT else 0.0)


def _least(sentence: str) -> float:
    """How likely a sentence has to be worth keeping to be looked at. Nobody is asked whether a joke or hearsay is meant."""
    return MEANT_ALL_THE_SAME if _is_told_by_others(sentence) else UNCONFIRMED


def _is_told_by_others(sentence: str) -> bool:
    """Whether it sounds like a joke, hearsay or a supposition."""
    return any(has_cue(sentence, cue) for cue in _NOT_MEANT)


def own_sentences(said: UserMessage) -> tuple[str, ...]:
    """The sentences of a message up to where words are dictated for somebody else, without secrets."""
    return _own_sentences(said.text)


@lru_cache(maxsize=16)  # each step over a message asks
def _own_sentences(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for sentence in filter(None, map(without_secrets, sentences_of(text))):
        if pattern("facts", "dictates").search(sentence):
            break
        found.append(sentence)
    return tuple(found)


def _fact(
    sentences: Sequence[str], span: tuple[int, int], likely: Sequence[float], best: float, *, is_gone: bool
) -> StatedFact:
    """`likely` is how likely each sentence is worth keeping, `best` that of the best one that is meant.

    The key is the sentence that tells most of what is worth keeping: "same for every command" may be sure, and tells little.
    """
    told: list[int] = []
    why: list[int] = []
    for number in range(*span):
        is_why = bool(told) and is_reason(sentences[told[-1]], sentences[number]) >= REASON
        (why if is_why else told).append(number)
    if means_somebody(sentences[told[0]]):
        best = min(best, _ALMOST_WRITTEN)
    key = max(told, key=lambda number: (likely[number] * word_count(sentences[number]), -number))
    is_last = span[1] == len(sentences)
    return StatedFact(
        tuple(sentences[number] for number in told),
        tuple(sentences[number] for number in why),
        sentences[key],
        best,
        is_last,
        is_last and span[0] == 0,
        is_gone,
    )


def _spans(
    sentences: Sequence[str], seeds: Sequence[bool], likely: Sequence[float], apart: AbstractSet[int]
) -> list[tuple[int, int]]:
    """From where to where a fact goes: a seed, and the neighbours that belong to it or that it needs.

    Sentences that stand `apart` are joined to nothing. One that goes on with the one before it needs that.
    """
    spans: list[tuple[int, int]] = []
    for number, is_seed in enumerate(seeds):
        if not is_seed or (spans and number < spans[-1][1]):
            continue
        start, end = number, number + 1
        while (
            start > (spans[-1][1] if spans else 0)
            and not {start - 1, start} & apart
            and not (seeds[start - 1] and differ_in_scope(sentences[start - 1], sentences[start]))
            and (
                goes_on(sentences[start])
                or means_somebody(sentences[start])
                or (
                    likely[start - 1] >= PART_BEFORE
                    and _are_one_fact(sentences[start - 1], sentences[start], is_joined_before, JOINED_BEFORE)
                )
            )
        ):
            start -= 1
        while (
            end < len(sentences)
            and not {end - 1, end} & apart
            and not (seeds[end] and differ_in_scope(sentences[end - 1], sentences[end]))
            and _are_one_fact(sentences[end - 1], sentences[end], is_joined, JOINED)
        ):
            end += 1
        spans.append((start, end))
    return spans


def _are_one_fact(first: str, second: str, likely: Callable[[str, str], float], least: float) -> bool:
    """Whether two neighbours belong together; `likely` judges by their words, and has to reach `least`."""
    if (
        not (_says_something(first) or has_change(first))
        or not is_meant(first)
        or not is_meant(second)
        or taken_back_by(first) is not None
        or taken_back_by(second) is not None
        or takes_back_before(second)
    ):
        return False
    return names_nothing(second) or is_exception(second) or likely(first, second) >= least


def _stands_alone(sentences: Sequence[str], answer: str) -> bool:
    """Whether words can be understood without what was said around them: they are enough, and name what they are about.

    An approval may name it by the answer that it approves of.
    """
    if not _says_something(" ".join(sentences)) or names_nothing(sentences[0]):
        return False
    named = max(len(subject_of(" ".join(sentences))), len(subject_of(answer)))
    return named >= _LEAST_APPROVED or not all(map(is_approval, sentences))


def _says_something(text: str) -> bool:
    return len(text.split()) >= _LEAST_WORDS or (bool(runs_in(text)) and len(text) >= _LEAST_CHARACTERS)


def _named_back(sentences: Sequence[str]) -> set[int]:
    """The sentences that a later one of the same message takes back by name: each names exactly one."""
    found: set[int] = set()
    for number, sentence in enumerate(sentences):
        take_back = taken_back_by(sentence)
        if take_back is not None and take_back.named:
            meant = [before for before in range(number) if speaks_of(sentences[before], take_back.named)]
            found.update(meant if len(meant) == 1 else ())
    return found


def _taken_back(sentences: Sequence[str], spans: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """The facts that a later sentence of the same message takes back without a name: those right before it."""
    gone: set[tuple[int, int]] = set()
    for number, sentence in enumerate(sentences):
        take_back = taken_back_by(sentence)
        if take_back is not None and not take_back.named:
            gone.update([span for span in spans if span[1] <= number][-1:])
        elif takes_back_before(sentence):
            gone.update(span for span in spans if span[1] == number)
    return gone
