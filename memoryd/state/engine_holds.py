"""Holds of an engine: its key was refused, its endpoint or command fails, or the day's budget is used up."""

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
    """Hold the engine until its settings change."""
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
    """Hold the engine until the next day, or until its settings change: what a day may take is used up."""
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
    """Hold the engine for as long as it asks, or longer after every failure in a row. Returns until when."""
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
    """End the hold; False where there was none."""
    if not database.query("SELECT 1 FROM holds WHERE engine = ?", (engine,)):
        return False
    return database.execute("DELETE FROM holds WHERE engine = ?", (engine,)).rowcount > 0


def current_hold(database: Database, engine: str, settings: bytes, now: float) -> Hold | None:
    """Hold that applies now; it ends when the settings it is about change."""
    rows = database.query("SELECT * FROM holds WHERE engine = ?", (engine,))
    if not rows:
        return None
    row = rows[0]
    is_other = row["settings"] != settings
    is_past = row["until"] is not None and not row["at"] <= now < row["until"]  # or the clock was set back
    return None if is_other or is_past else Hold(row["reason"], row["text"], row["fix"], row["until"], row["at"])
