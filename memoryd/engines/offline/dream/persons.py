"""Somebody left, and somebody else does it now: whose name stands in a memory, and who takes the place. Pure."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.offline.dream.wording import fact_of, is_small

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.engines.offline.dream.draft import Draft
    from memoryd.engines.offline.dream.statements import Statement

_LEFT = re.compile(
    r"(?i)(?P<who>[^\W\d_][\w'’-]+)\s+(?:has |have |had |is |was |hat |ist |se ha |s'est |est |a )?(?:just |now |already |gerade |ya )?"
    r"(?:left(?= the (?:company|team|firm|project|office|club|house)\b| us\b| for good\b|\s*[.,;:!]|\s*$)|retired|quit|resigned|(?:went|moved) to (?!the|lunch|bed|home|get|see)\w+|is gone|on (?:parental |maternity |sick )?leave|no longer|does not|doesn't"
    r"|verlassen|gegangen|im Ruhestand|in Rente|in Elternzeit|jubilad[oa]|fue|dejó|ya no|partie?|parti à|retraite|quittée?|ne s'en occupe plus)(?!\w)"
)
_TAKES_OVER = re.compile(
    r"(?i)\b(?:now|from now on|instead|takes? over|took over|ask|contact|go to|in charge|responsible|jetzt|ab sofort|übernimmt|zuständig|ahora|desde|a partir de|pregunt\w+|maintenant|désormais|s'occupe|demande[rz]?)\b"
)
_NAME = re.compile(
    r"[A-ZÀ-Þ][\w'’-]*[a-zà-ÿ][\w'’-]*(?: (?:(?:de|van|von|der|del|la|el|al|bin) )?[A-ZÀ-Þ][\w'’-]*[a-zà-ÿ][\w'’-]*)*"
)
_IN_LOWER_CASE = re.compile(r"\bis (?P<who>[a-zà-ÿ'’-]{3,}(?: [a-zà-ÿ'’-]{3,})?) now\b")
_WHY = re.compile(r"(\*\*Why:\*\*.*?(?=\n\s*\*\*|\Z))", re.DOTALL)
_LEFT_ZH = re.compile(
    r"(?P<who>[\u4e00-\u9fff]{2,3}?)(?:昨天|今天|前天|上周|已经|刚刚?|要)?(?:离职|退休|休产假|休假|调走|走了)"
)
_NOW_ZH = re.compile(r"(?:找|由|是|换成|改成)(?P<who>[\u4e00-\u9fff]{2,3}?)(?=负责|接手|来|[，。,.;；]|$)")


class Succession(NamedTuple):
    old: str
    """The name as the memory has it."""
    new: str


def succession_in(statement: Statement, draft: Draft, message: Sequence[str]) -> Succession | None:
    """Who takes whose place in a memory, by a statement that somebody left; `message` are the sentences around it."""
    text = fact_of(draft.body)
    if match := _LEFT_ZH.search(statement.quote):
        now = [one["who"] for one in _NOW_ZH.finditer(" ".join(message)) if one["who"] not in text]
        return Succession(match["who"], now[0]) if match["who"] in text and len(set(now)) == 1 else None
    for match in _LEFT.finditer(statement.quote):
        old = [name for name in _NAME.findall(text) if match["who"].lower() in name.lower().split()]
        if not any(_TAKES_OVER.search(sentence) for sentence in message):
            continue
        new = _successors(message, text, match["who"])
        if len(set(old)) == 1 and len(new) == 1:
            return Succession(_without_opening(old[0], match["who"]), new.pop())
    return None


def _without_opening(name: str, who: str) -> str:
    """The name without words that are no part of it: "Ask Tamsin" at the beginning of a sentence."""
    words = name.split()
    while len(words) > 1 and words[0].lower() != who.lower() and is_small(words[0]):
        words.pop(0)
    return " ".join(words)


def _successors(message: Sequence[str], text: str, who: str) -> set[str]:
    """The names that a message brings and the memory does not have."""
    found = set()
    for sentence in message:
        for match in _NAME.finditer(sentence):
            name = match[0]
            is_opening = match.start() == 0 and " " not in name
            if not is_opening and who.lower() not in name.lower().split() and name not in text and not is_small(name):
                found.add(name)
        if uncased := _IN_LOWER_CASE.search(sentence):
            found.add(uncased["who"].title())
    return found


def with_successor(text: str, change: Succession) -> str:
    """The text with the new name. The reason tells what once was, and stays."""
    edge = r"(?<!\w){}(?!\w)" if change.old.isascii() else "{}"
    # "Tamsin Okafor" in the text is "Tamsin" in the description; the surname alone may be somebody else's.
    names = dict.fromkeys((change.old, change.old.split()[0]))
    pattern = re.compile("|".join(edge.format(re.escape(name)) for name in names))
    parts = _WHY.split(text)
    return "".join(part if _WHY.fullmatch(part) else pattern.sub(change.new, part) for part in parts)
