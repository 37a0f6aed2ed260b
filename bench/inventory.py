"""What it costs to look at many transcripts."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import table
from bench.measure import best, seconds
from bench.world import ingest_to_the_end, paths_of, sweeper_of, transcript_in
from memoryd.clients.claude_code.folders import slug_of
from memoryd.clients.registry import ALL
from memoryd.sources import scan
from memoryd.sources.scan import SessionPlace
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.jobs.ingest import Ingester

FOLDERS = 200
PER_FOLDER = 50
FILES = FOLDERS * PER_FOLDER
ROUNDS = 7


def run(directory: str) -> None:
    home = os.path.join(directory, "inventory")
    write_transcripts(home)
    with sweeper_of(home) as ingester:
        _measure(ingester, paths_of(home).transcripts_root)


def _measure(ingester: Ingester, root: str) -> None:
    def ingest() -> None:
        assert ingester.ingest(time.time()).transcripts == FILES

    first = seconds(partial(ingest_to_the_end, ingester))
    inventory = partial(scan.inventory, SessionPlace(root), ALL[0].is_session)
    plain = partial(walk, root, with_stat=True)
    taken = best(
        ROUNDS,
        {
            "list": partial(walk, root, with_stat=False),
            "walk": plain,
            "inventory": inventory,
            "ingest": ingest,
            "read": partial(_read_all, root),
        },
    )
    opens = _Opens(root)
    limit = taken["walk"]
    table.show(
        f"inventory: {FILES:,} transcripts of one turn in {FOLDERS} folders. Every ingest looks at all of them, by name"
        " and stat; half of the working directories are gone. Processor time, but for the first ingest, which waits for"
        " the disk.",
        ("", "time", "per file", "to the walk", "files opened"),
        [
            _row("scandir, no stat", taken["list"], limit),
            _row("scandir and stat: the walk", limit, limit, opens.during(plain)),
            _row("memoryd: inventory", taken["inventory"], limit, opens.during(inventory)),
            _row("memoryd: ingest, nothing changed", taken["ingest"], limit, opens.during(ingest)),
            _row("open and read every file", taken["read"], limit, opens.during(partial(_read_all, root))),
            _row("memoryd: first ingest, reads and stores all", first, limit),
        ],
    )


def _row(name: str, taken: float, limit: float, opened: int | None = None) -> tuple[str, ...]:
    per_file = f"{taken / FILES * 1e6:,.1f} µs"
    return name, table.milliseconds(taken), per_file, table.times(taken, limit), "" if opened is None else f"{opened:,}"


def write_transcripts(home: str) -> None:
    """So many transcripts of one turn; half of the working directories that they name are gone."""
    for folder in range(FOLDERS):
        cwd = os.path.join(home, f"project{folder}")
        if folder % 2:
            os.makedirs(cwd)
        for number in range(PER_FOLDER):
            session = Session(f"{folder}/{number}", cwd=cwd)
            with open(transcript_in(home, slug_of(cwd), session.id), "wb") as file:
                file.write(session.turn())


def walk(root: str, *, with_stat: bool) -> int:
    count = 0
    for folder in os.scandir(root):
        for entry in os.scandir(folder.path):
            count += 1
            if with_stat:
                entry.stat(follow_symlinks=False)
    return count


def _read_all(root: str) -> None:
    for folder in os.scandir(root):
        for entry in os.scandir(folder.path):
            with open(entry.path, "rb", buffering=0) as file:
                file.read()


class _Opens:
    """Counts files opened below `root`. An audit hook cannot be taken away again, so it comes after the timings."""

    def __init__(self, root: str) -> None:
        self._below = root + os.sep
        self._count = 0
        sys.addaudithook(self._hear)

    def during(self, work: Callable[[], object]) -> int:
        self._count = 0
        work()
        return self._count

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and arguments[0].startswith(self._below):
            self._count += 1
