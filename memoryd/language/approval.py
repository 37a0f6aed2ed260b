"""Approval: whether a sentence is content with what was done, and which sentence of the answer it points to. Pure."""

from __future__ import annotations

from memoryd.language.cues import has_cue
from memoryd.language.lexicon import pattern
from memoryd.language.sentences import sentences_of
from memoryd.language.subjects import subject_of

LONGEST = 200

_ALL_OF_IT = 10
"""A fact with so many words that carry meaning explains itself."""
_LEAST_OF_IT = 2
"""Words of an answer that tell something: "Filed." does not."""


def context_of(fact: str, answer: str) -> str:
    """The sentence of the assistant's answer that a fact points to; empty where the fact says it all itself."""
    if not answer or not points(fact):
        return ""
    subject = subject_of(fact)
    if len(subject) > _ALL_OF_IT:
        return ""
    sentences = [one for one in sentences_of(answer) if not one.endswith("?")]
    if not sentences:
        return ""
    shared = [len(subject & subject_of(one)) for one in sentences]
    best = max(range(len(sentences)), key=lambda number: (shared[number], number))
    is_telling = len(subject_of(sentences[best])) >= _LEAST_OF_IT
    return sentences[best] if is_telling and len(sentences[best]) <= LONGEST else ""


def points(text: str) -> bool:
    """Whether a text has a word that points to something said before."""
    return pattern("approval", "points").search(text) is not None


def is_approval(sentence: str) -> bool:
    """Whether a sentence is content with what was done, and asks for nothing else."""
    return has_cue(sentence, "approve") and not any(has_cue(sentence, cue) for cue in ("negative_order", "correct"))


def points_back(text: str, answer: str) -> bool:
    """Whether a message may be about the assistant's answer before it: it says yes to it, or needs it to be understood.

    A question does not, nor do words that say all that they mean themselves.
    """
    own = [sentence for sentence in sentences_of(text) if not sentence.rstrip().endswith(("?", "？"))]  # noqa: RUF001
    if not own:
        return False
    is_answer = answer.rstrip().endswith(("?", "？"))  # noqa: RUF001
    is_cued = any(has_cue(sentence, cue) for sentence in own for cue in ("approve", "standing"))
    return is_answer or is_cued or any(map(points, own))
