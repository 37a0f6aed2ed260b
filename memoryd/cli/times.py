"""Times as a person types them: `2h`, `30min`, `14:30`, `2026-10-18`, `2026-10-18T14:30`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_PART = r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|min|m|h|d|w)"
_LATEST_YEAR = 9000  # behind it the arithmetic of calendars ends


def seconds_in(text: str) -> float | None:
    """Seconds in `2h`, `1h30min` or `1.5d`; None for other text."""
    if not re.fullmatch(rf"(?:{_PART}\s*)+", text.strip().lower()):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, text.lower()))


def moment_in(text: str, now: float, *, ahead: bool) -> float | None:
    """Moment of an ISO time or a time of day: the next one if `ahead`, else the last. None for other text.

    Without a zone, the local one is meant.
    """
    here = datetime.fromtimestamp(now)  # noqa: DTZ006 - the calendar counts: a day may have 23 or 25 hours
    try:
        if re.fullmatch(r"\d{1,2}:\d\d", text.strip()):
            hour, minute = map(int, text.split(":"))
            found = here.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
            if ahead and found <= here:
                found += timedelta(days=1)
            elif not ahead and found > here:
                found -= timedelta(days=1)
        else:
            found = datetime.fromisoformat(text.strip())
        return found.timestamp() if found.year < _LATEST_YEAR else None
    except (ValueError, OverflowError, OSError):
        return None
