"""Dates that a text writes out: `2027-01-15`, `15.1.2027`, `15 January 2027`, `January 15, 2027`, `2027年1月15日`. Pure."""

from __future__ import annotations

import re
from datetime import date
from functools import cache

from memoryd.language.date_words import month_numbers


@cache
def written_date() -> re.Pattern[str]:
    """A written date; `date_of` reads the match."""
    month = "|".join(sorted(month_numbers(), key=len, reverse=True))
    return re.compile(
        r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b|(?<![\w/])(?P<y1>\d{4})/(?P<m1>\d{1,2})/(?P<d1>\d{1,2})(?![\w/])"
        r"|(?P<y2>\d{4}) ?年 ?(?P<m2>\d{1,2}) ?月 ?(?P<d2>\d{1,2}) ?日"
        r"|(?<![\w.])(?P<d3>\d{1,2})\.(?P<m3>\d{1,2})\.(?P<y3>\d{4})\b"
        rf"|\b(?P<d4>\d{{1,2}})(?:\.|st|nd|rd|th|er)? (?:of |de )?(?P<m4>{month})\.?,? (?:del? )?(?P<y4>\d{{4}})\b"
        rf"|\b(?P<m5>{month})\.? (?P<d5>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y5>\d{{4}})\b",
        re.IGNORECASE,
    )


def date_of(match: re.Match[str]) -> date | None:
    """The day of a match; None for one that no calendar has."""
    found = {name[0]: value for name, value in match.groupdict().items() if value}
    try:
        return date(int(found["y"]), month_numbers().get(found["m"].lower()) or int(found["m"]), int(found["d"]))
    except ValueError:
        return None


def with_iso_dates(text: str) -> str:
    """The text with every written date as `2027-01-15`."""
    return written_date().sub(lambda match: str(date_of(match) or match[0]), text)
