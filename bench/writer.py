"""Dreams and commits in a project, one after the other, until it is told to stop: `python -m bench.writer PROJECT`."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading


def main(project: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())  # what it has begun is done before it ends
    number = 0
    while not stop.is_set():
        number += 1
        for command in (
            ("remember", "--project", project, f"The gate of dock {number} opens at {number % 12 + 6}:00 on workdays"),
            ("dream-now", "--project", project),
        ):
            done = subprocess.run([sys.executable, "-m", "memoryd", *command], capture_output=True, check=False)
            print(f"{command[0]} {done.returncode}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
