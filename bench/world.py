"""A home below the temporary directory with memoryd in it; the real one is never touched."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from memoryd.clients.registry import ALL
from memoryd.config import Config
from memoryd.jobs.ingest import Ingester
from memoryd.paths import paths_from
from memoryd.state.database import open_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths

SPARE_BYTES = 1 << 30
"""What stays free on the disk whatever is measured."""


def environment_of(home: str) -> dict[str, str]:
    return {
        "HOME": home,
        "XDG_CONFIG_HOME": os.path.join(home, ".config"),
        "XDG_STATE_HOME": os.path.join(home, ".local", "state"),
        "CLAUDE_CONFIG_DIR": os.path.join(home, ".claude"),
        "PATH": os.defpath,
    }


def paths_of(home: str) -> Paths:
    return paths_from(environment_of(home))


def transcript_in(home: str, folder: str, name: str) -> str:
    """The path of a transcript; its folder is made."""
    directory = os.path.join(paths_of(home).transcripts_root, folder)
    os.makedirs(directory, exist_ok=True)
    return os.path.join(directory, f"{name}.jsonl")


@contextmanager
def sweeper_of(home: str) -> Iterator[Ingester]:
    paths = paths_of(home)
    with closing(open_database(paths)) as database:
        yield Ingester(ALL, database, paths, Config())


def ingest_to_the_end(ingester: Ingester) -> None:
    """Read every backlog: a ingest stops at its budget."""
    while ingester.ingest(time.time()).backlog:
        pass


def has_room(directory: str, size: int) -> bool:
    """Whether a file of this size fits; says so where it does not."""
    free = shutil.disk_usage(directory).free
    if free >= size + SPARE_BYTES:
        return True
    print(f"\nskipped: {size / 1e9:.0f} GB and some spare do not fit into {directory} ({free / 1e9:.1f} GB free)")
    return False
