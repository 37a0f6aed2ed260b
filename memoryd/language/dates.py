"""Relative dates to absolute ones, against the day on which they were said. Pure.

1. Find every phrase that could be a date, and every place that must stay as it is.
2. Walk through them from the left, the longest first; what a phrase means may depend on the date before it.
3. Write each meaning in brackets behind its phrase; what means no certain day stays as it was said.
"""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

import re
from bisect import bisect_right
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memoryd.language.date_phrases import Tenses, candidates, languages_of
from memoryd.language.date_words import ordinals
from memoryd.language.days import (
    DAY,
    WEEK,
    ahead_to,
    days_numbered,
    easter,
    end_of_month,
    first_of_month,
    monday,
    quarter,
)
from memoryd.language.lexicon import pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.language.date_words import Language

_RECENTLY = timedelta(days=21)
"""A yearless day this near in the past is meant as past; an earlier one as next year's."""
_HALF_A_YEAR = timedelta(days=182)

_WRITTEN = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)|(\d{1,4})年(\d{1,2})月(\d{1,2})日")
_WRITTEN_BEHIND = re.compile(
    r"(?:['’]s)?(?:,? ?(?:\d{4}[-/]\d\d?[-/]\d\d?|\d{1,2}\.\d{1,2}\.\d{4})|\s?[(（](?:[A-Z][a-z]{2,8} )?\d{4})"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？\n]")
_POSSESSIVE = re.compile(r"['’]s\b")
_RANGE = re.compile(r"(?:\b(?:or|to|bis|oder|o|a|ou|à)\s|[-~到至或〜])$", re.IGNORECASE)
_DIGITS = "一二三四五六七八九"


def day_of(said_at: float) -> date | None:
    """The calendar day where the user is; None for a time beyond the calendar."""
    try:
        return datetime.fromtimestamp(said_at).astimezone().date()
    except (OverflowError, OSError, ValueError):
        return None


def with_absolute_dates(text: str, day: date) -> str:
    """The text with every relative or yearless date that means one day, week or month followed by that in brackets."""
    languages = languages_of(text)
    if not languages:
        return text
    tenses = {language: Tenses(text, language) for language in languages}
    sentences = [match.end() for match in _SENTENCE_END.finditer(text)]
    parts: list[str] = []
    done = written = month = 0
    seen: date | None = None
    for start, end, meaning, shift, language, match in candidates(text, languages):
        if start < done:
            continue
        if bisect_right(sentences, done) != bisect_right(sentences, start):
            seen, month = None, 0
        done = end
        if meaning == "keep":
            seen = _last_written(match[0]) or seen
        elif not _WRITTEN_BEHIND.match(text, end):
            if possessive := _POSSESSIVE.match(text, end):
                done = possessive.end()
            said = _Said(language, match, start, done, day, seen, month, tenses[language].at(start, end))
            if meaning == "month":
                month = said.month
            elif (told := _told(said, meaning, shift)) is not None:
                parts += text[written:start], told
                seen, written = _last_written(told) or seen, done
    return "".join([*parts, text[written:]])


class _Said(NamedTuple):
    """A phrase where it stands."""

    language: Language
    match: re.Match[str]
    start: int
    end: int
    day: date
    seen: date | None
    named: int
    """The date and the month before it in the same sentence."""
    tense: str
    """Whether its clause speaks of the `past`, the `present` (or future) or a `habit`; empty where it does not say."""

    def word(self, name: str) -> str:
        """The first of the groups of this name that took part; empty for none."""
        groups = self.match.groupdict().items()
        return next((value for key, value in groups if value and key.rstrip("0123456789") == name), "")

    @property
    def text(self) -> str:
        return self.match.string[self.start : self.end]

    @property
    def weekday(self) -> int:
        return _index(self.word("wd"), self.language.weekdays)

    @property
    def number(self) -> int:
        word = self.word("n")
        return int(word) if word.isdecimal() else _index(word, self.language.numbers) + 1

    @property
    def month(self) -> int:
        if quarter := self.word("quarter"):
            return 3 * int(quarter)
        word = self.word("month") or self.word("mon")
        return _numeral(word) or _index(word, self.language.months) + 1

    @property
    def day_of_month(self) -> int:
        if word := self.word("ord"):
            return _index(word, ordinals()) + 1
        return _numeral(self.word("dd") or self.word("day") or self.word("number") or "1")  # "premier", "primero"


