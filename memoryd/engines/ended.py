"""Whether a memory has come to its own end, and says nothing that goes on. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.offline.date_phrases import Tenses, languages_of
from memoryd.engines.offline.date_words import ENGLISH
from memoryd.engines.offline.dates import day_of
from memoryd.engines.statements import statements_of

if TYPE_CHECKING:
    from memoryd.model import Shelved

_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_YEAR = re.compile(r"(?<![\d.-])20\d\d(?![\d-])")
_REASON = re.compile(r"(?i)\s*\*\*why")
_PART = re.compile(r"\s*\*\*")
_BEGINS = re.compile(
    r"(?i)\b(?:since|from|after|as of|seit|ab|nach|desde|después|depuis|dès|après)\b[^.;]{0,20}$|[自从] ?$"
)
_GOES_TO = re.compile(r"(?i)(?:\b(?:to|until|till|through|bis|hasta|al?|au|jusqu'au)|[-–—~〜到至]) ?$")  # noqa: RUF001
_BEGINNING = re.compile(r" ?(?:以来|起|から)")
_LASTS = re.compile(
    r"(?i)\b(?:always|never|from now on|since|every|each|whatever|whenever|generally|regardless|default|results?(?=:)|suffices?|learn(?:ed|t)|turned out"
    r"|immer|nie|niemals|stets|seit|ab jetzt|jede[rsnm]?|grundsätzlich|ergebnis(?=:)|siempre|nunca|desde|cada|resultado|toujours|jamais|depuis"
    r"|chaque|désormais|résultat)\b|总是|永远|一律|以后|每|结果|必ず|いつも|毎|結果|今後"
)
_OPEN = re.compile(
    r"(?i)\b(?:or (?:until|when|as soon as|once)|older than|founded|established|at least|at most|oder (?:bis|wenn|sobald)|älter als|gegründet"
    r"|o (?:hasta|cuando)|ou (?:jusqu'à|quand))\b"
)
"""Says something besides, or leaves the end open."""
_MEANWHILE = re.compile(
    r"(?i)\b(?:then|in that time|meanwhile|during|these (?:days|weeks)|bis dahin|solange|in dieser zeit|entonces|mientras|d'ici là|pendant)\b"
    r"|当天|期间|届时|それまで|その間|期間中"
)
_UNTIL = re.compile(r"(?i)\b(?:until|till|bis|hasta|jusqu'à ce)\b(?P<what>[^,.;:]{0,40})")
_ENDS = re.compile(
    r"(?i)\b(?:then|dahin|entonces|ends?|over|back|again|finished|done|vorbei|zu ende|acabe|termine|finisse|fini)\b|\d"
)


def end_of(memory: Shelved, now: float) -> str:
    """The last day of a project's memory that has passed, as `2026-05-31`; empty where it has not ended, or may go on."""
    today = day_of(now)
    if memory.type != "project" or today is None:
        return ""
    # Only a day that is written there: what "tomorrow" was, nobody can tell for certain.
    texts = [memory.description, *memory.body.split("\n")]
    everything = " ".join(texts)
    end = max((one for text in texts if not _PART.match(text) for one in _ends_in(text)), default="")
    if (
        not end
        or max(_DAY.findall(everything)) >= str(today)
        or max(_YEAR.findall(everything), default="") >= str(today.year)
    ):
        return ""
    facts = [one.text for text in texts if not _REASON.match(text) for one in statements_of(text)]
    event = statements_of(f"{memory.description}\n{memory.body}")[0].stems
    return "" if any(_OPEN.search(one) or _goes_on(one, event) for one in facts) else end


def _ends_in(text: str) -> list[str]:
    """The days in a text on which something is, or ends: not those since which it is, or on which it was."""
    tenses = [Tenses(text, language) for language in languages_of(text) or [ENGLISH]]
    found = []
    for match in _DAY.finditer(text):
        head = text[: match.start()]
        is_beginning = (_BEGINS.search(head) and not _GOES_TO.search(head)) or _BEGINNING.match(text, match.end())
        if not is_beginning and not any(one.at(*match.span()) == "past" for one in tenses):
            found.append(match[0])
    return found


def _goes_on(statement: str, event: frozenset[str]) -> bool:
    """Whether a statement holds beyond the event: a lasting rule, or one until something that nobody dated."""
    if (
        _LASTS.search(statement)
        and not _MEANWHILE.search(statement)
        and not (_UNTIL.search(statement) and _DAY.search(statement))
    ):
        return True
    return any(
        not _ENDS.search(one["what"]) and not any(part.stems & event for part in statements_of(one["what"]))
        for one in _UNTIL.finditer(statement)
    )
