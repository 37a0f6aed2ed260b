"""Instruction files: those of the usual names from the root down to a directory, read within bounds."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memoryd.paths import is_below

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_FILES = 64
MOST_BYTES = 65_536
"""Of one file; what people write by hand is shorter."""
MOST_BYTES_IN_ALL = 262_144


def files_on_the_way(cwd: str, names: Sequence[str], own: Sequence[str]) -> list[tuple[str, str]]:
    """The user's `own` files, then those of these names from the root down to a directory, with their texts.

    Later ones weigh more; where they are too many, those that weigh least are left out.
    """
    places: list[tuple[str, str | None]] = []
    place = os.path.normpath(cwd) if os.path.isabs(cwd) else "/"
    while place not in ("/", "//"):
        places += [(os.path.join(place, name), place) for name in reversed(names)]
        place = os.path.dirname(place)
    places += [(path, None) for path in reversed(own)]
    found: dict[str, str] = {}
    left = MOST_BYTES_IN_ALL
    for path, inside in places:
        real = real_path(path, inside)
        if real and real not in found and len(found) < MOST_FILES and left > 0:
            data = beginning_of(real, min(left, MOST_BYTES))
            left -= len(data)
            if data:
                found[real] = data.decode("utf-8", "replace")
    return list(reversed(found.items()))


def real_path(path: str, inside: str | None) -> str:
    """Where a path leads; empty where that is nowhere, or out of the directory that shipped it."""
    try:
        real = os.path.realpath(path)
        is_shipped = inside is None or real == path or is_below(real, os.path.realpath(inside))
    except (OSError, ValueError):
        return ""
    return real if is_shipped else ""


def beginning_of(path: str, limit: int) -> bytes:
    """The beginning of a regular file; empty where there is none that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)
