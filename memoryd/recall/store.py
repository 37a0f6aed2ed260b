"""Store of recall: which memory has which terms, and what the code has left behind.

A file of its own, apart from the state database: hooks read and write here while a dream commits there, and must not wait for
its disk.
"""

from __future__ import annotations

import json
import os
from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from memoryd.errors import BusyError, StateError
from memoryd.recall import schema
from memoryd.recall.terms import ASKED, pieces_of
from memoryd.record import NamedTuple
from memoryd.state.database import Database, DatabaseFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memoryd.paths import Paths

BUSY_SECONDS = 2.0
_LOOK_SECONDS = 0.2
WEIGHT_BITS = 8
HEAVIEST = (1 << WEIGHT_BITS) - 1
EVERY_ANSWER = ("answer", "every answer", "", "")
"""Kind, key, pattern and scope of what a rule about answers as such speaks of."""
_MOST_KEYS = 500
"""Of one tool call; nobody reads a longer command."""
PLAIN_CALLS = ("run", "edit", "work", "files")
"""Kinds of triggers by which a memory is about calls; words and names may stand in any memory."""


class IndexedMemory(NamedTuple):
    """A memory whose terms are kept."""

    id: int
    name: str
    mtime_ns: int
    ctime_ns: int
    size: int
    type: str
    has_secret: bool


class Directory(NamedTuple):
    id: int
    mtime_ns: int
    checked_at: float
    dead: int
    memories: int
    """How many are known."""
    without_triggers: int
    """Of how many it is not known yet what they speak of."""

    @property
    def is_unfinished(self) -> bool:
        """Whether something is left to be read."""
        return self.checked_at == 0 or self.without_triggers > 0


class LearntMemory(NamedTuple):
    """A memory as it was just read."""

    name: str
    stamp: tuple[int, int, int]
    """Times of modification and of change, and size: a file with the same three is the same."""
    type: str
    has_secret: bool
    weights: Mapping[str, int]
    """Of each term, from 1 to HEAVIEST."""
    triggers: Sequence[tuple[str, str, str, str]] | None = ()
    """Kind, key, pattern and scope of each thing that it speaks of; None: not looked for yet."""


