"""Teams in the database: whether the user has agreed, for each project, to take part in its team, and in which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from memoryd.state.database import Database


class TeamAnswer(NamedTuple):
    memory_dir: str
    place: str
    """Where the team's memories live, as the user agreed to; empty: a no."""
    author: str
    """What the team is told that the user is called."""
    is_on: bool
    """Whether they are shown: agreed to, and not switched off when the config was last looked at."""


def answers(database: Database) -> dict[str, TeamAnswer]:
    """The user's answers, by memory directory. A project that is not named was never asked about."""
    rows = database.query("SELECT memory_dir, place, author, is_on FROM team_answers")
    return {row["memory_dir"]: TeamAnswer(row[0], row[1], row[2], bool(row[3])) for row in rows}


def put_answer(database: Database, memory_dir: str, place: str, author: str, now: float) -> None:
    """Keep the user's yes to a place, or with an empty one the no."""
    database.execute(
        "INSERT OR REPLACE INTO team_answers VALUES (?, ?, ?, ?, ?)",
        (memory_dir, place, author, int(bool(place)), now),
    )


def switch(database: Database, memory_dir: str, *, is_on: bool) -> None:
    database.execute("UPDATE team_answers SET is_on = ? WHERE memory_dir = ?", (int(is_on), memory_dir))


def is_on(database: Database, memory_dir: str) -> bool:
    """Whether the team's memories of a project are shown."""
    return bool(database.query("SELECT 1 FROM team_answers WHERE memory_dir = ? AND is_on", (memory_dir,)))
