"""Confirmed rules: what the person at this machine has made binding. A small file for each memory, in the state directory.

A memory file may be written by anybody: by the client, by another machine, by a colleague. What its `enforce` asks for refuses
a call only if it is confirmed here, by directory, file and pattern. Where these files are lost, nothing binds until the
person is asked again.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd import atomic_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.paths import Paths
    from memoryd.rules.match import Forbidden

_FOLDER = "binding"
_MOST_BYTES = 65_536


def confirm(paths: Paths, memory_dir: str, name: str, patterns: Iterable[Forbidden]) -> None:
    """From now on these bind, and nothing else that the memory asks for. Raises OSError."""
    kept = {"directory": memory_dir, "file": name, "patterns": list(map(str, patterns))}
    atomic_file.write(state_file(paths, _FOLDER, memory_dir, name), json.dumps(kept).encode())


def confirmed(paths: Paths, memory_dir: str, name: str) -> frozenset[str]:
    """The patterns of a memory that bind, as they stand in it: `run npm install`."""
    data = atomic_file.read_regular(state_file(paths, _FOLDER, memory_dir, name), _MOST_BYTES)
    try:
        return frozenset(map(str, json.loads(data)["patterns"])) if data else frozenset()
    except (ValueError, LookupError, TypeError):
        return frozenset()


def withdraw(paths: Paths, memory_dir: str, name: str) -> None:
    """From now on nothing of a memory binds. Raises OSError."""
    with suppress(FileNotFoundError):
        os.remove(state_file(paths, _FOLDER, memory_dir, name))


def all_confirmed(paths: Paths) -> list[tuple[str, str]]:
    """Directory and file of every memory that something is confirmed of."""
    found = []
    with suppress(FileNotFoundError), os.scandir(os.path.join(paths.state_dir, _FOLDER)) as entries:
        for entry in entries:
            with suppress(ValueError, LookupError, TypeError):
                kept = json.loads(atomic_file.read_regular(entry.path, _MOST_BYTES) or b"null")
                found.append((str(kept["directory"]), str(kept["file"])))
    return found


def state_file(paths: Paths, folder: str, memory_dir: str, name: str) -> str:
    """A file of the state directory about one memory."""
    import hashlib  # noqa: PLC0415 - 5 ms that a call which nothing forbids need not pay

    digest = hashlib.blake2b(f"{memory_dir}\0{name}".encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return os.path.join(paths.state_dir, folder, f"{digest}.json")
