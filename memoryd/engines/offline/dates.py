"""Relative dates to absolute ones, against the day on which they were said. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    Resolve = Callable[[re.Match[str], date], str | None]
    """What a match means on a day; None where it means no single one."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10}
_DAY = "|".join(_DAYS)
_COUNT = r"\d{1,3}|" + "|".join(_NUMBERS)


def day_of(said_at: float) -> date | None:
    """The calendar day where the user is; None for a time beyond the calendar."""
    try:
        return datetime.fromtimestamp(said_at).astimezone().date()
    except (OverflowError, OSError, ValueError):
        return None


def with_absolute_dates(text: str, day: date) -> str:
    """The text with every relative date that means one day, week or month replaced by it."""
    for pattern, resolve in _RULES:
        text = pattern.sub(_replacement(resolve, day), text)
    return text


def _replacement(resolve: Resolve, day: date) -> Callable[[re.Match[str]], str]:
    def replaced(match: re.Match[str]) -> str:
        try:
            return resolve(match, day) or match[0]
        except (OverflowError, ValueError):  # beyond the calendar
            return match[0]

    return replaced


def _upcoming(day: date, weekday: str, *, same_day_counts: bool) -> date:
    ahead = (_DAYS.index(weekday.lower()) - day.weekday()) % 7
    return day + timedelta(days=ahead or (0 if same_day_counts else 7))


def _next(match: re.Match[str], day: date) -> str:
    """`next Friday` is the one of the next week, as most people mean it."""
    monday = day - timedelta(days=day.weekday()) + timedelta(days=7)
    return (monday + timedelta(days=_DAYS.index(match[1].lower()))).isoformat()


def _last(match: re.Match[str], day: date) -> str:
    back = (day.weekday() - _DAYS.index(match[1].lower())) % 7 or 7
    return (day - timedelta(days=back)).isoformat()


def _shifted(match: re.Match[str], day: date, direction: int) -> str | None:
    number = _NUMBERS.get(match[1].lower()) or int(match[1])
    unit = match[2].lower()
    if unit.startswith("month"):
        return None
    return (day + direction * timedelta(days=number * (7 if unit.startswith("week") else 1))).isoformat()


def _end_of_month(day: date) -> date:
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _next_month(day: date) -> str:
    return (_end_of_month(day) + timedelta(days=1)).strftime("%B %Y")


def _rule(pattern: str, resolve: Resolve) -> tuple[re.Pattern[str], Resolve]:
    return re.compile(rf"(?i)\b(?:{pattern})\b"), resolve


_RULES = (
    _rule(r"the day after tomorrow", lambda _, day: (day + timedelta(days=2)).isoformat()),
    _rule(r"the day before yesterday", lambda _, day: (day - timedelta(days=2)).isoformat()),
    _rule(r"today|tonight", lambda _, day: day.isoformat()),
    _rule(r"tomorrow", lambda _, day: (day + timedelta(days=1)).isoformat()),
    _rule(r"yesterday", lambda _, day: (day - timedelta(days=1)).isoformat()),
    _rule(rf"next ({_DAY})", _next),
    _rule(rf"last ({_DAY})", _last),
    _rule(rf"this ({_DAY})", lambda match, day: _upcoming(day, match[1], same_day_counts=True).isoformat()),
    _rule(rf"(?<=\bon )({_DAY})(?!s)", lambda match, day: _upcoming(day, match[1], same_day_counts=False).isoformat()),
    _rule(rf"(?<=\bby )({_DAY})(?!s)", lambda match, day: _upcoming(day, match[1], same_day_counts=True).isoformat()),
    _rule(
        rf"(?<=\buntil )({_DAY})(?!s)", lambda match, day: _upcoming(day, match[1], same_day_counts=True).isoformat()
    ),
    _rule(rf"in ({_COUNT}) (days?|weeks?|months?)", lambda match, day: _shifted(match, day, 1)),
    _rule(rf"({_COUNT}) (days?|weeks?|months?) ago", lambda match, day: _shifted(match, day, -1)),
    _rule(r"the end of (?:the|this) week", lambda _, day: _upcoming(day, "friday", same_day_counts=True).isoformat()),
    _rule(r"the end of (?:the|this) month", lambda _, day: _end_of_month(day).isoformat()),
    _rule(
        r"next week",
        lambda _, day: f"the week of {(day - timedelta(days=day.weekday()) + timedelta(days=7)).isoformat()}",
    ),
    _rule(r"next month", lambda _, day: _next_month(day)),
)
