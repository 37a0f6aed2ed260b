"""What is worth a memory of its own, by the rules of extraction; lines of daily logs were already chosen by somebody."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from memoryd.engines.offline import find
from memoryd.engines.offline.compose import description_of, finding_of, name_of
from memoryd.engines.offline.dates import day_of, with_absolute_dates
from memoryd.engines.offline.dream.dating import settled
from memoryd.engines.offline.dream.draft import Draft
from memoryd.engines.offline.dream.statements import dated, is_all_staying, is_meant, statements_in
from memoryd.engines.offline.dream.values import values_in
from memoryd.engines.offline.dream.wording import clauses_of, fact_of, stems_of, texts_of
from memoryd.engines.offline.features import cues_of
from memoryd.engines.offline.judge import type_of
from memoryd.engines.offline.known import is_instructed, paragraphs_of
from memoryd.engines.offline.lexicon import pattern
from memoryd.engines.offline.sentences import sentences_of
from memoryd.engines.offline.told import Told
from memoryd.model import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Said

LOGS = "logs/"
"""How the sessions of log lines are called."""
_LOGGED = frozenset(
    {
        "constraint",
        "negative_order",
        "standing",
        "remember",
        "moved",
        "deadline",
        "owner",
        "product",
        "approve",
        "where",
    }
    | {"reason", "prefer", "says", "correct"}
)
_TASK = frozenset({"question", "hedge", "joke", "hypothetical", "then_task", "thanks"})
_SAID_ALREADY = 0.75
_LEAST = 2
_POINTS_BACK = re.compile(
    r"(?i)^(?:(?:and|but|so|also|remember(?: that)?)\s+)*(?:they|it|he|she|his|her|their|those|these|that one|this one|es|sie|ellos|ils|elles)\b|\b(?:for|of|to|with|from) (?:them|it|him|that|those)\b|\bthem all\b"
)
_ANYBODY = re.compile(r"(?i)they (?!(?:are|were|have|had|do)\b)\w+ (?:the|our|us)\b")
"""At the beginning of a message: whoever decides such things, and nobody who was named before."""
_GOES_ON = re.compile(
    r"(?i)^(?:they|it|he|she|those|these|which|à partir de maintenant donc|sie|ellos|ils|elles)\b(?! (?:is|was|looks?) (?:fine|good|great))"
)
_HOUSEKEEPING = re.compile(
    r"(?i)\bmemory (?:folder|directory|files?)\b|\b(?:i|we) (?:\w+ )?(?:deleted|removed|threw away|moved|put|dropped)\b.{0,40}\b(?:notes?|files?|sheets?|list|them)\b"
    r"|\bnotes? here\b|\b(?:file|note|sheet)s? (?:that|which) (?:does|do)(?:es)? not exist\b|\byou (?:keep|still) (?:opening|list|look)"
)
"""About the notes themselves, not about what they are for."""
_ONLY_THIS = re.compile(
    r"(?i)\b(?:turn|rename|move|make|change|fix|sort|format|split|convert) (?:this|the)\b|\bthis (?:loop|file|function|test|page|query|script|line)\b"
)
_SINCE_WHEN = re.compile(
    r"(?i)\bsince (?:noon|midnight|this|the (?:day|week|weekend|month|morning)|today|yesterday|tonight|then|last|\w+day)\b"
)
_FORBIDS = re.compile(
    r"(?i)^(?!(?:ich|wir|er|sie|es|das)\b)[^,.;]{0,60}\b(?:nie|niemals)\b[^,.;]{1,60}\w(?:en|ern|eln)\s*(?=[,;])|^[^，。]{0,12}(?:千万(?:别|不要|不能)|切勿|绝(?:对)?不(?:能|要|可))[^，。]{2,40}，"
)
"""A rule without a subject, with its reason behind it."""
_MISREAD_FIRST = re.compile(
    r"(?i)^(?:i )?(?:(?:mis)?read (?:it|that) wrong|misread(?: it| that)?|my mistake|correction)[,:;.]\s*"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{4}年\d{1,2}月\d{1,2}日")
_SOMEBODY = re.compile(r"[A-ZÀ-Þ][^\s:]{1,30}(?: [A-ZÀ-Þ][^\s:]{1,30}){0,2}: ")
_BEGINS = re.compile(r"(?i)\b(?:since|from|as of|starting|seit|ab|desde|depuis|dès|à partir)\b|起|から")


def findings_in(said: Sequence[Said], instructions: Sequence[str], now: float) -> dict[str, list[Finding]]:
    """What each message tells that is worth keeping, by the id of the message."""
    found: dict[str, list[Finding]] = {}
    for one in find(said, instructions=instructions):
        if isinstance(one, Finding):
            found.setdefault(one.evidence.message_id, []).append(one)
    paragraphs = paragraphs_of(instructions)
    today = (day_of(now) or date.min).isoformat()
    for message in said:
        if message.message_id not in found:
            made = _logged(message) if message.session_id.startswith(LOGS) else _stated(message, today)
            if made is not None and not is_instructed(made.body, paragraphs):
                found[message.message_id] = [made]
    return found


def _stated(said: Said, today: str) -> Finding | None:
    """What a message tells that is worth keeping although it is said plainly: a day ahead, or what follows from a fact."""
    statements = statements_in(said)
    for number, one in enumerate(statements):
        cues = set(cues_of(one.quote))
        if cues & _TASK or _ONLY_THIS.search(one.quote):
            continue
        is_task = bool(cues & {"order", "plan"}) and "constraint" not in cues
        if any(value.kind == "date" and value.number > today for value in one.new_values) and not is_task:
            return finding_of(said, Told((one.quote,), "project"))
        if _FORBIDS.search(one.quote):
            return finding_of(said, Told((one.quote,), "feedback"))
        if number and cues & {"constraint", "negative_order"} and pattern("so").match(one.quote):
            return finding_of(said, Told((statements[number - 1].quote, one.quote), "project"))
    return None


def _logged(said: Said) -> Finding | None:
    """What a line of a log tells; None where it tells only what was done, or what was not meant."""
    sentences = [one for one in sentences_of(said.text) if is_meant(one)]
    cues = {cue for one in sentences for cue in cues_of(one)}
    if not cues & _LOGGED or ("status" in cues and cues & _LOGGED == {"product"}):
        return None
    kind = type_of(sentences)
    if kind == "user" and _SOMEBODY.match(said.text):
        kind = "project"  # somebody else speaks: that is nothing about the user
    return finding_of(said, Told(tuple(sentences), kind))


def whole(said: Said, finding: Finding) -> Finding | None:
    """The finding with the sentences that it points to, and without what is no fact; None where nothing is left."""
    statements = statements_in(said)
    own = [one for one in statements if one.quote in finding.evidence.quote]
    if not own:
        return None
    first, last = statements.index(own[0]), statements.index(own[-1])
    if first and _points_back(statements[first].quote):
        first -= 1
    while last + 1 < len(statements) and goes_on(statements[last + 1].quote):
        last += 1
    quotes = [_without_housekeeping(one.quote) for one in statements[first : last + 1] if not is_all_staying(one.quote)]
    quotes = [
        _MISREAD_FIRST.sub("", quote) for quote in quotes if quote and (len(quotes) == 1 or len(quote.split()) > 1)
    ]
    text = " ".join(quotes)
    is_anybody = first == 0 and bool(_ANYBODY.match(quotes[0] if quotes else "")) and len(stems_of(text)) > _LEAST
    if not quotes or (_points_back(quotes[0]) and not is_anybody) or _ONLY_THIS.search(text):
        return None
    if len(stems_of(text)) < _LEAST and not any(value.kind == "date" for value in values_in(own[0].text)):
        return None
    made = finding_of(said, Told(tuple(quotes), finding.type))
    made = made._replace(body=settled(made.body), description=settled(made.description))
    is_plain = "**" not in made.body
    if (_SINCE_WHEN.search(text) and not is_plain) or (
        is_plain and dated(text, own[0].day) != with_absolute_dates(text, own[0].day)
    ):
        fact = " ".join(one.told for one in statements[first : last + 1])
        made = made._replace(body=fact + "\n", description=description_of(fact, ""))
    return made._replace(name=name_of(_DATE.sub("", fact_of(made.body))))


def _points_back(quote: str) -> bool:
    """Whether a sentence needs the one before it. What a clause before the pronoun speaks of, it needs none for."""
    match = _POINTS_BACK.search(quote)
    if match is None or not match[0].endswith(" it"):
        return match is not None
    before = quote[: next(start for start, end in clauses_of(quote) if match.start() < end)]
    return len(stems_of(before)) < _LEAST


def _without_housekeeping(quote: str) -> str:
    """The sentence; of one about the notes what stands behind a colon: "I removed that note: the insurer does it now"."""
    if not _HOUSEKEEPING.search(quote):
        return quote
    _, _, behind = quote.partition(": ")
    return behind if len(stems_of(behind)) > _LEAST and not _HOUSEKEEPING.search(behind) else ""


def goes_on(sentence: str) -> bool:
    """Whether a sentence goes on with what the one before it speaks of."""
    return bool(_GOES_ON.match(sentence))


def is_over(said: Said, finding: Finding, now: float) -> bool:
    """Whether a finding is an appointment that has passed: a day that lay ahead then, and lies behind now."""
    day, today = day_of(said.said_at or now), day_of(now)
    days = [value.number for value in values_in(fact_of(finding.body)) if value.kind == "date"]
    if day is None or today is None or not days or _BEGINS.search(finding.evidence.quote):
        return False
    return date.isoformat(day) <= min(days) and max(days) < today.isoformat() and finding.type == "project"


def is_known(finding: Finding, drafts: Sequence[Draft]) -> bool:
    """Whether a memory says it already, nearly in these words; or one that must not be changed speaks of it."""
    own = stems_of(fact_of(finding.body))
    values = {(value.kind, value.number) for value in values_in(finding.body)}
    for draft in drafts:
        shared = len(own & stems_of(texts_of(draft)))
        if draft.is_fixed and shared * 2 >= len(own):
            return True
        there = {(value.kind, value.number) for value in values_in(draft.body)}
        if shared >= _SAID_ALREADY * len(own) and values <= there:
            return True
    return False


def draft_of(said: Said, finding: Finding) -> Draft:
    return Draft(
        (),
        finding.type,
        finding.description,
        finding.body,
        said.said_at or 0.0,
        finding.name,
        evidence=(finding.evidence,),
    )
