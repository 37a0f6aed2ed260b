"""Phrases that name a day, as patterns, and the tense of the clause they stand in. Pure."""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

from memoryd.language.date_words import languages as known_languages
from memoryd.language.date_words import ordinals
from memoryd.language.lexicon import table

if TYPE_CHECKING:
    from memoryd.language.date_words import Language

_STAYS = re.compile(
    r"```.*?```|`[^`\n]*`|\b[a-z][a-z0-9+.-]{1,20}://\S+|\bwww\.\S+"
    r"|\"[^\"\n]{1,80}\"|(?<!\w)'[^'\n]{1,60}'(?!\w)|(?<!\w)‘[^’\n]{1,60}’(?!\w)"
    r"|“[^”\n]{1,80}”|„[^“”\n]{1,80}[“”]|«[^»\n]{1,80}»|「[^」\n]{1,80}」|『[^』\n]{1,80}』"
    r"|\b\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,4}年\d{1,2}月\d{1,2}日|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b",
    re.IGNORECASE | re.DOTALL,
)


class Tenses:
    """The words of a text that tell the tense, and the ends of its clauses."""

    def __init__(self, text: str, language: Language) -> None:
        matches = list(_tense_of(language).finditer(text))
        self._places = [match.start() for match in matches]
        self._kinds = [match.lastgroup or "" for match in matches]
        self._is_habit = [False]
        for kind in self._kinds:
            self._is_habit.append(kind == "habit" or (self._is_habit[-1] and kind != ""))

    def at(self, start: int, end: int) -> str:
        """The last such word of the clause before a phrase decides, then the first behind it."""
        before, behind = bisect_left(self._places, start), bisect_left(self._places, end)
        if self._is_habit[before]:
            return "habit"
        if before and self._kinds[before - 1]:
            return self._kinds[before - 1]
        return self._kinds[behind] if behind < len(self._kinds) else ""


def candidates(text: str, languages: list[Language]) -> list[tuple[int, int, str, int, Language, re.Match[str]]]:
    """Start, end and meaning of every phrase, the leftmost first and of those the longest."""
    english = known_languages()["english"]
    found = [(*match.span(), "keep", 0, english, match) for match in _STAYS.finditer(text)]
    for language in languages:
        for meaning, shift, pattern in _phrases_of(language):
            for match in pattern.finditer(text):
                anew = next((name for name, value in match.groupdict().items() if value and name[:4] == "said"), 0)
                found.append((*match.span(anew), meaning, shift, language, match))
    return sorted(found, key=lambda one: (one[0], -one[1]))


@cache
def _tense_of(language: Language) -> re.Pattern[str]:
    edge = r"\b" if language.spaced else ""
    words = f"(?P<present>{language.present})|(?P<past>{language.past})|(?P<habit>{_joined('habits')})"
    return re.compile(f"{edge}(?:{words}){edge}|{_joined('clause_end')}", re.IGNORECASE)


def _joined(name: str) -> str:
    return "|".join(table("dates")[name].split("\n")[:-1])


def languages_of(text: str) -> list[Language]:
    """The languages in which the text may name a day: "hier" is yesterday, but not in a German sentence."""
    known = known_languages()
    cued = [language for language in known.values() if _cue(language).search(text)]
    chinese, japanese = known["chinese"], known["japanese"]
    if chinese in cued and japanese in cued:
        if re.search(r"[\u3040-\u30ff]", text):
            cued.remove(chinese)
        elif re.search("[的了是不在我你他这這们們个個吗嗎]", text):
            cued.remove(japanese)
    if not any(language.spaced for language in cued):
        return cued
    common = _common_words(text)
    return [one for one in cued if not one.spaced or 2 * common[one.name] >= max(common.values())]


def has_words_of(text: str, language: str) -> bool:
    """Whether a text has words of this language that tell it from the others, and of none more."""
    common = _common_words(text)
    return 0 < common[language] == max(common.values())


def _common_words(text: str) -> dict[str, int]:
    """How many words of each language a text has that tell it from the others; without those that need no blanks."""
    return {one.name: sum(1 for _ in _common(one).finditer(text)) for one in known_languages().values() if one.spaced}


@cache
def _common(language: Language) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w）])(?:{language.common.replace(' ', '|')})\b", re.IGNORECASE)


@cache
def _cue(language: Language) -> re.Pattern[str]:
    if not language.spaced:
        return re.compile(language.cue)
    words = f"{language.weekdays} {language.months} {language.units}".replace(" ", "|")
    return re.compile(rf"\b(?:{words}|{language.cue})", re.IGNORECASE)


@cache
def _phrases_of(language: Language) -> list[tuple[str, int, re.Pattern[str]]]:
    """The phrases of a language as patterns that find no part of a path, a name or a number."""
    before, behind = r"(?<![/\\_）-])", r"(?![/\\_]|\.\w)"
    if language.spaced:
        before, behind = r"(?<![\w/\\@#$.~^=&+）-])", r"(?![\w/\\@=]|-\w|\.\w)"
    return [
        (meaning, shift, re.compile(f"{before}(?:{_pattern(phrase, language)}){behind}", re.IGNORECASE))
        for meaning, shift, phrase in language.phrases
    ]


def _pattern(phrase: str, language: Language) -> str:
    """The phrase with its words filled in, each under a name of its own."""
    words = {
        "wd": language.weekdays.replace(" ", "|"),
        "mon": language.months.replace(" ", "|") if language.spaced else language.months,
        "dd": language.day_of_month,
        "day": r"\d{1,2}",
        "n": r"\d{1,3}|" + language.numbers.replace(" ", "|"),
        "unit": language.units.replace(" ", "|"),
        "ord": ordinals().replace(" ", "|"),
    }
    end = language.end
    if language.spaced:
        end = rf"(?= ?(?:$|\n|[^\w\s%€$°-]|-\s|(?:{end.replace(' ', '|')})\b))"
    numbers = count(1)
    pattern = phrase.replace("<end>", end).replace("]]", ")")
    pattern = re.sub(r"\[\[", lambda _: f"(?P<said{next(numbers)}>", pattern)
    for name, spellings in words.items():
        pattern = re.sub(f"<{name}>", lambda _: f"(?P<{name}{next(numbers)}>{spellings})", pattern)  # noqa: B023
    blank = r"[^\S\n]{1,3}" if language.spaced else r"[^\S\n]?"
    return pattern.replace(" ?", r"[^\S\n]{0,3}").replace(" ", blank)
