"""File of a database on the disk: which one it is, and what is said where it cannot be used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.errors import StateError

if TYPE_CHECKING:
    from memoryd.state.database import DatabaseFile


def identity_of(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def unusable(file: DatabaseFile, what: str, error: OSError) -> StateError:
    """Error whose fix names the path, or the first folder above it that can be seen."""
    place = file.path
    while not os.access(os.path.dirname(place), os.X_OK) or not os.path.lexists(place):
        above = os.path.dirname(place)
        if above == place:
            break
        place = above
    return StateError(f"The {file.title} {file.path} cannot be {what}: {error.strerror}.", f"ls -ld {place}")
