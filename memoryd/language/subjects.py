"""Words that tell what a text is about. Pure."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from memoryd.language.date_words import month_names, number_words, weekday_names
from memoryd.language.lexicon import pattern, small
from memoryd.language.stems import stem
from memoryd.language.tokens import pairs_of, runs_in

_END = r"(?=\s*(?:[.,;:!?…—–(-]|$)|\s+(?:please|pls|again|now|then|actually|sorry|too|and|i|we|use)\b)"  # noqa: RUF001
"""Behind "forget that"; "forget that the user is logged in" and "don't store it on disk" are about the task."""
_TAKEN_BACK = re.compile(
    rf"(?i)(?:^|[.!?,;]\s+|\b(?:actually|no|wait|sorry|hm+|ok|oh|nah)\b[,.]?\s+)(?:please )?(?:(?:forget|scratch|scrap) it{_END}|(?:forget|scratch|scrap|strike|ignore|disregard|drop|cancel)"
    rf"\s+(?:that(?: (?:last|previous))?(?: (?:one|bit|part|thing|rule|note))?{_END}|that i (?:ever )?(?:said|told|asked|mentioned)\b|what i (?:just )?said(?: about (?:the )?(?P<said>[\w-]{{3,}}))?|my last \w+|(?:about the|what i said about(?: the)?|the (?:bit|thing|part) about(?: the)?)\s+(?P<what>[\w-]{{3,}})|the (?P<thing>[\w-]{{3,}}) (?:thing|bit|part|rule|note))"
    rf"|i take (?:that|it) back|i(?:'ve)? changed my mind(?: (?:about|on) (?:the |that )?(?P<mind>[\w-]{{3,}})|{_END})|don'?t (?:remember|save|store|note) (?:that|it){_END}|forget i said (?:that|it|anything)|(?:just |only |i'?m |i was )*(?:kidding|joking){_END}|lol no{_END})"
    r"|\b(?:vergiss (?:das|es)(?: wieder)?|nimm das zurück|streich das|olvida(?:lo| eso)|olvídalo|borra eso|oublie(?: ça|[- ]le| ce que j'ai dit)|laisse tomber)\b"
    r"|(?:忘了(?:吧|它|刚才)|当我没说|不是(?:，|,)?我(?:看|记|说|搞)错|我(?:看|记|说|搞)错了|刚才(?:说的)?(?:不算|作废)|收回)|(?:今の(?:は)?(?:なし|忘れて)|さっきの(?:は)?(?:なし|忘れて|取り消し))"  # noqa: RUF001
)


def mentions_taking_back(text: str) -> tuple[bool, str]:
    """Whether a message takes something back, and the word that names it; empty where it is the last thing said."""
    match = _TAKEN_BACK.search(text)
    if match is None:
        return False, ""
    return True, (match["said"] or match["what"] or match["thing"] or match["mind"] or "").lower()


@lru_cache(maxsize=2048)
def subject_of(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning; pairs of characters in scripts without spaces."""
    found: set[str] = set()
    for match in re.finditer(r"[^\W_]{2,}", text.lower()):
        word = match[0]
        if runs := runs_in(word):
            found.update(pair for run in runs for pair in pairs_of(run) if len(pair) > 1)
        elif len(word) > 3 and word not in small("subjects") and not word.isdigit():  # noqa: PLR2004 - shorter words carry little
            found.add(stem(word))
    return frozenset(found)


def covered_by(text: str, other: str) -> float:
    """How much of what a text speaks of is in the other one, from 0 to 1."""
    subject = subject_of(text)
    return len(subject & subject_of(other)) / len(subject) if subject else 0.0


def names_nothing(sentence: str) -> bool:
    """Whether a sentence only points to what it is about: "no wait, it's on Thursday"."""
    pointing = pattern("subjects", "pointing").match(sentence)
    return pointing is not None and not subject_of(_without_values(sentence[pointing.end() :]))


def _without_values(text: str) -> str:
    """The text without words that say how something stands, not what it is."""
    return re.sub(r"[^\W_]+", lambda match: "" if match[0].lower() in _values() else match[0], text)


@cache
def _values() -> frozenset[str]:
    return small("values").union(month_names().split("|"), weekday_names().split("|"), number_words())
