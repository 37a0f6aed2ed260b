"""Whether two facts are about the same thing, and what a later message does to an earlier fact. Pure."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from memoryd.engines.offline.features import cues_of
from memoryd.engines.offline.lexicon import small

_STEM_LENGTH = 6
_LEAST_SHARED = 3
_MOSTLY = 0.75
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")

_TAKEN_BACK = re.compile(
    r"(?i)(?:^|[.!?,;]\s+|\b(?:actually|no|wait|sorry|hm+|ok|oh|nah)\b[,.]?\s+)(?:please )?(?:(?:forget|scratch|strike|ignore|disregard|drop|cancel)"
    r"\s+(?:that\b(?!\s+\w+\s+(?:test|file|line))|it\b|what i (?:just )?said(?: about (?:the )?(?P<said>[\w-]{3,}))?|my last \w+|(?:about the|what i said about(?: the)?|the (?:bit|thing|part) about(?: the)?)\s+(?P<what>[\w-]{3,})|the (?P<thing>[\w-]{3,}) (?:thing|bit|part|rule|note))"
    r"|i take (?:that|it) back|i(?:'ve)? changed my mind|don'?t (?:remember|save|store|note) (?:that|it)\b|forget i said (?:that|it|anything))"
    r"|\b(?:vergiss (?:das|es)(?: wieder)?|nimm das zurück|streich das|olvida(?:lo| eso)|olvídalo|borra eso|oublie(?: ça|[- ]le| ce que j'ai dit)|laisse tomber)\b"
    r"|(?:忘了(?:吧|它|刚才)|当我没说|不是(?:，|,)?我(?:看|记|说|搞)错|我(?:看|记|说|搞)错了|刚才(?:说的)?(?:不算|作废)|收回)|(?:今の(?:は)?(?:なし|忘れて)|さっきの(?:は)?(?:なし|忘れて|取り消し))"  # noqa: RUF001
)


def takes_back(text: str) -> tuple[bool, str]:
    """Whether a message takes something back, and the word that names it; empty where it is the last thing said."""
    match = _TAKEN_BACK.search(text)
    if match is None:
        return False, ""
    return True, (match["said"] or match["what"] or match["thing"] or "").lower()


@lru_cache(maxsize=2048)
def subject_of(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning; pairs of characters in scripts without spaces."""
    found: set[str] = set()
    for match in re.finditer(r"[^\W_]{2,}", text.lower()):
        word = match[0]
        if _CJK_RUN.search(word):
            for run in _CJK_RUN.findall(word):
                found.update(run[at : at + 2] for at in range(len(run) - 1))
        elif len(word) > 3 and word not in small("subjects") and not word.isdigit():  # noqa: PLR2004 - shorter words carry little
            found.add(word[:_STEM_LENGTH])
    return frozenset(found)


def covered_by(text: str, other: str) -> float:
    """How much of what a text speaks of is in the other one, from 0 to 1."""
    subject = subject_of(text)
    return len(subject & subject_of(other)) / len(subject) if subject else 0.0


def is_same_subject(text: str, other: str) -> bool:
    """Whether two facts are so close that the later one is a new version of the earlier.

    The later one says that something changed, and leaves out hardly a word; or the words are the same but for what is
    only a value: a date, a number, a language. "Never push to the branch" and "never delete the branch" are two facts.
    """
    later, earlier = (subject_of(one) - values() for one in (text, other))
    shared = len(later & earlier)
    if shared < _LEAST_SHARED:
        return False
    if says_it_moved(text):
        return len(earlier - later) <= 1
    return (later <= earlier or earlier <= later) and shared / max(len(later), len(earlier)) >= _MOSTLY


@cache
def values() -> frozenset[str]:
    """Stems of words that say how a fact stands, not what it is about."""
    return frozenset(word[:_STEM_LENGTH] for word in small("values"))


_DAY = re.compile(
    r"(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:mon|diens|donners|frei|sams|sonn)tag\b|\bmittwoch\b|\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b"
    r"|\b(?:lun|mar|mercre|jeu|vendre|same)di\b|\bdimanche\b|(?:周|星期)[一二三四五六日天]|[月火水木金土日]曜|\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:tomorrow|morgen|mañana|demain)\b|明天|明日"
)
_ROOT_LENGTH = 4


def says_it_moved(sentence: str) -> bool:
    """Whether a sentence says for certain that something is no longer as it was."""
    cues = cues_of(sentence)
    return "moved" in cues and "hedge" not in cues


def changes(quote: str, earlier: str) -> bool:
    """Whether words said later in the same session change a dated fact: they say that it moved or is off.

    They speak of the same thing, or name the day that no longer holds.
    """
    cues = cues_of(quote)
    if not says_it_moved(quote) or "deadline" not in cues_of(earlier):
        return False
    days, earlier_days = ({day.lower() for day in _DAY.findall(text)} for text in (quote, earlier))
    roots, others = ({stem[:_ROOT_LENGTH] for stem in subject_of(text)} for text in (quote, earlier))
    return bool(days & earlier_days) or bool(roots & others and ("deadline" in cues or days))
