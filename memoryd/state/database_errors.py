"""What went wrong with a database file, as a sentence and the command that helps."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from memoryd.errors import BusyError, CorruptStateError, StateError

if TYPE_CHECKING:
    from memoryd.state.database import DatabaseFile


def unusable(file: DatabaseFile, what: str, error: OSError) -> StateError:
    """Error whose fix names the path, or the first folder above it that can be seen."""
    place = file.path
    while not os.access(os.path.dirname(place), os.X_OK) or not os.path.lexists(place):
        above = os.path.dirname(place)
        if above == place:
            break
        place = above
    return StateError(f"The {file.title} {file.path} cannot be {what}: {error.strerror}.", f"ls -ld {place}")


def in_words(error: sqlite3.Error | UnicodeDecodeError, file: DatabaseFile) -> StateError | BusyError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    path = file.path
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyError(
            f"Another process has kept the {file.title} {path} locked for seconds.",
            f"fuser -v {path}",
        )
    # SQLite's own sentence quotes a damaged schema, which Python then cannot read.
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, UnicodeDecodeError):
        return CorruptStateError(f"The {file.title} {path} is damaged ({error}).", "memoryd run")
    if code == sqlite3.SQLITE_FULL:
        return StateError(
            f"The disk is full: {path} cannot grow. Nothing is lost; memoryd goes on when there is room.",
            f"df -h {os.path.dirname(path)}",
        )
    if code == sqlite3.SQLITE_READONLY or (code == sqlite3.SQLITE_CANTOPEN and not os.access(path, os.W_OK)):
        return StateError(f"The {file.title} {path} cannot be written.", f"ls -l {path}")
    return StateError(f"The {file.title} {path} failed: {error}.", f"ls -l {path}")
