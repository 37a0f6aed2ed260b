"""Lasting statements: whether a sentence may hold beyond the task at hand, if it is said more than once. Pure.

Looser than an engine, which has to decide by one message: who says the same in several sessions means more than one task.
"""

from __future__ import annotations

import re

from memoryd.language.approval import is_approval
from memoryd.language.certainty import is_meant
from memoryd.language.cues import cues_of
from memoryd.language.lexicon import pattern

_CLAUSE_END = re.compile(r"[,;:，；]")  # noqa: RUF001
_PASSING = frozenset({"question", "then_task", "status", "bug", "thanks", "hedge", "hypothetical", "joke"})
_LASTING = frozenset({"standing", "remember", "prefer", "when_you", "i_am", "constraint"})

_OWN = ("order", "then_task", "thanks", "status", "bug", "constraint", "i_am", "remember", "when_you", "prefer")


def may_last(sentence: str) -> bool:
    if not is_meant(sentence):
        return False
    cues = {*cues_of(sentence), *(name for name in _OWN if pattern("lasting", name).search(sentence))}
    if cues & _LASTING and "question" not in cues:
        return True
    left = pattern("lasting", "not_pointing").sub(" ", _CLAUSE_END.split(sentence)[0])  # behind it stands the reason
    if cues & _PASSING or is_approval(sentence) or pattern("lasting", "pointing").search(left):
        return False
    is_general = bool(pattern("lasting", "general").search(sentence))
    return is_general or "order" not in cues or bool(pattern("lasting", "manner").search(sentence))
