"""Verdicts of review on what a dream proposed and did not do: held, refused or dropped, kept beside the dream's record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.state.database import Database


class NotDone(NamedTuple):
    """A group of changes that review kept a dream from making."""

    names: str
    """Its files, with spaces between."""
    line: str
    """What the dream wanted to do."""
    state: str
    """held, refused or dropped."""
    reason: str


def note_not_done(database: Database, job_id: int, groups: Sequence[NotDone]) -> None:
    with database.transaction():
        database.execute_many("INSERT INTO fates VALUES (?, ?, ?, ?, ?)", [(job_id, *group) for group in groups])


def not_done_by(database: Database, job_id: int) -> list[NotDone]:
    rows = database.query(  # older dreams have other words there, about single statements
        "SELECT name, statement, fate, explained_by FROM fates WHERE job_id = ? AND fate IN ('held', 'refused', 'dropped')"
        " ORDER BY rowid",
        (job_id,),
    )
    return [NotDone(*row) for row in rows]
