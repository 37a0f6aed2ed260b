"""`python -m tests.crash.exchanger HOME`: one exchange of a machine with a shared directory, to be killed by strace anywhere.

It marks its begin and its end like the victim, by trying to open files that do not exist.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from memoryd.stores.directory import directory_store
from tests.crash.keeper import mark
from tests.stores.machines import Machine


def machine_in(home: str, name: str) -> Machine:
    return Machine(Path(home) / name, directory_store(os.path.join(home, "shared")), len(name))


if __name__ == "__main__":
    machine = machine_in(sys.argv[1], "laptop")
    mark(sys.argv[1], "begin")
    machine.exchange()
    mark(sys.argv[1], "end")
    os._exit(0)
