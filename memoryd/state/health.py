"""What `doctor` asks of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memoryd.state.database import Database


class Unfinished(NamedTuple):
    """A job that has begun and not ended."""

    kind: str
    session_id: str
    started_at: float


class Unworked(NamedTuple):
    """Turns that nobody has worked on, in transcripts that are still there."""

    turns: int = 0
    oldest_at: float | None = None
    """When the transcript of them that is deleted first was last written."""


def format_version(database: Database) -> int:
    version: int = database.query("PRAGMA user_version")[0][0]
    return version


def newest_times(database: Database) -> list[tuple[str, float]]:
    """What was recorded last, by kind, and when."""
    found = []
    for what, column, table in (
        ("look at the transcripts", "scanned_at", "roots"),
        ("job", "started_at", "jobs"),
        ("change", "at", "changes"),
    ):
        at = database.query(f"SELECT max({column}) FROM {table}")[0][0]  # noqa: S608 - from the list above
        if at is not None:
            found.append((what, at))
    return found


def unfinished_jobs(database: Database) -> list[Unfinished]:
    rows = database.query("SELECT kind, session_id, started_at FROM jobs WHERE outcome IS NULL ORDER BY id")
    return [Unfinished(*row) for row in rows]


def prepared_since(database: Database) -> list[float]:
    """When each of the changes was begun that are not closed."""
    return [row[0] for row in database.query("SELECT at FROM changes WHERE state = 'prepared' ORDER BY at")]


def unworked(database: Database, *, history: bool) -> Unworked:
    rows = database.query(
        "SELECT count(*), min(mtime_ns) FROM turns JOIN transcripts ON transcripts.id = transcript_id"
        " WHERE outcome IS NULL AND is_history = ? AND missing_at IS NULL AND NOT opted_out",
        (history,),
    )
    turns, oldest = rows[0]
    return Unworked(turns, None if oldest is None else oldest / 1e9)


def deleted_unworked(database: Database) -> int:
    """Turns whose transcript was deleted before anybody worked on them."""
    number: int = database.query(
        "SELECT count(*) FROM turns JOIN transcripts ON transcripts.id = transcript_id"
        " WHERE outcome IS NULL AND missing_at IS NOT NULL AND NOT opted_out"
    )[0][0]
    return number
