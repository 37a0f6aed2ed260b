"""A process for `bench/databases.py`: `python -m bench.database_worker writer|computer|reader HOME`.

It is told on standard input when to begin and when to end, and prints what it measured.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path

from bench.databases import Reader, compute, write
from tests.clients.databases import OpencodeDatabase

_SERVICE_NICE = 10


def _is_over() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main(role: str, home: str) -> None:
    if role == "writer":
        opencode = OpencodeDatabase(Path(home))
        opencode.count = time.time_ns() // 1_000_000 % 1_000_000_000
        opencode.writer.execute("PRAGMA synchronous = NORMAL")
        for line in sys.stdin:
            print(json.dumps(write(opencode, float(line.split()[1]))), flush=True)
        return
    os.nice(_SERVICE_NICE)
    work = Reader(home).read if role == "reader" else compute
    while sys.stdin.readline():
        done = work(_is_over)
        sys.stdin.readline()
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
