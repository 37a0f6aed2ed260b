"""Synchronisation in the database: what was last the same on both sides, what was kept apart, how the last round went."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoryd.state.database import Database


class Synced(NamedTuple):
    """A file as it was when it was last the same here and in the store."""

    sha256: str
    remote_hash: str
    stamp: int | None = None
    """When the file here was last changed in any way, in nanoseconds: with the same stamp it need not be read again."""


class KeptApart(NamedTuple):
    """A file that was not taken from a store (`in`), or not given to it (`out`)."""

    memory_dir: str
    key: str
    direction: str
    hash: str
    reason: str
    at: float = 0.0


class Round(NamedTuple):
    """The last round with a store."""

    store: str
    version: str = ""
    replicas: str = ""
    """Digest of the directories that were exchanged up to that version; empty: not everything was."""
    author: str = ""
    at: float = 0.0
    succeeded_at: float | None = None
    exchanged_at: float | None = None
    facts: Mapping[str, int] = {}
    error: str = ""
    fix: str = ""


def synced_files(database: Database, store: str, memory_dir: str) -> dict[str, Synced]:
    rows = database.query(
        "SELECT key, sha256, remote_hash, stamp FROM synced_files WHERE store = ? AND memory_dir = ?",
        (store, memory_dir),
    )
    return {row["key"]: Synced(*row[1:]) for row in rows}


def update_synced(
    database: Database, store: str, memory_dir: str, files: Mapping[str, Synced], gone: Iterable[str]
) -> None:
    """Note what is the same on both sides now, and what is on neither."""
    with database.transaction():
        database.execute_many(
            "INSERT OR REPLACE INTO synced_files VALUES (?, ?, ?, ?, ?, ?)",
            [(store, memory_dir, key, *file) for key, file in files.items()],
        )
        database.execute_many(
            "DELETE FROM synced_files WHERE store = ? AND memory_dir = ? AND key = ?",
            [(store, memory_dir, key) for key in gone],
        )


def forget_synced(database: Database, store: str, memory_dir: str | None = None) -> None:
    """Forget what was the same: the store was made anew, or a directory was lost. Then nothing counts as deleted."""
    database.execute(
        "DELETE FROM synced_files WHERE store = ?1 AND (?2 IS NULL OR memory_dir = ?2)", (store, memory_dir)
    )


def kept_apart(database: Database, store: str) -> list[KeptApart]:
    rows = database.query(
        "SELECT memory_dir, key, direction, hash, reason, at FROM kept_apart WHERE store = ?"
        " ORDER BY memory_dir, direction, key",
        (store,),
    )
    return [KeptApart(*row) for row in rows]


def replace_kept_apart(database: Database, store: str, files: Iterable[KeptApart], now: float) -> list[KeptApart]:
    """Note what is kept apart now; return those that were not before, or for another reason."""
    before = {(file.memory_dir, file.key, file.direction, file.reason): file.at for file in kept_apart(database, store)}
    now_apart = list(files)
    with database.transaction():
        database.execute("DELETE FROM kept_apart WHERE store = ?", (store,))
        database.execute_many(
            "INSERT OR REPLACE INTO kept_apart VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (store, *file[:5], before.get((file.memory_dir, file.key, file.direction, file.reason), now))
                for file in now_apart
            ],
        )
    return [file for file in now_apart if (file.memory_dir, file.key, file.direction, file.reason) not in before]


def last_round(database: Database, store: str) -> Round:
    rows = database.query("SELECT * FROM sync_rounds WHERE store = ?", (store,))
    return _round(tuple(rows[0])) if rows else Round(store)


def all_rounds(database: Database) -> list[Round]:
    return [_round(tuple(row)) for row in database.query("SELECT * FROM sync_rounds ORDER BY store")]


_IN_USE_SECONDS = 7 * 86_400.0
_PASS_SECONDS = 900.0


def rounds_in_use(database: Database, now: float) -> list[tuple[Round, int]]:
    """The last round with each store that was tried in the last days, and how many files were kept apart from it.

    All are tried one after the other: one that was left out of the last pass is no longer in the config.
    """
    counts = {row[0]: row[1] for row in database.query("SELECT store, count(*) FROM kept_apart GROUP BY store")}
    rounds = all_rounds(database)
    since = max(now - _IN_USE_SECONDS, max((done.at for done in rounds), default=0.0) - _PASS_SECONDS)
    return [(done, counts.get(done.store, 0)) for done in rounds if done.at >= since]


def _round(row: tuple[object, ...]) -> Round:
    found = Round(*row)  # type: ignore[arg-type]  # the columns in their order
    return found._replace(facts=json.loads(str(found.facts)))


def put_round(database: Database, done: Round) -> None:
    database.execute(
        "INSERT OR REPLACE INTO sync_rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        done._replace(facts=json.dumps(dict(done.facts))),  # type: ignore[arg-type]  # as it is stored
    )
