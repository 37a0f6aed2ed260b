"""Make memoryd/recall/common.txt, the words that prompts are full of, from training/sessions; `training.ranking` does."""

from __future__ import annotations

import math
from collections import Counter

from memoryd.recall.concepts import terms_with_concepts
from memoryd.recall.terms import CONCEPT
from training.labels import sessions_in

_TELLING = 6.0
"""A word that is rarer among prompts than one in e to this power keeps its whole weight."""


def common_terms() -> str:
    """Each word and concept that many prompts have, with what is left of its weight."""
    seen: Counter[str] = Counter()
    prompts = 0
    for session in sessions_in("sessions"):
        for turn in session["turns"]:
            prompts += 1
            found = terms_with_concepts(turn["user"])
            seen.update(found.keys())
            seen.update({CONCEPT + number for numbers in found.values() for number in numbers})
    left = {term: math.log(prompts / (number + 1)) / _TELLING for term, number in seen.items()}
    return "".join(f"{term}\t{share:.2f}\n" for term, share in sorted(left.items()) if share < 1)
