"""A statement that something is over: what a memory said becomes what once was, and nothing of it is lost. Pure."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.compose import description_of, without_opening
from memoryd.engines.offline.date_words import LANGUAGES
from memoryd.engines.offline.dream.slots import is_about_another
from memoryd.engines.offline.dream.statements import CHANGES
from memoryd.engines.offline.dream.wording import clauses_of, fact_of, statements_of, stems_of, texts_of
from memoryd.engines.offline.features import cues_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.statements import Statement

_OVER = re.compile(
    r"(?i)\b(?:is|are) (?:out(?! of)|over|gone|obsolete|history|abolished|lifted)\b|\bno (?:longer|more)\b|\bany ?more\b|\b(?:open|running|working|available|in service|allowed|back) again\b"
    r"|\b(?:nicht mehr|ist (?:raus|vorbei|weg|aufgehoben)|wieder (?:offen|auf|da)|ya no|se acabó|n'est plus|ne \w+ plus|c'est fini|de nouveau ouvert)\b|不再|取消了|恢复了|废止|廃止|再開|なくなりました"
)
_ABOUT_OVER = frozenset(
    {
        "open",
        "gone",
        "over",
        "out",
        "again",
        "back",
        "available",
        "run",
        "work",
        "obsolet",
        "allow",
        "servic",
        "expect",
        "forget",
        "ditch",
        "drop",
        "rid",
        "bye",
    }
)
_GIVEN_UP = re.compile(r"(?i)\b(?:forget|ditched|dropped|got rid of|bye) (?!it\b|that\b|this\b|about\b)\w+")
_INSTEAD = re.compile(
    r"(?i)\b(?:we(?:['’]re| are| use| run| have)|it(?:['’]s| is)|(?:everything|all of it) is)\b[^,;.]{1,40}\b(?:now|instead)\b"
    r"|\b(?:wir (?:nehmen|nutzen|verwenden)|es ist)\b[^,;.]{0,20}\bjetzt\b|\b(?:stattdessen|ahora usamos|maintenant on utilise)\b"
)
"""What there is in its place. "Restart it now" tells nothing of that."""
_NEGATED = re.compile(
    r"(?i)(?:\b(?:no|not|without|cannot|kein\w*|nicht|ohne|sin|pas|sans)\b|n['’]t\b)(?P<what>(?:\s+[^\s.,;:]+){1,3})"
)
_HAS = re.compile(
    r"(?i)\b(?:has|have|got|is|are|can|may|works?|supports?|accepts?|hat|haben|ist|sind|kann|tiene|está|puede|est|peut)\b(?! to\b)(?!['’]?ll)"
)
_ORDERED = re.compile(r"(?i)\b(?:have to|need to|must|let's|going to|please|want)\b")
_COVERED = 0.75
_PAST = {"is": "was", "are": "were", "has": "had", "Is": "Was", "Are": "Were"}
_SINCE = {
    "en": "Since {}: ",
    "de": "Seit {}: ",
    "es": "Desde {}: ",
    "fr": "Depuis {} : ",
    "zh": "{} 起：",
    "ja": "{}から：",
}
_UNTIL = {
    "en": "(Until then: {})",
    "de": "(Bis dahin: {})",
    "es": "(Hasta entonces: {})",
    "fr": "(Jusque-là : {})",
    "zh": "（此前：{}）",
    "ja": "（それまで：{}）",
}
_CODES = ("en", "de", "es", "fr", "zh", "ja")


_JUST_NOW = re.compile(r"(?i),? (?:since )?(?:this (?:morning|afternoon|evening)|earlier today)\b")


class Contradiction(NamedTuple):
    """The parts of a memory's fact that no longer hold."""

    parts: tuple[str, ...]
    is_in_description: bool
    """The description says it as well."""