class Store:
    """Open it with `open_store`. Its methods raise StateError, BusyError."""

    def __init__(self, database: Database, paths: Paths) -> None:
        self._database = database
        self.paths = paths

    def close(self) -> None:
        self._database.close()

    def transaction(self, *, wait: bool = True) -> AbstractContextManager[None]:
        """All or nothing. Without `wait`, BusyError at once where another writes."""
        if not self._database.is_writable:
            readable, self._database = self._database, Database.open(_file(self.paths))
            readable.close()
        return self._database.transaction(wait=wait)

    def check(self) -> None:
        """Look the whole file over. Raises StateError where it is damaged; whoever opens it next begins anew."""
        self._database.check()

    def snapshot(self) -> AbstractContextManager[None]:
        """What is read inside is of one moment, whatever others write meanwhile."""
        return self._database.snapshot()

    # --- terms --------------------------------------------------------------------------------------------------------

    def directory(self, path: str) -> Directory | None:
        rows = self._database.query(
            "SELECT id, mtime_ns, checked_at, dead, (SELECT count(*) FROM memories WHERE directory_id = directories.id),"
            " (SELECT count(*) FROM memories WHERE directory_id = directories.id AND has_triggers_read = 0)"
            " FROM directories WHERE path = ?",
            (os.fsencode(path),),
        )
        return Directory(*rows[0]) if rows else None

    def record_check(self, path: str, mtime_ns: int, at: float) -> int:
        """The files of a directory were looked at; it is known from now on. Its number."""
        number: int = self._database.query(
            "INSERT INTO directories (path, mtime_ns, checked_at) VALUES (?, ?, ?) ON CONFLICT (path) DO UPDATE"
            " SET mtime_ns = excluded.mtime_ns, checked_at = excluded.checked_at RETURNING id",
            (os.fsencode(path), mtime_ns, at),
        )[0][0]
        return number

    def known(self, directory_id: int, ids: Iterable[int] | None = None) -> list[IndexedMemory]:
        """All memories of a directory, or those of these numbers that are still there."""
        sql = "SELECT id, name, mtime_ns, ctime_ns, size, type, has_secret FROM memories WHERE directory_id = ?"
        values: list[Any] = [directory_id]
        if ids is not None:
            values += ids
            sql += f" AND id IN ({_places(values[1:])})"
        return list(map(IndexedMemory._make, self._database.query(sql, values)))

    def postings(self, directory_id: int, terms: Iterable[str]) -> dict[str, array[int]]:
        """For each term that stands somewhere: which memories have it, and what it weighs there, in one number."""
        return {term: array("I", entries) for term, entries in self._entries(directory_id, terms).items()}

    def _entries(self, directory_id: int, terms: Iterable[str]) -> dict[str, bytes]:
        """Postings as they are kept."""
        found: dict[str, bytes] = {}
        wanted = list(terms)
        for at in range(0, len(wanted), 500):
            some = wanted[at : at + 500]
            rows = self._database.query(
                f"SELECT term, entries FROM postings WHERE directory_id = ? AND term IN ({_places(some)})",  # noqa: S608
                (directory_id, *some),
            )
            found.update((term, entries) for term, entries in rows)
        return found

    def learn(self, directory_id: int, memories: Iterable[LearntMemory]) -> None:
        """Take in the terms of memories, in the place of those that they had. Inside a transaction.

        A piece of words gets the entries of each word that has it, so a memory may stand there more than once.
        """
        known = {one.name for one in self.known(directory_id)}
        first = self._last_id() + 1
        rows: list[tuple[object, ...]] = []
        triggers: list[tuple[object, ...]] = []
        fresh: defaultdict[str, list[int]] = defaultdict(list)
        for row_id, one in enumerate(memories, first):
            if one.name in known:
                self.forget(directory_id, [one.name])
            rows.append(
                (row_id, directory_id, one.name, *one.stamp, one.type, one.has_secret, one.triggers is not None)
            )
            triggers += [(directory_id, row_id, *trigger) for trigger in one.triggers or ()]
            number = row_id << WEIGHT_BITS
            for term, weight in one.weights.items():
                fresh[term].append(number | weight)
        kept = {term: array("I", entries).tobytes() for term, entries in fresh.items()}
        of_pieces: defaultdict[str, list[bytes]] = defaultdict(list)
        for term, entries in kept.items():
            for piece in pieces_of(term):
                of_pieces[piece].append(entries)
        kept.update((piece, b"".join(parts)) for piece, parts in of_pieces.items())
        self._database.execute_many(
            "INSERT INTO memories (id, directory_id, name, mtime_ns, ctime_ns, size, type, has_secret, has_triggers_read)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        self._database.execute_many("INSERT INTO triggers VALUES (?, ?, ?, ?, ?, ?)", triggers)
        before = self._entries(directory_id, kept)
        self._database.execute_many(
            "INSERT OR REPLACE INTO postings (directory_id, term, entries) VALUES (?, ?, ?)",
            ((directory_id, term, before.get(term, b"") + entries) for term, entries in sorted(kept.items())),
        )

    def _last_id(self) -> int:
        """The highest number that a memory ever had."""
        rows = self._database.query("SELECT seq FROM sqlite_sequence WHERE name = 'memories'")
        return int(rows[0][0]) if rows else 0

    def forget(self, directory_id: int, names: Iterable[str]) -> None:
        """Their postings stay until the directory is begun anew: nobody has their numbers any more."""
        for name in names:
            self._database.execute(
                "DELETE FROM triggers WHERE memory_id IN (SELECT id FROM memories WHERE directory_id = ? AND name = ?)",
                (directory_id, name),
            )
            cursor = self._database.execute(
                "DELETE FROM memories WHERE directory_id = ? AND name = ?", (directory_id, name)
            )
            self._database.execute(
                "UPDATE directories SET dead = dead + ? WHERE id = ?", (cursor.rowcount, directory_id)
            )

    def forget_all(self, directory_id: int) -> None:
        for table in ("postings", "triggers", "memories"):
            self._database.execute(f"DELETE FROM {table} WHERE directory_id = ?", (directory_id,))  # noqa: S608 - our own names
        self._database.execute("UPDATE directories SET dead = 0 WHERE id = ?", (directory_id,))

    # --- tool calls ---------------------------------------------------------------------------------------------------

    def without_triggers(self, directory_id: int, most: int) -> dict[int, str]:
        """Memories of which it is not known yet what they speak of, the newest first: number and name."""
        rows = self._database.query(
            "SELECT id, name FROM memories WHERE directory_id = ? AND has_triggers_read = 0 ORDER BY id DESC LIMIT ?",
            (directory_id, most),
        )
        return {number: name for number, name in rows}  # noqa: C416 - rows are no pairs to dict

    def add_triggers(self, directory_id: int, found: Mapping[int, Iterable[tuple[str, str, str, str]]]) -> None:
        """What memories speak of, by their numbers; nothing for those that have gone meanwhile. Inside a transaction."""
        waiting = self.without_triggers(directory_id, -1)
        fresh = {number: triggers for number, triggers in found.items() if number in waiting}
        self._database.execute_many(
            "INSERT INTO triggers VALUES (?, ?, ?, ?, ?, ?)",
            [(directory_id, number, *trigger) for number, triggers in fresh.items() for trigger in triggers],
        )
        self._database.execute_many(
            "UPDATE memories SET has_triggers_read = 1 WHERE id = ?", [(number,) for number in fresh]
        )

    def triggers(self, directory_id: int, keys: Iterable[str]) -> list[tuple[int, str, str, str, str]]:
        """Memory, kind, key, pattern and scope of those that may fit a call with these keys."""
        wanted = list(keys)[:_MOST_KEYS]
        sql = f"SELECT memory_id, kind, key, pattern, scope FROM triggers WHERE directory_id = ? AND key IN ({_places(wanted)})"  # noqa: S608
        return [tuple(row) for row in self._database.query(sql, (directory_id, *wanted))]

    def asked(self, directory_id: int, terms: Iterable[str]) -> set[int]:
        """The memories about work that is asked for with one of these terms."""
        wanted = [ASKED + term for term in terms]
        sql = f"SELECT memory_id FROM triggers WHERE directory_id = ? AND key IN ({_places(wanted)})"  # noqa: S608
        return {number for (number,) in self._database.query(sql, (directory_id, *wanted))}

    def without_calls(self, directory_id: int) -> list[IndexedMemory]:
        """The memories that no tool call is about, as far as they name one plainly."""
        rows = self._database.query(
            f"SELECT DISTINCT memory_id FROM triggers WHERE directory_id = ? AND kind IN {PLAIN_CALLS}",  # noqa: S608 - our own names
            (directory_id,),
        )
        named = {number for (number,) in rows}
        return [one for one in self.known(directory_id) if one.id not in named]

    def about_every_answer(self, directory_id: int) -> list[IndexedMemory]:
        """The rules about answers as such, the newest first."""
        rows = self._database.query(
            "SELECT memory_id FROM triggers WHERE directory_id = ? AND key = ?", (directory_id, EVERY_ANSWER[1])
        )
        found = self.known(directory_id, [number for (number,) in rows]) if rows else []
        return sorted(found, key=lambda one: (-one.mtime_ns, one.name))

    def has_triggers(self) -> bool:
        """Whether some memory of any directory names a command, a path or a kind of work or of files."""
        sql = f"SELECT 1 FROM triggers WHERE kind IN {PLAIN_CALLS} OR kind = 'text' OR kind LIKE 'deny-%' LIMIT 1"  # noqa: S608 - our own names
        return bool(self._database.query(sql))

    def binding(self) -> list[tuple[str, str, str, str]]:
        """Directory, name, kind and pattern of every memory that binds."""
        rows = self._database.query(
            "SELECT path, name, kind, pattern FROM triggers JOIN memories ON memories.id = memory_id"
            " JOIN directories ON directories.id = triggers.directory_id WHERE kind LIKE 'deny-%' ORDER BY path, name"
        )
        return [(os.fsdecode(path), name, kind, pattern) for path, name, kind, pattern in rows]

    # --- directories --------------------------------------------------------------------------------------------------

    def directories(self) -> list[tuple[int, str]]:
        return [
            (number, os.fsdecode(path)) for number, path in self._database.query("SELECT id, path FROM directories")
        ]

    def unfinished(self) -> list[str]:
        """Directories of which something is left to be read."""
        rows = self._database.query(
            "SELECT path FROM directories WHERE checked_at = 0"
            " OR id IN (SELECT directory_id FROM memories WHERE has_triggers_read = 0)"
        )
        return [os.fsdecode(path) for (path,) in rows]

    def drop_directory(self, directory_id: int) -> None:
        """Everything about a directory that is no more. Inside a transaction."""
        for table in ("postings", "triggers", "memories", "uses", "rot", "rot_checks"):
            self._database.execute(f"DELETE FROM {table} WHERE directory_id = ?", (directory_id,))  # noqa: S608 - our own names
        self._database.execute("DELETE FROM directories WHERE id = ?", (directory_id,))

    def newest_change(self, directory_id: int) -> int:
        rows = self._database.query(
            "SELECT coalesce(max(ctime_ns), 0) FROM memories WHERE directory_id = ?", (directory_id,)
        )
        return int(rows[0][0])

    # --- past use -----------------------------------------------------------------------------------------------------

    def uses(self, directory_id: int, names: Iterable[str]) -> dict[str, tuple[int, int]]:
        """How many sessions had each of these memories, and how many did something with it."""
        wanted = list(names)
        sql = f"SELECT name, sessions, used FROM uses WHERE directory_id = ? AND name IN ({_places(wanted)})"  # noqa: S608
        return {name: (sessions, used) for name, sessions, used in self._database.query(sql, (directory_id, *wanted))}

    def record_uses(self, directory_id: int, uses: Mapping[str, tuple[int, int]]) -> None:
        """In the place of what was counted before. Inside a transaction."""
        self._database.execute("DELETE FROM uses WHERE directory_id = ?", (directory_id,))
        self._database.execute_many(
            "INSERT INTO uses VALUES (?, ?, ?, ?)", [(directory_id, name, *counts) for name, counts in uses.items()]
        )

    # --- what the code has left behind --------------------------------------------------------------------------------

    def gone(self, directory_id: int) -> dict[str, tuple[str, ...]]:
        """What memories name and their repository no longer has, in words; of those that are as they were then."""
        rows = self._database.query(
            "SELECT name, gone FROM rot JOIN memories USING (directory_id, name, ctime_ns) WHERE directory_id = ?",
            (directory_id,),
        )
        return {name: tuple(json.loads(gone)) for name, gone in rows}

    def outdated(self) -> list[tuple[bytes, int]]:
        """How many memories of a directory name what is gone, for those with any."""
        rows = self._database.query(
            "SELECT path, count(*) FROM rot JOIN memories USING (directory_id, name, ctime_ns)"
            " JOIN directories ON directories.id = directory_id GROUP BY path"
        )
        return [(path, number) for path, number in rows]

    def rot_stamp(self, directory_id: int) -> str:
        """Of the repository when its memories were last compared with it; empty: never."""
        rows = self._database.query("SELECT stamp FROM rot_checks WHERE directory_id = ?", (directory_id,))
        return rows[0][0] if rows else ""

    def record_rot(self, directory_id: int, gone: Mapping[str, Iterable[str]], stamp: str, at: float) -> None:
        """What was found in all memories of a directory. Inside a transaction."""
        self._database.execute("DELETE FROM rot WHERE directory_id = ?", (directory_id,))
        for name, words in gone.items():
            self._database.execute(
                "INSERT INTO rot SELECT directory_id, name, ctime_ns, ? FROM memories"
                " WHERE directory_id = ? AND name = ?",
                (json.dumps(list(words)), directory_id, name),
            )
        self._database.execute("INSERT OR REPLACE INTO rot_checks VALUES (?, ?, ?)", (directory_id, stamp, at))


def open_store(paths: Paths) -> Store:
    """Close it. Makes the file where there is none, and anew where it cannot be used. Raises StateError, BusyError.

    It is opened for writing with the first transaction, which hardly any prompt needs. The last writer that closes a file of
    SQLite locks out everybody until it has moved the write-ahead log into it; a hook that is put to sleep by then, among hundreds,
    lets all others wait for it.
    """
    file = _file(paths)
    try:
        database = Database.open_for_reading(file, BUSY_SECONDS, is_left_open=True)
    except StateError:  # of another version, or damaged
        database = None
    return Store(database or Database.open(file), paths)


def open_store_to_write(paths: Paths) -> Store:
    """The same for who brings the file up to date: closed as the last one, it leaves nothing beside the file."""
    return Store(Database.open(_file(paths)), paths)


def store_to_look(paths: Paths) -> Store | None:
    """Without ever writing; None where there is nothing that this memoryd could read."""
    try:
        database = Database.open_for_reading(_file(paths), _LOOK_SECONDS)
    except (StateError, BusyError):
        return None
    return Store(database, paths) if database is not None else None


def _file(paths: Paths) -> DatabaseFile:
    return DatabaseFile(
        paths.recall_file, "recall database", lambda: (schema.TABLES,), schema.VERSION, BUSY_SECONDS, is_disposable=True
    )


def _places(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
