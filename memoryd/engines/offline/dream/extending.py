"""A statement that belongs to one memory: an exception, a further scope, what became of it. Pure."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.offline.dream.alike import how_often, likeness, look_at
from memoryd.engines.offline.dream.fitting import is_listed_with
from memoryd.engines.offline.dream.former import says_it_is_over
from memoryd.engines.offline.dream.slots import CLEARLY, is_about_another, nearness
from memoryd.engines.offline.dream.values import fills_the_slot_of, is_certain_slot, values_in
from memoryd.engines.offline.dream.wording import clauses_of, fact_of, stems_of, texts_of
from memoryd.engines.offline.features import cues_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.statements import Statement

_EXTENDS = re.compile(
    r"(?i)\b(?:same goes|same applies|too|also|as well|except(?:ion|ions|ed)?|only for|for \w+ only|counts? as|needn'?t|need not|without asking|as ever|everything else|other(?:s| \w+) stays?|rest stays"
    r"|auch|ausgenommen|Ausnahme|también|excepto|salvo|aussi|sauf)\b|也要?|除外|例外|も同じ"
)
_STRONGLY = re.compile(
    r"(?i)\b(?:(?:the )?same (?:goes|applies)|(?:is|are) the exceptions?|except(?:ion)? (?:for|of)|all \w+ except|counts? as|(?:is|are|that's) fine|needn'?t|need not|(?:do|does)(?:n['’]t| not) (?:need|have to)|no need (?:for|to)|only for \w+|fyi"
    r"|gilt auch|ausgenommen|vale también|autorisée?s? aussi|vaut aussi)\b|也要|除外|例外は|も同じ"
)
"""Said so, it is meant to be added to what is known, even where it would not be worth a memory of its own."""
_ALSO = re.compile(
    r"(?i)\b(?:(?:too|as well|also)(?= (?:now|since|from)\b|[.,;]|$)|(?:now|are|is|can) also|auch jetzt|jetzt auch|ahora también|maintenant aussi)\b|现在也"
)
"""One more, and the one that is known as well."""
_THIS_ONE = re.compile(
    r"(?i)\b(?:this|that) (?:one|time|\w+)\b|\b(?:it|here|today|now|yet|dies\w*|diesmal|hier|heute|est[ea]|hoy|cette|ici)\b|这|今回"
)
"""What is said of one case adds nothing to a rule."""
_TELLS = re.compile(r"(?i)\b(?:is|are|was|were|has|have|had|got)\b")
_DID = re.compile(
    r"(?i)\b(?:i|we|you) (?:\w+ )?(?:moved|renamed|changed|fixed|added|removed|deleted|updated|made|put|wrote)\b"
)
_TASK = frozenset({"question", "hedge", "thanks", "status", "then_task"})
_LEAST = 2
_COVERED = 1 / 3


def home_of(statement: Statement, drafts: Sequence[Draft], rare: Mapping[str, float]) -> Draft | None:
    """The one memory that a statement belongs to; None where that is not certain."""
    ranked = sorted(
        ((nearness(statement, draft, rare), number) for number, draft in enumerate(drafts) if not draft.is_archived),
        reverse=True,
    )
    if not ranked:
        return None
    best = drafts[ranked[0][1]]
    parts = [draft for draft in drafts if is_for_a_part(statement, draft)]
    if len(parts) == 1:
        return parts[0]
    if is_about_another(statement, best) and not _ALSO.search(statement.quote):
        return None
    own = stems_of(statement.quote)
    shared = own & _fact_stems(best)
    if own and [draft for draft in drafts if own <= _fact_stems(draft)] == [best]:
        return best
    if len(shared) < _LEAST or len(own & stems_of(texts_of(best))) < _COVERED * len(own):
        return None
    rival = next((drafts[number] for weight, number in ranked[1:] if ranked[0][0] < CLEARLY * weight), None)
    return best if rival is None or _are_one(best, rival, drafts) else None


def is_addition(statement: Statement, draft: Draft) -> bool:
    """Whether a statement is meant as an addition by its own words, or says what became of a thing it is clearly about."""
    cues = _TASK & set(cues_of(statement.quote))
    if cues <= {"status"} and _ALSO.search(statement.quote) and statement.says_it_changed:
        return True  # "gate 3 works too now" is how it is, and not only what was done
    if cues:
        return False
    if strongly := _STRONGLY.search(statement.quote):
        return "need" not in strongly[0] or not _THIS_ONE.search(statement.quote)
    first = statement.quote[slice(*clauses_of(statement.quote)[0])]
    is_about_it = len(stems_of(statement.quote) & _fact_stems(draft)) > _LEAST
    return is_about_it and says_it_is_over(statement.quote) and bool(_TELLS.search(first)) and not _DID.search(first)


def extends(statement: Statement, draft: Draft) -> bool:
    """Whether a statement adds to what a memory says: it says so, or gives a value for a part and says what stays."""
    is_only_when = (
        draft.type == "project"
        and any(value.kind == "date" for value in statement.new_values)
        and stems_of(statement.quote) <= _fact_stems(draft)
    )
    return is_only_when or bool(_EXTENDS.search(statement.quote)) or adds_a_value(statement, draft)


def adds_a_value(statement: Statement, draft: Draft) -> bool:
    """Whether a statement has one more value for what a memory lists, or another one for a part of it."""
    known = values_in(fact_of(draft.body))
    numbers = {(one.kind, one.number) for one in known}
    return is_for_a_part(statement, draft) or any(
        old.kind == new.kind and is_listed_with(new, old, statement)
        for new in statement.new_values
        if (new.kind, new.number) not in numbers
        for old in known
    )


def is_for_a_part(statement: Statement, draft: Draft) -> bool:
    """Whether a statement gives another value for a part, and says that the memory's value stays for the rest."""
    kept = {value.number for value in values_in(statement.stays)}
    return any(
        old.number in kept and fills_the_slot_of(new, old) and is_certain_slot(new, old)
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


def _are_one(one: Draft, other: Draft, drafts: Sequence[Draft]) -> bool:
    """Whether two memories say the same in other words: then they will become one, and either will do."""
    often = how_often([look_at(draft) for draft in drafts])
    return likeness(look_at(one), look_at(other), often) > 0
