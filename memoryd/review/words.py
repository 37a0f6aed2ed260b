"""Content words of texts, and how much of one text another one founds. Pure.

Words are compared by how they begin, in any language: structure, not vocabulary.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memoryd.language.date_words import spaced_languages
from memoryd.language.lexicon import small
from memoryd.language.sentences import joining_words
from memoryd.language.statements import PART, is_number

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")  # noqa: RUF001
_CJK = re.compile(r"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_KANA = re.compile(r"[\u3040-\u309f]+")
_MARKS = r"[,;:.!?()\n][\s)\"\u201d]|[,;:.!?()]$|\n|\s[-\u2013\u2014]\s|[\u3001\u3002\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]"
_SAME_BEGINNING = 4
_SHORT = 2


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry meaning; pairs of characters in scripts without spaces. No numbers."""
    found: set[str] = set()
    for match in _WORD.finditer(text.casefold()):
        word = match[0].replace("'", "").replace("’", "")  # noqa: RUF001
        runs = _CJK.findall(word)
        for run in runs:
            found.update(pair for at in range(len(run) - 1) if not _KANA.fullmatch(pair := run[at : at + 2]))
        word = _CJK.sub("", word) if runs else word
        if len(word) >= _SHORT and not any(letter.isdigit() for letter in word) and word not in _empty_words():
            found.add(word)
    return frozenset(word for word in found if not is_number(word))


def is_founded(word: str, known: frozenset[str]) -> bool:
    """Whether a word is among others, or begins like one of them: `deploys` and `deployment`, `min` and `minutes`."""
    if word in known:
        return True
    if _CJK.match(word):
        return False
    return any(
        word[:_SAME_BEGINNING] == other[:_SAME_BEGINNING]
        if min(len(word), len(other)) >= _SAME_BEGINNING
        else min(len(word), len(other)) > _SHORT and (word.startswith(other) or other.startswith(word))
        for other in known
    )


def unfounded_words(text: str, known: frozenset[str]) -> list[str]:
    return sorted(word for word in content_words(text) if not is_founded(word, known))


def founded_share(text: str, known: frozenset[str]) -> float:
    """How many of the words of a text are among others, from 0 to 1."""
    words = content_words(text)
    return 1 - len(unfounded_words(text, known)) / len(words) if words else 1.0


def clauses_of(text: str) -> list[str]:
    """What stands between the marks and conjunctions of a text, without the labels of its parts."""
    return [clause.strip() for clause in _clause_end().split(PART.sub("\n", text)) if clause and clause.strip()]


def clause_around(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands in a text before and behind a piece of it, up to the ends of the clauses that it begins and ends in."""
    ends = [match.span() for match in _clause_end().finditer(text)]
    first = max((stop for _, stop in ends if stop <= start), default=0)
    last = min((begin for begin, _ in ends if begin >= end), default=len(text))
    return text[first:start].strip(), text[end:last].strip()


def is_other_language(text: str, other: str) -> bool:
    """Whether two texts are plainly in different languages, so that their words cannot be compared."""
    first, second = _language_of(text), _language_of(other)
    return bool(first and second) and first != second


def _language_of(text: str) -> str:
    """A rough name for the language of a text, by its script and its commonest words; empty where nothing tells."""
    if _CJK.search(text):
        return "kana" if re.search(r"[\u3040-\u30ff]", text) else "han"
    words = {*_WORD.findall(text.casefold())}
    counts = {language.name: sum(word in language.common.split() for word in words) for language in spaced_languages()}
    best, second = sorted(counts, key=lambda name: -counts[name])[:2]
    return best if counts[best] > counts[second] else ""


@lru_cache(maxsize=1)
def _empty_words() -> frozenset[str]:
    """Words that carry no meaning of their own, and those that most people leave the apostrophe out of."""
    common = {word for language in spaced_languages() for word in language.common.split()}
    listed = small("names") | small("subjects") | small("function") | common
    return frozenset(listed | {word.replace("'", "") for word in listed})


@lru_cache(maxsize=1)
def _clause_end() -> re.Pattern[str]:
    return re.compile(rf"(?i){_MARKS}|\b(?:{'|'.join(sorted(joining_words()))})\b")
