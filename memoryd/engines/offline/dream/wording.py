"""Words as they are compared across memories and messages: stems, clauses, how much is shared. Pure."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from memoryd.engines.offline.date_words import LANGUAGES
from memoryd.engines.offline.lexicon import classes, small

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.engines.offline.dream.draft import Draft

_CJK = r"\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[^\W\d_{_CJK}][^\W_{_CJK}]*(?:['’][^\W\d_]{{1,2}}\b)?|[{_CJK}]{{2,}}")
_ENDINGS = ("ings", "ing", "edly", "ed", "ors", "es", "s", "or", "er", "en", "an", "e", "n", "a", "o")
_LEAST = 4
_CLAUSE = re.compile(
    r"(?<=[,;:.!?)])\s+|\s+(?=[(（])|(?<=[，。；、：！？）])\s*(?=[^\s）])|\s+[-–—]\s+|\s+(?=(?:and|but|because|while|und|aber|weil|y|pero|porque|et|mais|parce)\s)"
)
_PART = re.compile(r"\n\s*\*\*[^*\n]{1,40}:\*\*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\sa-zà-ÿ])|(?<=;)\s+|(?<=[。！？；])|\n+")


@lru_cache(maxsize=8192)
def stem_of(word: str) -> str:
    """The word without the endings that inflection puts there."""
    low = re.sub(r"['’]\w{1,2}$", "", word.lower())
    ending = next((one for one in _ENDINGS if low.endswith(one) and len(low) - len(one) >= _LEAST), "")
    low = low[: len(low) - len(ending)]
    if len(low) >= _LEAST and low[-1] == low[-2] and low[-1] not in "aeiou":
        low = low[:-1]  # "resetting", "planned": the letter is doubled for the ending
    return low[:-1] + "i" if low.endswith("y") and len(low) > _LEAST else low


@lru_cache(maxsize=8192)
def is_small(word: str) -> bool:
    """Whether a word carries no meaning of its own."""
    low = word.lower()
    return (
        low in small("names")
        or low in small("subjects")
        or low in _SMALL
        or low in _NUMERALS
        or _TEMPORAL & {classes().get(low), classes().get(low.removesuffix("s"))} != set()
    )


_NUMERALS = frozenset(word for one in LANGUAGES if one.spaced for word in one.numbers.replace("|", " ").split())
_TEMPORAL = frozenset({"weekday", "month", "when", "always"})
_SMALL = frozenset(
    [
        "half",
        "hour",
        "hours",
        "minute",
        "minutes",
        "second",
        "seconds",
        "night",
        "nights",
        "times",
        "alarga",
        "retrasa",
        "adelanta",
        "begins",
        "begin",
        "starts",
        "until",
        "end",
        "within",
        "per",
        "above",
        "below",
        "least",
        "most",
        "already",
        "instead",
        "than",
        "planned",
        "later",
        "earlier",
        "longer",
        "any",
        "anymore",
        "now",
        "new",
        "moved",
        "changed",
        "morning",
        "noon",
        "people",
        "guys",
        "folks",
        "gave",
        "give",
        "gives",
        "happens",
        "btw",
        "renamed",
        "replaced",
        "switched",
        "bumped",
        "upgraded",
        "swapped",
        "migrated",
        "pushed",
        "monday",
        "mondays",
        "tonight",
        "evening",
        "weekend",
        "date",
        "since",
        "ever",
        "stay",
        "stays",
        "stayed",
        "remain",
        "remains",
        "between",
        "early",
        "late",
        "delayed",
        "long",
        "extended",
        "prolonged",
        "raised",
        "lowered",
        "at",
        "by",
        "up",
        "runs",
        "run",
        "has",
        "having",
        "our",
        "we",
        "us",
        "you",
        "they",
        "he",
        "she",
        "it",
        "its",
        "my",
        "i",
        "a",
        "an",
        "the",
        "statt",
        "seit",
        "erst",
        "fängt",
        "beginnt",
        "gehen",
        "geht",
        "läuft",
        "laufen",
        "über",
        "um",
        "jetzt",
        "heute",
        "gestern",
        "ab",
        "bis",
        "bleibt",
        "bleiben",
        "hat",
        "haben",
        "wird",
        "sind",
        "ist",
        "neu",
        "neue",
        "neuer",
        "neuen",
        "vom",
        "zum",
        "zur",
        "bei",
        "aus",
        "ahora",
        "desde",
        "hasta",
        "las",
        "los",
        "les",
        "del",
        "al",
        "ya",
        "no",
        "más",
        "menos",
        "sigue",
        "siguen",
        "otra",
        "otro",
        "hay",
        "son",
        "está",
        "están",
        "maintenant",
        "depuis",
        "jusqu",
        "chez",
        "aux",
        "ces",
        "ses",
        "son",
        "leur",
        "vient",
        "toujours",
        "plus",
    ]
)


@lru_cache(maxsize=8192)
def stems_of(text: str) -> frozenset[str]:
    """What a text speaks of: stems of its words, pairs of characters in scripts without spaces."""
    found: set[str] = set()
    for match in _WORD.finditer(text):
        word = match[0]
        if re.match(rf"[{_CJK}]", word):
            found.update(word[at : at + 2] for at in range(len(word) - 1))
        elif not is_small(re.sub(r"['’]\w{1,2}$", "", word)) and (len(word) > 1 or word.isupper()):
            found.add(stem_of(word))
    return frozenset(found)


@lru_cache(maxsize=4096)
def clauses_of(text: str) -> tuple[tuple[int, int], ...]:
    """Where the clauses of a text begin and end."""
    spans = []
    start = 0
    for match in _CLAUSE.finditer(text):
        if match.start() > start:
            spans.append((start, match.start()))
        start = match.end()
    return (*spans, (start, len(text)))


@lru_cache(maxsize=4096)
def clause_at(text: str, place: int) -> str:
    """The clause around a place, with the one before where it speaks of nothing itself: "and takes 50 minutes"."""
    first: int | None = None
    for start, end in clauses_of(text):
        first = start if first is None else first
        if start <= place < end:
            return text[start:end] if stems_of(text[start:end]) else text[first:end]
        if text[start:end].rstrip().endswith((".", ";", ":", "。", "；", "：")):
            first = None
        elif stems_of(text[start:end]):
            first = start
    return text


def statements_of(text: str) -> list[str]:
    """The sentences of a paragraph, and the parts of those that a semicolon divides."""
    return [piece for piece in _SENTENCE.split(text) if piece and piece.strip()]


def rarity(texts: Sequence[str]) -> dict[str, float]:
    """For every stem how much it tells, from 1 where all texts have it."""
    seen: dict[str, int] = {}
    for text in texts:
        for stem in stems_of(text):
            seen[stem] = seen.get(stem, 0) + 1
    return {stem: len(texts) / number for stem, number in seen.items()}


def is_without_spaces(stems: Iterable[str]) -> bool:
    """Whether most of these stems are of a script that has no spaces."""
    own = list(stems)
    return sum(bool(re.match(rf"[{_CJK}]", stem)) for stem in own) * 2 > len(own)


def texts_of(draft: Draft) -> str:
    """All that tells what a memory is about."""
    return (
        f"{' '.join(draft.files).replace('_', ' ').removesuffix('.md')} {draft.title} {draft.description}\n{draft.body}"
    )


def fact_of(body: str) -> str:
    """What a memory says, without the named parts behind it."""
    part = _PART.search(body)
    return body[: part.start()] if part else body
