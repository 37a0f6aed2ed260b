"""Holds of an engine: its key was refused, its endpoint or command has trouble, or the day's budget is used up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.backoff import ENGINE

if TYPE_CHECKING:
    from memoryd.state.database import Database


RestReason = Literal[
    "engine_busy", "engine_missing", "engine_logged_out", "engine_outdated", "engine_hung", "engine_replaced"
]
"""Why an engine is tried again after a while, each time after a longer one."""
CapReason = Literal["budget_reached", "limit_reached"]
"""Why it waits for the next day: our own cap, or what its maker says."""


class Hold(NamedTuple):
    reason: Literal["paused", "engine_stopped"] | RestReason | CapReason
    text: str
    fix: str
    until: float | None
    """None: until the settings change, or the user ends it."""
    at: float


def stop(database: Database, engine: str, text: str, fix: str, settings: bytes, now: float) -> None:
    """The engine cannot work with these settings."""
    database.execute(
        "INSERT OR REPLACE INTO holds VALUES (?, 'engine_stopped', ?, ?, NULL, ?, 0, ?)",
        (engine, text, fix, settings, now),
    )


def pause(
    database: Database,
    engine: str,
    text: str,
    fix: str,
    settings: bytes,
    until: float,
    now: float,
    reason: CapReason = "budget_reached",
) -> None:
    """What a day may take is used up, until the day turns or the settings change."""
    database.execute(
        "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
        (engine, reason, text, fix, until, settings, now),
    )


def rest(
    database: Database,
    engine: str,
    text: str,
    after: float | None,
    settings: bytes,
    now: float,
    *,
    reason: RestReason = "engine_busy",
    fix: str = "",
) -> float:
    """The engine has trouble: wait as long as it asks for, or longer after every failure in a row. Returns until when."""
    with database.transaction():
        # A stop and a cap have none: only what was tried again in vain makes the next delay longer.
        known = database.query("SELECT failures FROM holds WHERE engine = ?", (engine,))
        failures = 1 + (known[0]["failures"] if known else 0)
        delay = min(max(ENGINE.delay(failures), after or 0.0), ENGINE.longest_seconds)
        database.execute(
            "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (engine, reason, text, fix, now + delay, settings, failures, now),
        )
    return now + delay


def lift(database: Database, engine: str) -> bool:
    """The engine works again, or shall be tried; False where it did not rest."""
    if not database.query("SELECT 1 FROM holds WHERE engine = ?", (engine,)):
        return False
    return database.execute("DELETE FROM holds WHERE engine = ?", (engine,)).rowcount > 0


def current_hold(database: Database, engine: str, settings: bytes, now: float) -> Hold | None:
    """What keeps the engine from working now. What is about settings is over when they are no longer the same."""
    rows = database.query("SELECT * FROM holds WHERE engine = ?", (engine,))
    if not rows:
        return None
    row = rows[0]
    is_other = row["settings"] != settings
    is_past = row["until"] is not None and not row["at"] <= now < row["until"]  # or the clock was set back
    return None if is_other or is_past else Hold(row["reason"], row["text"], row["fix"], row["until"], row["at"])
