"""A statement that belongs to one memory: an exception, a further scope, what became of it. Pure."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.offline.dream.slots import CLEARLY, fact_of, nearness, texts_of
from memoryd.engines.offline.dream.values import fills_the_slot_of, values_in
from memoryd.engines.offline.dream.wording import stems_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.statements import Statement

_EXTENDS = re.compile(
    r"(?i)\b(?:same goes|same applies|too|also|as well|except(?:ion|ions|ed)?|only for|for \w+ only|counts? as|needn'?t|need not|without asking|as ever|everything else|other(?:s| \w+) stays?|rest stays"
    r"|auch|ausgenommen|Ausnahme|también|excepto|salvo|aussi|sauf)\b|也要?|除外|例外|も同じ"
)
_LEAST = 2
_COVERED = 0.4
_ALIKE = 0.3


def home_of(statement: Statement, drafts: Sequence[Draft], rare: Mapping[str, float]) -> Draft | None:
    """The one memory that a statement belongs to; None where that is not certain."""
    ranked = sorted(
        ((nearness(statement, draft, rare), number) for number, draft in enumerate(drafts) if not draft.is_archived),
        reverse=True,
    )
    if not ranked:
        return None
    best = drafts[ranked[0][1]]
    own = stems_of(statement.quote)
    shared = own & _fact_stems(best)
    if len(shared) < _LEAST or len(own & stems_of(texts_of(best))) < _COVERED * len(own):
        return None
    rival = next((drafts[number] for weight, number in ranked[1:] if ranked[0][0] < CLEARLY * weight), None)
    return best if rival is None or _is_alike(best, rival) else None


def extends(statement: Statement, draft: Draft) -> bool:
    """Whether a statement adds to what a memory says: it says so, or gives a value for a part and says what stays."""
    if _EXTENDS.search(statement.quote):
        return True
    kept = {value.number for value in values_in(statement.stays)}
    return any(
        old.number in kept and fills_the_slot_of(new, old)
        for new in statement.new_values
        for old in values_in(fact_of(draft.body))
    )


def with_sentence(body: str, sentence: str) -> str:
    """The body with one more sentence at the end of its fact."""
    fact = fact_of(body)
    end = len(fact.rstrip())
    gap = "" if fact.rstrip().endswith(("。", "！", "？")) else " "
    return body[:end] + gap + sentence + body[end:]


def _fact_stems(draft: Draft) -> frozenset[str]:
    return stems_of(texts_of(draft).removesuffix(draft.body) + fact_of(draft.body))


def _is_alike(one: Draft, other: Draft) -> bool:
    """Whether two memories say nearly the same: then they will become one, and either will do."""
    stems, others = _fact_stems(one), _fact_stems(other)
    return len(stems & others) >= _ALIKE * len(stems | others)
