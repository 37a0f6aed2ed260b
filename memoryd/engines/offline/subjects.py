"""Whether two facts are about the same thing, and what a later message does to an earlier fact. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from memoryd.engines.offline.features import cues_of
from memoryd.engines.offline.lexicon import cues, small

_STEM_LENGTH = 6
_LEAST_SHARED = 3
_MOSTLY = 0.75
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")

_END = r"(?=\s*(?:[.,;:!?…—–(-]|$)|\s+(?:please|pls|again|now|then|actually|sorry|too|and|i|we|use)\b)"  # noqa: RUF001
"""Behind "forget that"; "forget that the user is logged in" and "don't store it on disk" are about the task."""
_TAKEN_BACK = re.compile(
    rf"(?i)(?:^|[.!?,;]\s+|\b(?:actually|no|wait|sorry|hm+|ok|oh|nah)\b[,.]?\s+)(?:please )?(?:(?:forget|scratch|scrap) it{_END}|(?:forget|scratch|scrap|strike|ignore|disregard|drop|cancel)"
    rf"\s+(?:that(?: (?:last|previous))?(?: (?:one|bit|part|thing|rule|note))?{_END}|that i (?:ever )?(?:said|told|asked|mentioned)\b|what i (?:just )?said(?: about (?:the )?(?P<said>[\w-]{{3,}}))?|my last \w+|(?:about the|what i said about(?: the)?|the (?:bit|thing|part) about(?: the)?)\s+(?P<what>[\w-]{{3,}})|the (?P<thing>[\w-]{{3,}}) (?:thing|bit|part|rule|note))"
    rf"|i take (?:that|it) back|i(?:'ve)? changed my mind(?: (?:about|on) (?:the |that )?(?P<mind>[\w-]{{3,}})|{_END})|don'?t (?:remember|save|store|note) (?:that|it){_END}|forget i said (?:that|it|anything)|(?:just |only |i'?m |i was )*(?:kidding|joking){_END}|lol no{_END})"
    r"|\b(?:vergiss (?:das|es)(?: wieder)?|nimm das zurück|streich das|olvida(?:lo| eso)|olvídalo|borra eso|oublie(?: ça|[- ]le| ce que j'ai dit)|laisse tomber)\b"
    r"|(?:忘了(?:吧|它|刚才)|当我没说|不是(?:，|,)?我(?:看|记|说|搞)错|我(?:看|记|说|搞)错了|刚才(?:说的)?(?:不算|作废)|收回)|(?:今の(?:は)?(?:なし|忘れて)|さっきの(?:は)?(?:なし|忘れて|取り消し))"  # noqa: RUF001
)


def takes_back(text: str) -> tuple[bool, str]:
    """Whether a message takes something back, and the word that names it; empty where it is the last thing said."""
    match = _TAKEN_BACK.search(text)
    if match is None:
        return False, ""
    return True, (match["said"] or match["what"] or match["thing"] or match["mind"] or "").lower()


_REST = re.compile(r"(?i)\b(?:please|pls|sorry|thanks|ok|okay|oh|hm+|no|nah|wait|actually)\b|\W")


def is_all_about_it(text: str) -> bool:
    """Whether a message speaks of what was said, or has nothing else to say than to forget it."""
    match = _TAKEN_BACK.search(text)
    if match is None:
        return False
    return speaks_of_words(text) or not _REST.sub("", text[: match.start()] + text[match.end() :])


def speaks_of_words(text: str) -> bool:
    """Whether a message takes back what was said in so many words."""
    match = _TAKEN_BACK.search(text)
    return match is not None and "said" in match[0].lower()


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


def short_words_of(text: str) -> frozenset[str]:
    """Words too short to be part of a subject that still tell two facts apart: npm and pip, iOS and web."""
    words = re.findall(r"(?<![^\W_])[^\W\d_]{2,3}(?![^\W_])", _without_values(text).lower())
    return frozenset(words) - small("names") - small("subjects")


def speaks_of(text: str, named: str) -> bool:
    """Whether words in a text begin with those that name it. An empty name fits everything."""
    return all(re.search(rf"(?<![a-z]){re.escape(stem)}", text.lower()) for stem in subject_of(named) or {named[:5]})


def covered_by(text: str, other: str) -> float:
    """How much of what a text speaks of is in the other one, from 0 to 1."""
    subject = subject_of(text)
    return len(subject & subject_of(other)) / len(subject) if subject else 0.0


def is_same_subject(text: str, other: str) -> bool:
    """Whether two facts are so close that the later one is a new version of the earlier.

    The later one says that something changed, and leaves out hardly a word; or the words are the same but for what is
    only a value: a date, a number, a language. "Never push to the branch" and "never delete the branch" are two facts.
    """
    later, earlier = (subject_of(_without_values(one)) | short_words_of(one) for one in (text, other))
    shared = len(later & earlier)
    if says_it_moved(text):
        return shared >= _LEAST_SHARED - 1 and len(earlier - later) <= shared // 4
    is_part = later <= earlier or earlier <= later
    return is_part and shared >= _LEAST_SHARED and shared / max(len(later), len(earlier)) >= _MOSTLY


def names_nothing(sentence: str) -> bool:
    """Whether a sentence only points to what it is about: "no wait, it's on Thursday"."""
    pointing = _POINTING.match(sentence)
    return pointing is not None and not subject_of(_without_values(sentence[pointing.end() :]))


def _without_values(text: str) -> str:
    """The text without words that say how something stands, not what it is."""
    return re.sub(r"[^\W_]+", lambda match: "" if match[0].lower() in small("values") else match[0], text)


_POINTING = re.compile(
    r"(?i)(?:(?:no|wait|actually|ok|oh|sorry|and|but|so|hm+)\b\W*)*(?:it|that|this|they|those)(?:['’]s|['’]re|['’]ll be| is| are| was| will be)?\b"  # noqa: RUF001
)

_DAY = re.compile(
    r"(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:mon|diens|donners|frei|sams|sonn)tag\b|\bmittwoch\b|\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b"
    r"|\b(?:lun|mar|mercre|jeu|vendre|same)di\b|\bdimanche\b|(?:周|星期)[一二三四五六日天]|[月火水木金土日]曜|\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2}\.(?= [A-ZÄ])|\b(?:tomorrow|morgen|mañana|demain)\b|明天|明日"
)
_DAY_NAME = _DAY.pattern.removeprefix("(?i)")
_NOT_ON = re.compile(
    rf"(?i)(?:\b(?:not|no longer|instead of|nicht(?: mehr)?|statt|ya no|en vez de(?:l)?|plus|pas|au lieu de?)\s+(?:\w+\s+)?(?:(?:on|this|the|am|den|el|ce|le)\s+)?|不是|不在)(?P<day>{_DAY_NAME})"
    rf"|(?P<day_off>{_DAY_NAME})\s+(?:won['’]?t|is off|is out|doesn['’]?t|can['’]?t|is cancel+ed|got cancel+ed|fell through|wird ni[xc]\w*|geht nicht|klappt nicht|fällt aus|no va|no puede|ya no|tombe|saute|marche pas)\b"  # noqa: RUF001
    rf"|(?P<day_ja>{_DAY_NAME})日?(?:ではなく|じゃなくて)"
)
"""A day that no longer holds."""
_ROOT_LENGTH = 4


def says_it_moved(sentence: str) -> bool:
    """Whether a sentence says for certain that something is no longer as it was."""
    cues = cues_of(sentence)
    return "moved" in cues and "hedge" not in cues


def changes(quote: str, earlier: str) -> bool:
    """Whether words said later in the same session change a dated fact: they say that it moved or is off.

    What they say moved is what had the date, or they name the day that no longer holds.
    """
    if not says_it_moved(quote) or "deadline" not in cues_of(earlier):
        return False
    gone = {(match["day"] or match["day_off"] or match["day_ja"]).lower() for match in _NOT_ON.finditer(quote)}
    if gone & {day.lower() for day in _DAY.findall(earlier)}:
        return True
    if "deadline" not in cues_of(quote) and not _DAY.search(quote):
        return False
    moved, dated = _roots_before("moved", quote), _roots_before("deadline", earlier)
    shared = len(moved & dated)
    return shared > 1 or shared > len(moved) / 2


def _roots_before(cue: str, text: str) -> set[str]:
    """What a sentence is about: the beginnings of the words before a cue, or of all words where none stand there."""
    match = cues()[cue].search(text)
    head = _roots(text[: match.start()]) if match else set()
    return head or _roots(text)


def _roots(text: str) -> set[str]:
    words = re.findall(r"[^\W\d_]{3,}", _without_values(text).lower())
    latin = {word[:_ROOT_LENGTH] for word in words if word not in small("names") | small("subjects")}
    return {root for root in latin if not _CJK_RUN.search(root)} | {
        stem for stem in subject_of(text) if _CJK_RUN.search(stem)
    }
