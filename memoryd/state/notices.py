"""Notices about memoryd itself, such as a database that was replaced; `status` shows them until they are dealt with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memoryd.state.database import Database


DELETED = "deleted database"


class Notice(NamedTuple):
    name: str
    text: str
    fix: str
    about_file: str
    """File that the notice is about; it is shown as long as the file exists."""


def post(database: Database, notice: Notice, now: float) -> None:
    database.execute(
        "INSERT OR REPLACE INTO notices VALUES (?, ?, ?, ?, ?)",
        (notice.name, notice.text, notice.fix, notice.about_file, now),
    )


def current_notices(database: Database) -> list[Notice]:
    rows = database.query("SELECT name, text, fix, about_file FROM notices ORDER BY at")
    return [notice for row in rows if os.path.exists((notice := Notice(*row)).about_file)]


def drop(database: Database, name: str) -> None:
    """Delete a notice that has been dealt with."""
    database.execute("DELETE FROM notices WHERE name = ?", (name,))
