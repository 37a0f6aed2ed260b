"""Settings in the database, by name: a pause, the last upkeep, the last job in the log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from memoryd.state.database import Database

PAUSE = "pause"
UPKEEP = "upkeep"
CLAUDE = "claude"
"""The `claude` command that was used last: where it is, what tells it from another, its version."""
LOGGED = "logged"
"""The last job that has its line in the log."""
PURGED = "purged"
"""Something was purged, and freed pages or the WAL may still hold it: the file is to be written anew."""
MODEL_WINDOWS = "model_windows"
"""How much each model can read at once, as its endpoint has told."""


class Setting(NamedTuple):
    value: Any
    at: float
    """When it was set."""


def get(database: Database, name: str) -> Setting | None:
    rows = database.query("SELECT value, at FROM settings WHERE name = ?", (name,))
    return Setting(json.loads(rows[0]["value"]), rows[0]["at"]) if rows else None


def put(database: Database, name: str, value: Any, now: float) -> None:
    database.execute(
        "INSERT OR REPLACE INTO settings (name, value, at) VALUES (?, ?, ?)", (name, json.dumps(value), now)
    )


def all_with(database: Database, prefix: str) -> dict[str, Any]:
    """Values of all settings whose names begin so."""
    rows = database.query("SELECT name, value FROM settings WHERE substr(name, 1, ?) = ?", (len(prefix), prefix))
    return {row["name"]: json.loads(row["value"]) for row in rows}


def drop(database: Database, name: str) -> bool:
    """Delete a setting; whether there was one."""
    return database.execute("DELETE FROM settings WHERE name = ?", (name,)).rowcount > 0
