"""What it costs to make one memory: a commit beside the least that could be as safe, and as memories grow in number."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from functools import partial
from statistics import median

from bench import table
from bench.measure import seconds
from bench.world import paths_of
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.document import new_document
from memoryd.model import Changeset, Evidence, FileChange, Group
from memoryd.state.database import open_database

NUMBERS = (10, 100, 1_000, 10_000)
ROUNDS = 25


def run(directory: str) -> None:
    limits: list[float] = []
    commits: dict[int, float] = {}
    for number in NUMBERS:
        home = os.path.join(directory, f"commit-{number}")
        commits[number] = _commits(home, number, limits)
    limit = median(limits)
    table.show(
        f"commit: one new memory of {len(_memory('x'))} bytes into a directory of so many. The limit is what nobody can do"
        " without: one file written, fsynced and renamed, its directory fsynced, and one SQLite transaction"
        " (synchronous=FULL). A commit has two of each: memory and index, intent and outcome. Medians.",
        ("", "time", "to the limit", "to the smallest"),
        [
            ("one safe file and one transaction: the limit", table.milliseconds(limit), "1.00x", ""),
            *(
                (
                    f"memoryd: commit, {number:,} memories",
                    table.milliseconds(taken),
                    table.times(taken, limit),
                    table.times(taken, commits[NUMBERS[0]]),
                )
                for number, taken in commits.items()
            ),
        ],
    )


def _commits(home: str, number: int, limits: list[float]) -> float:
    """The time of one commit; the limit is measured between them, so that a slow moment of the disk meets both."""
    place = os.path.join(home, "memory")
    os.makedirs(place)
    memory = _memory("memory-00000")
    for index in range(number):
        with open(os.path.join(place, f"memory-{index:05}.md"), "wb") as file:
            file.write(memory.replace(b"memory-00000", f"memory-{index:05}".encode()))
    taken = []
    with (
        closing(open_database(paths_of(home))) as database,
        closing(sqlite3.connect(os.path.join(home, "limit.sqlite3"), isolation_level=None)) as other,
        open_directory(place) as directory,
    ):
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("PRAGMA synchronous = FULL")
        other.execute("CREATE TABLE done (data BLOB)")
        commit(database, directory, Changeset("reindex", "the index", ()), time.time())
        for count in range(ROUNDS):
            name = f"new-{count:02}.md"
            group = Group(
                (FileChange(name, None, _memory(name)),), "said so", ((name, Evidence("s", "m", "words", "hash")),)
            )
            wish = Changeset("extract", "a wish", (group,), "s")
            taken.append(seconds(partial(commit, database, directory, wish, time.time())))
            limits.append(seconds(partial(_write_safely, home, other, _memory(name))))
    return median(taken)


def _write_safely(directory: str, database: sqlite3.Connection, data: bytes) -> None:
    temporary = os.path.join(directory, "limit.new")
    with open(temporary, "wb", buffering=0) as file:
        file.write(data)
        os.fsync(file.fileno())
    os.rename(temporary, os.path.join(directory, "limit"))
    descriptor = os.open(directory, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    database.execute("INSERT INTO done VALUES (?)", (data,))


def _memory(name: str) -> bytes:
    return new_document(
        name=name.removesuffix(".md"),
        description="how the user wants commits to be measured",
        kind="feedback",
        body="The user wants figures beside a limit.\n" * 10,
        session_id="s",
        evidence="e",
        modified="2026-10-18T09:00:00Z",
    ).render()