def _told(said: _Said, meaning: str, shift: int) -> str | None:
    """What to write for a phrase; None where it means no certain day."""
    if (said.tense == "habit" and meaning in _MAY_BE_HABIT) or (said.tense == "past" and meaning in _AHEAD_ONLY):
        return None
    try:
        return _MEANINGS[meaning](said, shift)
    except (OverflowError, ValueError):  # beyond the calendar, or February 30
        return None


# How a meaning is written.


def _noted(said: _Said, *meaning: object) -> str:
    told = " - ".join(map(str, meaning))
    return f"{said.text} ({told})" if said.language.spaced else f"{said.text}（{told}）"


def _yearless(said: _Said, month: int, number: int | None) -> date:
    """That day (or the last of the month) in the year that is meant."""

    def in_year(year: int) -> date:
        return end_of_month(date(year, month, 1)) if number is None else date(year, month, number)

    on = in_year(said.day.year)
    if said.tense == "past":
        return in_year(said.day.year - 1) if on - said.day > _HALF_A_YEAR else on
    return in_year(said.day.year + 1) if said.day - on > _RECENTLY else on


# What the phrases mean.


def _coming(said: _Said, _: int) -> str | None:
    if said.tense == "past" or (said.seen is not None and said.seen - said.day >= WEEK):
        return None  # "it broke on Friday"; or the Friday of the week that was spoken of
    return _noted(said, ahead_to(said.day, said.weekday))


def _this(said: _Said) -> date:
    """The weekday that was said, from this day on."""
    return ahead_to(said.day - DAY, said.weekday)


def _day_of_month(said: _Said, direction: int) -> str | None:
    number = said.day_of_month
    if direction < 0:
        return _noted(said, next(one for one in days_numbered(said.day, number, -1) if one < said.day))
    if said.tense == "past" or number == said.day.day:
        return None
    on = next((one for one in days_numbered(said.day, number) if one > said.day), None)
    if on and said.seen and said.seen > on and number > said.seen.day:  # "from November 1 to the 12th"
        on = said.seen.replace(day=number)
    elif said.named:  # "in the middle of November, on the 15th"
        on = _yearless(said, said.named, number)
    return None if on is None else _noted(said, on)


def _weekday_of_month(said: _Said, _: int) -> str | None:
    """Decided by the number; none where the weekday is another in all the months to come."""
    days = (one for one in days_numbered(said.day, said.day_of_month) if one >= said.day)
    on = next((one for one in days if one.weekday() == said.weekday), None)
    return None if on is None else _behind_weekday(said, on)


def _date(said: _Said, _: int) -> str | None:
    is_verb = said.word("mon") in {"may", "march", "mar"} and said.word("day")  # "these may 3 times"
    if is_verb and not pattern("dates", "before_a_month").search(
        said.match.string, max(0, said.start - 10), said.start
    ):
        return None
    return _behind_weekday(said, _yearless(said, said.month, said.day_of_month))


def _behind_weekday(said: _Said, on: date) -> str | None:
    """The date; None where a weekday was said that is another."""
    return None if said.word("wd") and on.weekday() != said.weekday else _noted(said, on)


def _end_of_named_month(said: _Said, _: int) -> str:
    year = int(said.word("year") or 0)
    return _noted(said, end_of_month(date(year, said.month, 1)) if year else _yearless(said, said.month, None))


def _last_weekday(said: _Said, month: date) -> str | None:
    """The last such weekday of a month; None where it was before the day on which it was said."""
    end = end_of_month(month)
    on = end - (end.weekday() - said.weekday) % 7 * DAY
    return _noted(said, on) if on >= said.day else None


def _end_of_week(said: _Said, weeks: int) -> str | None:
    friday = monday(said.day, weeks) + 4 * DAY
    return _noted(said, friday) if friday >= said.day else None


def _part_of_month(said: _Said, _: int) -> str | None:
    if said.tense == "past":
        return None
    return _noted(said, f"{_yearless(said, said.month, 15).year:04}")


def _distant(said: _Said, direction: int) -> str | None:
    if _RANGE.search(said.match.string, max(0, said.start - 8), said.start):
        return None  # "two or three weeks ago"
    if said.tense in {"past", "habit"} and direction > 0:
        return None  # "wrote it in two weeks"
    unit = ("day", "week", "month", "year")[_index(said.word("unit"), said.language.units)]
    number = direction * said.number
    if unit in {"day", "week"}:
        return _noted(said, said.day + number * (WEEK if unit == "week" else DAY))
    month = first_of_month(said.day, number * (12 if unit == "year" else 1))
    if unit == "year":
        return _noted(said, _month(said, month))
    return _noted(said, month.replace(day=min(said.day.day, end_of_month(month).day)))


