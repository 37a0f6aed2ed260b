"""The calendar: days, weeks, months and quarters counted from a day. Pure."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = timedelta(days=1)
WEEK = timedelta(days=7)


def ahead_to(day: date, weekday: int) -> date:
    """The next such weekday, never the day itself."""
    return day + ((weekday - day.weekday() - 1) % 7 + 1) * DAY


def monday(day: date, weeks: int) -> date:
    return day + weeks * WEEK - day.weekday() * DAY


def first_of_month(day: date, months: int) -> date:
    number = day.year * 12 + day.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


def end_of_month(month: date) -> date:
    return month.replace(day=monthrange(month.year, month.month)[1])


def quarter(day: date, shift: int) -> tuple[date, date]:
    first = first_of_month(day, shift * 3 - (day.month - 1) % 3)
    return first, end_of_month(first_of_month(first, 2))


def days_numbered(day: date, number: int, step: int = 1) -> Iterator[date]:
    """The days of this number in this month and the three behind (or before) it."""
    for months in range(4):
        month = first_of_month(day, step * months)
        if 1 <= number <= end_of_month(month).day:
            yield month.replace(day=number)


def easter(year: int) -> date:
    """The Gregorian computus of Meeus, Jones and Butcher."""
    century, rest = divmod(year, 100)
    epact = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    month, day = divmod(epact + weekday - 7 * ((year % 19 + 11 * epact + 22 * weekday) // 451) + 114, 31)
    return date(year, month, day + 1)
