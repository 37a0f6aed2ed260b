"""`python -m tests.crash.keeper HOME`: a real `memoryd child --upkeep`, to be killed by strace anywhere in it.

It marks its begin and its end like the victim, by trying to open files that do not exist.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from memoryd.cli import main


def mark(home: str, name: str) -> None:
    with suppress(OSError):
        os.close(os.open(os.path.join(home, f"mark-{name}"), os.O_RDONLY))


if __name__ == "__main__":
    mark(sys.argv[1], "begin")
    code = main(["child", "--upkeep"])
    mark(sys.argv[1], "end")
    os._exit(code)
