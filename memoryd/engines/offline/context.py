"""What a sentence points to: "do that every time" says little without what the assistant had done. Pure."""

from __future__ import annotations

import re

from memoryd.engines.offline.features import cues_of
from memoryd.engines.offline.sentences import sentences_of
from memoryd.engines.offline.subjects import subject_of

LONGEST = 200

_POINTS = re.compile(
    r"(?i)\b(?:that|this|those|these|it|them|like (?:that|this)|same|so weiter|das|diese[nrs]?|so|eso|esto|esos|así|ça|cela|ceux|celles|comme ça)\b"
    r"|这样|那样|这个|那个|它|これ|それ|その|こう|そう"
)
_ALL_OF_IT = 10
"""A fact with so many words that carry meaning explains itself."""


def context_of(fact: str, answer: str) -> str:
    """The sentence of the assistant's answer that a fact points to; empty where the fact says it all itself."""
    if not answer or not _POINTS.search(fact):
        return ""
    subject = subject_of(fact)
    if len(subject) > _ALL_OF_IT:
        return ""
    sentences = [one for one in sentences_of(answer) if not one.endswith("?")]
    if not sentences:
        return ""
    shared = [len(subject & subject_of(one)) for one in sentences]
    best = max(range(len(sentences)), key=lambda number: (shared[number], number))
    return sentences[best] if len(sentences[best]) <= LONGEST else ""


def is_approval(sentence: str) -> bool:
    """Whether a sentence is content with what was done, and asks for nothing else."""
    cues = cues_of(sentence)
    return "approve" in cues and not {"negative_order", "correct"} & set(cues)
