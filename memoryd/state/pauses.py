"""A pause that the user asked for: while it lasts, nothing is worked on by itself."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryd.state import settings

if TYPE_CHECKING:
    from memoryd.state.database import Database

_STEP_SECONDS = 600.0
"""Clocks are put right by seconds all the time. Set back by more than this, a clock says nothing of an end that it was to
tell."""


class Pause(NamedTuple):
    since: float
    until: float | None
    """None: until `memoryd resume`."""

    @property
    def sentence(self) -> str:
        """The same as long as it lasts: whoever tells it once knows it again."""
        since = datetime.fromtimestamp(self.since).astimezone()
        if self.until is None:
            return f"memoryd is paused since {since:%Y-%m-%d %H:%M}."
        until = datetime.fromtimestamp(self.until).astimezone()
        day = "" if until.date() == since.date() else f"{until:%Y-%m-%d} "
        return f"memoryd is paused since {since:%Y-%m-%d %H:%M}, until {day}{until:%H:%M}."


def begin(database: Database, until: float | None, now: float) -> Pause:
    """A pause that lasts already is replaced."""
    settings.put(database, settings.PAUSE, {"until": until}, now)
    return Pause(now, until)


def end(database: Database) -> None:
    settings.drop(database, settings.PAUSE)


def current_pause(database: Database, now: float) -> Pause | None:
    """The pause that lasts now. One with an end is also over when the clock was set back: rather early than never."""
    setting = settings.get(database, settings.PAUSE)
    if setting is None:
        return None
    until: float | None = setting.value["until"]
    is_over = until is not None and not setting.at - _STEP_SECONDS <= now < until
    return None if is_over else Pause(setting.at, until)