def contradiction_in(statement: Statement, draft: Draft, rare: Mapping[str, float]) -> Contradiction | None:
    """What a statement says is over in a memory; None where it does not say so for certain."""
    if is_about_another(statement, draft):
        return None
    parts = statements_of(fact_of(draft.body))
    most = max(rare.values(), default=1.0)
    there = stems_of(texts_of(draft))
    found = []
    is_there = False
    for start, end in clauses_of(statement.quote):
        clause = statement.quote[start:end]
        subject = stems_of(clause) - _ABOUT_OVER
        is_given_up = bool(_GIVEN_UP.search(clause))
        if subject and not (is_given_up or _OVER.search(clause)):
            found += [part for part in parts if _is_turned(clause, subject, part)]
            is_there = is_there or _is_turned(clause, subject, draft.description)
            continue
        if not subject:
            continue
        if len(subject) == 1 and not any(rare.get(stem, 0.0) >= most for stem in subject):
            continue
        # "We're on the new one now, the old one is gone": the new one is not known yet.
        is_replaced = len(subject) == 1 and bool(_INSTEAD.search(statement.quote))
        is_about_it = len(stems_of(statement.quote) & there) >= min(2, len(stems_of(statement.quote)))
        if not (is_replaced or (is_about_it and not is_given_up)):
            continue
        found += [part for part in parts if len(subject & stems_of(part)) >= _COVERED * len(subject)]
        is_there = is_there or len(subject & stems_of(draft.description)) >= _COVERED * len(subject)
    return Contradiction(tuple(dict.fromkeys(found)), is_there) if found else None


def _is_turned(clause: str, subject: frozenset[str], part: str) -> bool:
    """Whether a clause says that there is now what a part says there is not, or the other way round."""
    if not (subject <= stems_of(part) and _HAS.search(clause) and CHANGES.search(clause)) or _ORDERED.search(clause):
        return False
    denied, there = _denied_in(clause) & subject, _denied_in(part) & subject
    return len(subject) > 1 and denied != there and not (denied and there)


def _denied_in(text: str) -> frozenset[str]:
    return frozenset(stem for match in _NEGATED.finditer(text) for stem in stems_of(match["what"]))


def belongs_to(other: Statement, statement: Statement, draft: Draft) -> bool:
    """Whether another sentence of the message goes with the one that says what is over."""
    about = stems_of(statement.quote) | stems_of(texts_of(draft))
    return bool(stems_of(other.quote) & about) and "then_task" not in cues_of(other.quote)


def says_it_is_over(text: str) -> bool:
    return bool(_OVER.search(text))


def language_of(text: str) -> str:
    """The code of the language that a text is most likely in."""
    if re.search(r"[\u3040-\u30ff]", text):
        return "ja"
    if re.search(r"[\u4e00-\u9fff]", text):
        return "zh"
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = [sum(word in one.common.split() for word in words) for one in LANGUAGES if one.spaced]
    return _CODES[counts.index(max(counts))]


def since(statement: Statement, told: str) -> str:
    """What holds from that day on."""
    if re.search(r"\d{4}-\d\d-\d\d|\d{4}年", told):
        return told
    told = _JUST_NOW.sub("", told)
    if told[:1].lower() + told[1:2] == without_opening(statement.quote)[:2]:
        told = told[:1].lower() + told[1:]  # as it was said: behind a colon no sentence begins
    return _SINCE[language_of(told)].format(statement.day.isoformat()) + told


def with_former(draft: Draft, change: Contradiction, told: Sequence[Statement]) -> tuple[str, str]:
    """Body and description: the news first, then what held until then, then the rest as it was."""
    fact = fact_of(draft.body)
    news = since(told[0], " ".join(one.told for one in told))
    language = language_of(news)
    rest = fact
    for part in change.parts:
        once = part.strip().rstrip(";；").rstrip()
        if language == "en":
            once = re.sub(r"\b(?:is|are|has|Is|Are)\b", lambda match: _PAST[match[0]], once)
        once = once if once.endswith((".", "。")) else once + "."
        rest = rest.replace(part, _UNTIL[language].format(once), 1)
    gap = "" if language in ("zh", "ja") else " "
    body = news + gap + rest.strip() + draft.body[len(fact.rstrip()) :]
    lead = fact[: len(fact) - len(fact.lstrip())]
    return lead + body, description_of(news, "") if change.is_in_description else draft.description
