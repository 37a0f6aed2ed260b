"""Words that tell what a text is about. Pure."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise

from memoryd.language.date_words import month_names, month_numbers, number_words, weekday_names
from memoryd.language.lexicon import pattern, small
from memoryd.language.sentences import joining_words
from memoryd.language.stems import stem
from memoryd.language.tokens import is_stop, is_unspaced, pairs_of, runs_in, split, words_of
from memoryd.language.written_dates import written_date

_END = r"(?=\s*(?:[.,;:!?…—–(-]|$)|\s+(?:please|pls|again|now|then|actually|sorry|too|and|i|we|use)\b)"  # noqa: RUF001
"""Behind "forget that"; "forget that the user is logged in" and "don't store it on disk" are about the task."""
_TAKEN_BACK = re.compile(
    rf"(?i)(?:^|[.!?,;]\s+|\b(?:actually|no|wait|sorry|hm+|ok|oh|nah)\b[,.]?\s+)(?:please )?(?:(?:forget|scratch|scrap) it{_END}|(?:forget|scratch|scrap|strike|ignore|disregard|drop|cancel)"
    rf"\s+(?:that(?: (?:last|previous))?(?: (?:one|bit|part|thing|rule|note))?{_END}|that i (?:ever )?(?:said|told|asked|mentioned)\b|what i (?:just )?said(?: about (?:the )?(?P<said>[\w-]{{3,}}))?|my last \w+|(?:about the|what i said about(?: the)?|the (?:bit|thing|part) about(?: the)?)\s+(?P<what>[\w-]{{3,}})|the (?P<thing>[\w-]{{3,}}) (?:thing|bit|part|rule|note))"
    rf"|i take (?:that|it) back|i(?:'ve)? changed my mind(?: (?:about|on) (?:the |that )?(?P<mind>[\w-]{{3,}})|{_END})|don'?t (?:remember|save|store|note) (?:that|it){_END}|forget i said (?:that|it|anything)|(?:just |only |i'?m |i was )*(?:kidding|joking){_END}|lol no{_END})"
    r"|\b(?:vergiss (?:das|es)(?: wieder)?|nimm das zurück|streich das|olvida(?:lo| eso)|olvídalo|borra eso|oublie(?: ça|[- ]le| ce que j'ai dit)|laisse tomber)\b"
    r"|(?:忘了(?:吧|它|刚才)|当我没说|不是(?:，|,)?我(?:看|记|说|搞)错|我(?:看|记|说|搞)错了|刚才(?:说的)?(?:不算|作废)|收回)|(?:今の(?:は)?(?:なし|忘れて)|さっきの(?:は)?(?:なし|忘れて|取り消し))"  # noqa: RUF001
)


_NUMBERED = re.compile(r"(?<![^\W_])(?P<word>[^\W\d_]+)[ -]?#?(?P<number>\d[\d.]*)(?!\d)")
_MEASURE = re.compile(r"(?<![\w.-])\d[\d.,:]*\s?(?P<unit>%|[a-zA-Z]+(?:/[a-zA-Z]+)?)")
"""A number and what it counts: "30s", "5 req/s"."""
_CONTRACTED = ("s", "re", "ve", "ll")
_LONG = 3
"""Letters of a word before them: "less" is no article with an apostrophe."""
_NAME_IN_CODE = re.compile(r"[a-z]\w*(?:[-_./]\w+)+")
_CLAUSE_END = re.compile(r"[,;:.!?()—–]")  # noqa: RUF001


def mentions_taking_back(text: str) -> tuple[bool, str]:
    """Whether a message takes something back, and the word that names it; empty where it is the last thing said."""
    match = _TAKEN_BACK.search(text)
    if match is None:
        return False, ""
    return True, (match["said"] or match["what"] or match["thing"] or match["mind"] or "").lower()


def said_beside_taking_back(text: str) -> tuple[str, str]:
    """What a message that takes something back says before that and behind it."""
    match = _TAKEN_BACK.search(text)
    return (text[: match.start()], text[match.end() :]) if match else (text, "")


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


@lru_cache(maxsize=2048)
def content_words(text: str) -> frozenset[str]:
    """Stems of all words that are not among the commonest of their language, short ones too, and names as a whole: "uv",
    "release-please". Days and units of numbers are left out: two things may well be on a Friday.
    """
    units = {match["unit"].lower() for match in _MEASURE.finditer(text)}
    found = {word for word in words_of(text) if _NAME_IN_CODE.fullmatch(word) and word not in units}
    for word in split(text):
        if is_unspaced(word):
            found.update(pair for pair in pairs_of(word) if len(pair) > 1)
        elif len(word) > 1 and not word.isdigit() and not _is_small(word) and word not in _values():
            found.add(stem(word))
    return frozenset(found)


def _is_small(word: str) -> bool:
    """Whether a word is among the commonest, also where it is typed without its apostrophe: "dont", "thats"."""
    return (
        is_stop(word)
        or is_contracted(word)
        or any(
            word.endswith(end) and is_stop(word[: -len(end)]) for end in _CONTRACTED if len(word) - len(end) >= _LONG
        )
    )


def is_contracted(word: str) -> bool:
    """Whether a word is a verb with "not", with or without its apostrophe: "don't", "cant"."""
    return pattern("subjects", "contracted").fullmatch(word) is not None


def shared_words(text: str, other: str) -> frozenset[str]:
    """What two texts both speak of."""
    return content_words(text) & content_words(other)


def shared_subjects(text: str, other: str) -> frozenset[str]:
    """What two texts both speak of, without what any two rules may share: "never", "always", a weekday."""
    return shared_words(text, other) - _of_any_rule()


@cache
def _of_any_rule() -> frozenset[str]:
    return frozenset(map(stem, small("subjects").union(f"{day}s" for day in weekday_names().split("|"))))


def word_count(text: str) -> int:
    """How many words a text has that carry meaning; in scripts without spaces a word has about two pairs of characters."""
    words = content_words(text)
    pairs = sum(map(is_unspaced, words))
    return len(words) - pairs + (pairs + 1) // 2


def is_same_kind_of_value(text: str, other: str) -> bool:
    """Whether two texts name a value of the same kind: a date or a weekday each, or a number of the same unit."""
    return not _kinds_of_value(text).isdisjoint(_kinds_of_value(other))


@lru_cache(maxsize=2048)
def _kinds_of_value(text: str) -> frozenset[str]:
    units = {match["unit"].lower() for match in _MEASURE.finditer(text) if not is_stop(match["unit"].lower())}
    weekdays = frozenset(weekday_names().split("|"))
    words = [*split(text)]
    named = {"weekday"} if any(word in weekdays for word in words) else set()
    has_day = any(_is_day(one, other) or _is_day(other, one) for one, other in pairwise(words))
    return frozenset(units | named | ({"date"} if has_day or written_date().search(text) else set()))


def _is_day(month: str, number: str) -> bool:
    return month in month_numbers() and number[:1].isdigit()


def is_about(text: str, words: frozenset[str]) -> bool:
    """Whether a clause of a text begins with one of these words: "pipeline limit is 12s now" is about the pipeline.

    A word may stand before it: "hey", "the new". In scripts without spaces nobody knows where a word ends.
    """
    for clause in re.split(r"[,;:.!?()—–]\s", text):  # noqa: RUF001
        found = [word for word in split(clause) if is_unspaced(word) or content_words(word)][:2]
        if any(is_unspaced(word) or not content_words(word).isdisjoint(words) for word in found):
            return True
    return False


def is_numbered_otherwise(text: str, other: str) -> bool:
    """Whether two texts give one word another number behind it: "tenant 300" and "tenant 301" are two things."""
    first, second = _numbers_behind(text), _numbers_behind(other)
    return any(first[word].isdisjoint(second[word]) for word in first.keys() & second.keys())


@lru_cache(maxsize=2048)
def _numbers_behind(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for match in _NUMBERED.finditer(text.lower()):
        if match["word"] not in month_numbers() and not is_stop(match["word"]):
            found[match["word"]] = found.get(match["word"], frozenset()) | {match["number"]}
    return found


def is_contrasted(text: str, other: str) -> bool:
    """Whether two texts say the same word of two different things: "backend bugs" and "frontend bugs", "demo for …"."""
    return _differ(_words_before(text), _words_before(other)) or is_of_another(text, other)


def is_of_another(text: str, other: str) -> bool:
    """Whether two texts say the same word of two things by "of", "for" or the like: "demo for Bosch" and "demo for Acme"."""
    return _differ(_owners_of(text), _owners_of(other))


def _differ(first: dict[str, frozenset[str]], second: dict[str, frozenset[str]]) -> bool:
    return any(
        first[word].isdisjoint(second[word]) and not first[word] & second.keys() and not second[word] & first.keys()
        for word in first.keys() & second.keys()
        if first[word] and second[word]
    )


@lru_cache(maxsize=2048)
def _owners_of(text: str) -> dict[str, frozenset[str]]:
    """For each word that carries meaning what it is of, for, with or to: "meeting with Acme"."""
    found: dict[str, frozenset[str]] = {}
    for match in pattern("subjects", "belongs_to").finditer(text):
        thing, owner = match["thing"].lower(), match["owner"].lower()
        if not any(is_stop(word) or word in _values() for word in (thing, owner)):
            found[stem(thing)] = found.get(stem(thing), frozenset()) | {stem(owner)}
    return found | {owner: frozenset[str]() for owners in [*found.values()] for owner in owners if owner not in found}


@lru_cache(maxsize=2048)
def _words_before(text: str) -> dict[str, frozenset[str]]:
    """For each word that carries meaning those right before it in the same clause, whatever little words are between."""
    found: dict[str, set[str]] = {}
    for clause in _CLAUSE_END.split(text):
        last = ""
        for word in split(clause):
            if is_unspaced(word) or word.isdigit() or is_stop(word) or len(word) == 1 or word in _values():
                continue
            found.setdefault(stem(word), set()).update({last} if last else ())
            last = stem(word)
    return {word: frozenset(before) for word, before in found.items()}


def names_nothing(sentence: str) -> bool:
    """Whether a sentence only points to what it is about: "no wait, it's on Thursday"."""
    pointing = pattern("subjects", "pointing").match(sentence)
    return pointing is not None and not subject_of(_without_values(sentence[pointing.end() :]))


def goes_on(sentence: str) -> bool:
    """Whether a sentence only adds to the one before it: "but in English, the team is mixed"; "same for the other tables"."""
    if pattern("subjects", "likewise").match(sentence):
        return True
    clause = _CLAUSE_END.split(sentence, maxsplit=1)[0]
    return clause.split(" ")[0].lower() in joining_words() and not content_words(clause)


def means_somebody(sentence: str) -> bool:
    """Whether a sentence begins with a word for somebody who was named before: "she signs off the audit"."""
    return pattern("subjects", "somebody").match(sentence) is not None


def _without_values(text: str) -> str:
    """The text without words that say how something stands, not what it is."""
    return re.sub(r"[^\W_]+", lambda match: "" if match[0].lower() in _values() else match[0], text)


@cache
def _values() -> frozenset[str]:
    return small("values").union(month_names().split("|"), weekday_names().split("|"), number_words())
