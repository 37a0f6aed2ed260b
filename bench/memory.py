"""How much memory it takes to read more than memory should hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial

from bench import corpus, table
from bench.measure import peak_resident_bytes, seconds
from bench.world import environment_of, has_room, ingest_to_the_end, sweeper_of, transcript_in
from tests.transcript import Session

SIZE = 3_000_000_000
LONG_BYTES = 100_000_000
LONGEST_READ_BYTES = 33_000_000
"""Just below what memoryd takes for a line that somebody may have sent."""


def run(directory: str) -> None:
    if not has_room(directory, SIZE):
        return
    session = Session("memory", cwd="/nowhere")
    large = os.path.join(directory, "memory-large")
    path = transcript_in(large, "-memory", session.id)
    corpus.write_repeated(path, corpus.some(), (SIZE - LONG_BYTES) // 2)
    corpus.write_long_line(path, session, LONG_BYTES)
    corpus.write_repeated(path, corpus.some(), (SIZE - LONG_BYTES) // 2)
    long = os.path.join(directory, "memory-long")
    for _ in range(3):
        corpus.write_long_line(transcript_in(long, "-memory", session.id), session, LONGEST_READ_BYTES)
    limit, _ = _child("")
    size = os.path.getsize(path)
    table.show(
        f"memory: the most that a process ever held (peak resident set) while it read a transcript of {size / 1e9:.2f} GB"
        f" with one line of {LONG_BYTES // 10**6} MB in it.",
        ("", "peak", "more than imports", "to imports", "elapsed", "MB/s"),
        [
            ("the same imports, nothing read: the limit", table.megabytes(limit), "", "1.00x", "", ""),
            _row(f"memoryd: {size / 1e9:.2f} GB to the end", large, limit, size),
            _row("memoryd: three lines of 33 MB, all decoded", long, limit, 3 * LONGEST_READ_BYTES),
        ],
    )
    os.unlink(path)


def _row(name: str, home: str, limit: int, size: int) -> tuple[str, ...]:
    peak, taken = _child(home)
    more, ratio = table.megabytes(peak - limit), table.times(peak, limit)
    return name, table.megabytes(peak), more, ratio, f"{taken:.1f} s", f"{size / taken / 1e6:,.0f}"


def _child(home: str) -> tuple[int, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.memory", home],
        env=environment_of(home or "/nonexistent"),
        stdout=subprocess.PIPE,
        check=True,
        start_new_session=True,  # Ctrl-C is ours to handle
        text=True,
    )
    peak, taken = json.loads(done.stdout)
    return peak, taken


def _read_in_child(home: str) -> None:
    taken = 0.0
    if home:
        with sweeper_of(home) as ingester:
            taken = seconds(partial(ingest_to_the_end, ingester))
    print(json.dumps([peak_resident_bytes(), taken]))


if __name__ == "__main__":
    _read_in_child(sys.argv[1])
