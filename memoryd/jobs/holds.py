"""Holds: why jobs cannot run now, and until when. It imports little, as `status` uses it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.model import credentials
from memoryd.errors import BusyError
from memoryd.model import Wait
from memoryd.state import engine_holds, pauses
from memoryd.state.engine_holds import Hold

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

RESUME = "memoryd resume"
_TURN_SECONDS = 30.0
"""So often somebody looks again whether the other job is done."""


def hold_of(database: Database, config: Config, now: float) -> Hold | None:
    """Pause by the user, or hold of the engine that the config names."""
    if (pause := pauses.current_pause(database, now)) is not None:
        return Hold("paused", pause.sentence, RESUME, pause.until, pause.since)
    if not credentials.is_chosen(config):
        return None
    engine = credentials.engine_name(config)
    return engine_holds.current_hold(database, engine, credentials.settings_digest(config), now)


def engine_wait(database: Database, paths: Paths, config: Config, now: float) -> Wait | None:
    """Why nothing can be worked on now: a hold, or another job that uses what only one may use at a time."""
    if (wait := as_wait(hold_of(database, config, now))) is not None or config.engine != credentials.CLAUDE:
        return wait
    from memoryd.engines.model.claude import turn_lock  # noqa: PLC0415 - for those who use it

    if not turn_lock.is_taken(paths):
        return None
    return Wait(now + _TURN_SECONDS, "claude_at_work", "claude is at work for another job")


def as_wait(hold: Hold | None) -> Wait | None:
    return None if hold is None else Wait(hold.until, hold.reason, hold.text.rstrip("."))


def refuse_while_paused(database: Database, now: float) -> None:
    """Raise BusyError during a pause."""
    if (pause := pauses.current_pause(database, now)) is not None:
        raise BusyError(pause.sentence, RESUME)
