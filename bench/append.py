"""What it costs when one line is added to a long transcript."""

from __future__ import annotations

import os
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from bench import corpus, table
from bench.measure import COUNTS_READS, bytes_read, seconds
from bench.world import has_room, ingest_to_the_end, sweeper_of, transcript_in
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.jobs.ingest import Ingester

SIZE = 1_000_000_000
ROUNDS = 15


def run(directory: str) -> None:
    if not COUNTS_READS:
        print("\nappend: skipped, the system does not count the bytes that a process reads (Linux does, in /proc)")
        return
    if not has_room(directory, SIZE):
        return
    session = Session("append", cwd=directory)
    path = transcript_in(directory, "-append", session.id)
    corpus.write_repeated(path, corpus.some(), SIZE)
    with sweeper_of(directory) as ingester:
        _measure(ingester, session, path, os.path.join(directory, "durable"))


def _measure(ingester: Ingester, session: Session, path: str, durable: str) -> None:
    def ingest() -> None:
        ingester.ingest(time.time())

    first = seconds(partial(ingest_to_the_end, ingester))
    length = 0
    idle: list[tuple[float, int]] = []
    grown: list[tuple[float, int]] = []
    written: list[float] = []
    with open(path, "ab", buffering=0) as transcript, open(durable, "wb", buffering=0) as other:
        for _ in range(ROUNDS):
            idle.append(_cost(ingest))
            length = transcript.write(session.prompt())
            grown.append(_cost(ingest))
            written.append(seconds(partial(_write_durably, other.fileno())))
    limit = min(idle)[0] + min(written)
    idle_bytes, grown_bytes = (median(size for _, size in costs) for costs in (idle, grown))
    extra = grown_bytes - idle_bytes
    table.show(
        f"append: a line of {length} bytes behind {os.path.getsize(path) / 1e9:.2f} GB that had been read. The ingest that"
        " finds it reads the line, and windows of 4 KB by which it knows the file; then it stores.",
        ("", "time", "to the limit", "bytes read", "to the line"),
        [
            ("memoryd: ingest, nothing changed", table.milliseconds(min(idle)[0]), "", f"{idle_bytes:,.0f}", ""),
            ("4 KB to the disk (fsync)", table.milliseconds(min(written)), "", "", ""),
            ("the limit: both", table.milliseconds(limit), "1.00x", f"{length}", "1.00x"),
            (
                "memoryd: ingest, one line more",
                table.milliseconds(min(grown)[0]),
                table.times(min(grown)[0], limit),
                f"{grown_bytes:,.0f}",
                table.times(grown_bytes, length),
            ),
            ("  without what an idle ingest reads", "", "", f"{extra:,.0f}", table.times(extra, length)),
            ("memoryd: all of it, from byte 0", table.milliseconds(first), table.times(first, limit), "", ""),
        ],
    )


def _cost(work: Callable[[], None]) -> tuple[float, int]:
    before = bytes_read()
    taken = seconds(work)
    return taken, bytes_read() - before


def _write_durably(descriptor: int) -> None:
    os.write(descriptor, bytes(4096))
    os.fsync(descriptor)
