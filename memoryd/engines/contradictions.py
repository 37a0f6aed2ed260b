"""Whether words of the user say otherwise than a statement does, and what they put in its place. Pure.

Words that only speak of the same thing explain nothing: a new value has to stand where the old one stood, or it has to be
said that something is over. What a quote does not touch has to stay as it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.certainty import is_in_other_units, is_meant, is_narrower, is_of_another, is_one_of_its_kind
from memoryd.engines.losses import clauses_of, turned
from memoryd.engines.offline.features import cues_of
from memoryd.engines.offline.subjects import takes_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.engines.statements import Statement

_LEAST_SHARED = 2
_LEAST_SHARED_PAIRS = 2
_ABBREVIATED = 3
SAYS_NO_MORE = re.compile(
    r"(?i)\b(?:no longer|no more|any ?more|too (?:much|many|few|little|long|short|slow|fast|high|low|late|early)|instead|rather than|nicht mehr|kein\w* mehr|statt|stattdessen|ya no|en vez de|ne \w+ plus|n'\w+ plus"
    r"|plus l[ea]s?|au lieu)\b|不再|太[多少慢快长短高低早晚]|改成|改为|换成|ではなく|なくなり"
)
_SAYS_ENDED = re.compile(
    r"(?i)\b(?:(?:is|are) (?:out|over|gone|off)|gone for good|retired|removed|deleted|dropped?|stopped|ended|finished|cancel+ed|replaced|obsolete"
    r"|wrong|nonsense|a mistake|vorbei|abgeschafft|gestrichen|falsch|se acabó|jubilad[oa]|fini|supprim\w+)\b|取消|作废|离职|错了|廃止|やめ"
)
"""Where the clause does not say that it is not so."""


def ending(quote: Statement, old: Statement) -> dict[str, str] | None:
    """Nothing in place of a statement that is gone as a whole, where a quote says that just this is over; None else."""
    shared = len(old.subject & quote.subject)
    if not is_meant(quote.text) or is_of_another(quote, old):
        return None
    is_about = shared and (shared * 2 >= len(old.subject) or shared * 2 >= len(quote.subject))
    return {} if is_about and _says_over(quote, old) else None


def contradiction(
    quote: Statement, old: Statement, new: Statement, others: Sequence[Statement]
) -> dict[str, str] | None:
    """The values that a quote puts in the place of others; None where it does not explain all that is gone.

    `others` are statements whose values the quote may speak of instead.
    """
    if not is_meant(quote.text) or is_of_another(quote, old, others) or is_narrower(quote, old, new, others):
        return None
    if is_in_other_units(quote, new) or is_one_of_its_kind(old):
        return None
    taken = [one for one in new.values if one in quote.forms and new.values.count(one) > old.values.count(one)]
    if not _is_about(quote, old) and not any(quote.around(one) & old.stems for one in taken):
        return None
    is_over = _says_over(quote, old)
    words = {one for one in new.words if one in quote.stems and one not in old.stems}
    if not (taken or words or is_over):
        return None
    found: dict[str, str] = {}
    for clause in clauses_of(old):
        missing = [one for one in clause.values if one not in new.forms]
        is_touched = not clause.words or _touches(quote, clause)
        if (clause.words - new.stems - quote.stems or missing) and not is_touched:
            return None
        for value in missing:
            free = (one for one in taken if one not in found.values())
            found[value] = next((one for one in free if _replaces(one, value, quote, old, new, others)), "")
            if not found[value] and not _is_gone(value, quote, is_said_anew=bool(words)):
                return None
    if turned(old, new) and not (is_over or any(one.turns and one.stems & old.stems for one in clauses_of(quote))):
        return None
    return {value: instead for value, instead in found.items() if instead}


def _says_over(quote: Statement, old: Statement) -> bool:
    """Whether a clause of the quote says that something is over which the statement speaks of."""
    return any(
        one.stems & old.stems
        and (
            SAYS_NO_MORE.search(one.text)
            or (_SAYS_ENDED.search(one.text) and not one.turns)
            or "moved" in cues_of(one.text)
            or takes_back(one.text)[0]
        )
        for one in clauses_of(quote)
    )


def _is_gone(value: str, quote: Statement, *, is_said_anew: bool) -> bool:
    """Whether a quote names a value as one that no longer holds."""
    if not value[:1].isdigit() and value in quote.forms and is_said_anew:
        return True
    return any(
        value in one.forms
        and (
            SAYS_NO_MORE.search(one.text)
            or "moved" in cues_of(one.text)
            or any(kind == "not" and value in about for kind, about in one.turns)
        )
        for one in clauses_of(quote)
    )


def _is_about(quote: Statement, old: Statement) -> bool:
    """Whether a quote speaks of a statement: not just of something that is named there as well."""
    shared = len(old.subject & quote.subject)
    is_cjk = any(one[:1] > "\u3000" for one in old.words)
    return bool(shared) and (
        shared >= (_LEAST_SHARED_PAIRS if is_cjk else _LEAST_SHARED)
        or shared * 2 >= len(quote.words)
        or shared * 3 >= len(old.words)
    )


def _replaces(
    instead: str, value: str, quote: Statement, old: Statement, new: Statement, others: Sequence[Statement]
) -> bool:
    """Whether a value took the place of another, and it is this one that the quote speaks of."""
    is_number = value[:1].isdigit()
    if is_number != instead[:1].isdigit() or not old.around(value) & new.around(instead):
        return False
    if is_number and _overlap(value, old, value, quote) and not _is_gone(value, quote, is_said_anew=False):
        return False  # the quote says it as well
    here = _nearness(value, old, instead, quote)
    return all(
        here >= _nearness(one, other, instead, quote)
        for other in (old, *(others if is_number else ()))
        for one in other.values
        if one[:1].isdigit() == is_number and one != value and one not in quote.values
        if other is not old or one in new.forms
    )


def _nearness(value: str, old: Statement, instead: str, quote: Statement) -> int:
    """How much of what stands around a value stands around the other; what stands on the same side of both counts more."""
    return len(old.around(value) & quote.around(instead)) + 2 * _overlap(value, old, instead, quote)


def _overlap(value: str, old: Statement, instead: str, quote: Statement) -> int:
    """On how many sides the same stands beside two values."""
    return sum(
        bool(own) and own == one
        for pair in old.beside(value)
        for other in quote.beside(instead)
        for own, one in zip(pair, other, strict=True)
    )


def _touches(quote: Statement, clause: Statement) -> bool:
    """Whether a quote has a word of a clause, or its beginning: `ext` for `extension`."""
    return bool(clause.stems & quote.stems) or any(
        own.startswith(one) or one.startswith(own)
        for own in clause.subject
        for one in quote.subject
        if min(len(own), len(one)) >= _ABBREVIATED
    )
