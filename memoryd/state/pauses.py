"""Pause that the user asked for: the daemon starts no jobs while it lasts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoryd.state import settings

if TYPE_CHECKING:
    from memoryd.state.database import Database

_STEP_SECONDS = 600.0
"""A clock that was set back by more than this ends a pause: its end could lie too far ahead. Corrections are of seconds."""


class Pause(NamedTuple):
    since: float
    until: float | None
    """None: until `memoryd resume`."""

    @property
    def sentence(self) -> str:
        """Sentence for people. It stays the same during the pause, so that it is reported once."""
        since = datetime.fromtimestamp(self.since).astimezone()
        if self.until is None:
            return f"memoryd is paused since {since:%Y-%m-%d %H:%M}."
        until = datetime.fromtimestamp(self.until).astimezone()
        day = "" if until.date() == since.date() else f"{until:%Y-%m-%d} "
        return f"memoryd is paused since {since:%Y-%m-%d %H:%M}, until {day}{until:%H:%M}."


def begin(database: Database, until: float | None, now: float) -> Pause:
    """Begin a pause, in place of one that lasts already."""
    settings.put(database, settings.PAUSE, {"until": until}, now)
    return Pause(now, until)


def end(database: Database) -> None:
    settings.drop(database, settings.PAUSE)


def current_pause(database: Database, now: float) -> Pause | None:
    """The pause that lasts now. A pause with an end is also over when the clock was set back."""
    setting = settings.get(database, settings.PAUSE)
    if setting is None:
        return None
    until: float | None = setting.value["until"]
    is_over = until is not None and not setting.at - _STEP_SECONDS <= now < until
    return None if is_over else Pause(setting.at, until)
