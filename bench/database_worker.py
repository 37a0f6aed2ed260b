"""A process for `bench/databases.py`: `python -m bench.database_worker writer|reader HOME SECONDS`; prints what it measured."""

from __future__ import annotations

import json
import select
import sys

from bench.databases import read, write

if __name__ == "__main__":
    role, home, seconds = sys.argv[1:]
    if role == "writer":
        print(json.dumps(write(home, float(seconds))))
    else:
        print(json.dumps(read(home, lambda: bool(select.select([sys.stdin], [], [], 0)[0]))))
