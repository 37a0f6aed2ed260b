"""`unshare -Urm python -m tests.torture.full_disk PLACE LEVELS SEED`: saves memories on a small disk that is full, at many levels.

Each level leaves so much room; afterwards there is room again. Prints what was lost, twice, torn or said wrongly.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

DISK_BYTES = 6 << 20
PAGE = 4096


def saved(home: Path, number: int) -> int:
    return sum(f"call tool number {number} first" in path.read_text() for path in home.rglob("*_*.md"))


def main(place: str, levels: int, seed: int) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", place], check=True)
    home = Path(place, "home")
    home.mkdir()
    os.environ["HOME"] = str(home)
    os.chdir(home)
    from memoryd.cli import main as memoryd  # noqa: PLC0415 - it reads the environment

    def run(*arguments: str) -> int:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return memoryd(list(arguments))

    dice = random.Random(seed)
    run("remember", "always call tool number 0 first")
    for number in range(1, levels + 1):
        filler = Path(place, "filler")
        free = os.statvfs(place).f_bavail * PAGE
        filler.write_bytes(bytes(max(0, free - dice.randrange(0, 60) * PAGE)))
        code = run("remember", f"always call tool number {number} first")
        filler.unlink()
        before = saved(home, number)
        if code == 0 and before != 1:
            print(f"level {number}: said to be saved, and is there {before} times")
        run("remember" if not before else "memories", *[f"always call tool number {number} first"] * (not before))
        if saved(home, number) != 1:
            print(f"level {number}: with room again it is there {saved(home, number)} times")
        if list(home.rglob(".memoryd-*")):
            print(f"level {number}: left {list(home.rglob('.memoryd-*'))}")
        with contextlib.closing(sqlite3.connect(home / ".local/state/memoryd/memoryd.sqlite3")) as database:
            if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                print(f"level {number}: the database is damaged")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