def _month(said: _Said, month: date) -> str:
    if said.language.name != "english":
        return month.isoformat()[:7]
    name, _, _ = said.language.months.split()[month.month - 1].partition("|")
    return f"{name.title()} {month.year:04}"


def _at_easter(said: _Said, shift: int) -> str:
    days = (easter(said.day.year + later) + shift * DAY for later in (0, 1))
    return _noted(said, next(on for on in days if on >= said.day))


_AHEAD_ONLY = {"end of week", "end of month", "end of quarter", "end of year"}
_MAY_BE_HABIT = {"coming", "day of month", "end of month", "end of quarter", "end of year", "easter", "feast"}
_MEANINGS: dict[str, Callable[[_Said, int], str | None]] = {
    "day": lambda said, shift: _noted(said, said.day + shift * DAY),
    "day noted": lambda said, shift: _noted(said, said.day + shift * DAY),
    "coming": _coming,
    "coming, not today": lambda said, _: None if said.weekday == said.day.weekday() else _coming(said, 0),
    "this": lambda said, _: _noted(said, _this(said)),
    "last": lambda said, _: _noted(said, _this(said) - WEEK),
    "week": lambda said, weeks: _noted(said, monday(said.day, weeks) + said.weekday * DAY),
    "numbered week": lambda said, _: _noted(said, monday(said.day, said.number) + said.weekday * DAY),
    "weeks from": lambda said, more: _noted(said, _this(said) + (said.number + more) * WEEK),
    "so many weeks from": lambda said, weeks: _noted(said, _this(said) + weeks * WEEK),
    "day of month": _day_of_month,
    "weekday of month": _weekday_of_month,
    "day in month": lambda said, n: _noted(said, first_of_month(said.day, n).replace(day=said.day_of_month)),
    "date": _date,
    "end of month": lambda said, months: _noted(said, end_of_month(first_of_month(said.day, months))),
    "end of named month": _end_of_named_month,
    "last weekday of month": lambda said, months: _last_weekday(said, first_of_month(said.day, months)),
    "last weekday of named month": lambda said, _: _last_weekday(said, _yearless(said, said.month, None)),
    "end of quarter": lambda said, shift: _noted(said, quarter(said.day, shift)[1]),
    "end of year": lambda said, shift: _noted(said, date(said.day.year + shift, 12, 31)),
    "end of week": _end_of_week,
    "part of month": _part_of_month,
    "ahead": _distant,
    "ahead of tomorrow": lambda said, shift: _distant(said._replace(day=said.day + DAY), shift),
    "whole week": lambda said, weeks: _noted(said, on := monday(said.day, weeks), on + 6 * DAY),
    "weekend": lambda said, weeks: _noted(said, on := monday(said.day, weeks) + 5 * DAY, on + DAY),
    "whole month": lambda said, shift: _noted(said, _month(said, first_of_month(said.day, shift))),
    "whole quarter": lambda said, shift: _noted(said, *quarter(said.day, shift)),
    "whole year": lambda said, shift: _noted(said, date(said.day.year + shift, 1, 1).isoformat()[:4]),
    "easter": _at_easter,
    "feast": lambda said, month_and_day: _noted(said, _yearless(said, *divmod(month_and_day, 100))),
}


# Words.


def _index(word: str, words: str) -> int:
    return next((at for at, one in enumerate(words.split()) if re.fullmatch(one, word, re.IGNORECASE)), -1)


def _numeral(word: str) -> int:
    """The number that "21st", "3月" or "二十八号" begin with; 0 for none."""
    if digits := re.match(r"\d+", word):
        return int(digits[0])
    tens, ten, ones = re.sub(r"[\s号號日月份]", "", word).rpartition("十")
    value = {digit: number for number, digit in enumerate(_DIGITS, 1)}
    return (10 * value.get(tens, 1) if ten else 0) + value.get(ones, 0)


def _last_written(text: str) -> date | None:
    dates = [[int(part) for part in match.groups() if part] for match in _WRITTEN.finditer(text)]
    try:
        return date(*dates[-1]) if dates else None
    except ValueError:
        return None
