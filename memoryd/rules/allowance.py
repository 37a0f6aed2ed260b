"""Allowances: one call that goes against a binding memory, allowed by the user. A small file each; whoever removes it has it.

An allowance is for one session, or for whichever asks first; after an hour it is gone.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd import atomic_file
from memoryd.rules.confirmed import state_file

if TYPE_CHECKING:
    from memoryd.paths import Paths

SECONDS = 3600.0
_MOST_BYTES = 4096


def allow(paths: Paths, memory_dir: str, name: str, session_id: str, now: float) -> None:
    """Allow the next call against a memory. `session_id`: of one session alone; empty: of any. Raises OSError."""
    atomic_file.write(_file(paths, memory_dir, name), json.dumps({"session": session_id, "at": now}).encode())


def use(paths: Paths, memory_dir: str, name: str, session_id: str, now: float) -> bool:
    """Whether the call is allowed; then the next one is not. Of two that ask at once, one is."""
    file = _file(paths, memory_dir, name)
    data = atomic_file.read_regular(file, _MOST_BYTES)
    if data is None:
        return False
    try:
        given = json.loads(data)
        session, at = str(given["session"]), float(given["at"])
    except (ValueError, LookupError, TypeError):
        session, at = "", float("-inf")
    is_past = not 0 <= now - at < SECONDS
    if not is_past and session not in ("", session_id):
        return False
    try:
        os.remove(file)
    except FileNotFoundError:  # the other one was faster
        return False
    return not is_past


def withdraw(paths: Paths, memory_dir: str, name: str) -> None:
    """Take an allowance back that was not used. Raises OSError."""
    with suppress(FileNotFoundError):
        os.remove(_file(paths, memory_dir, name))


def _file(paths: Paths, memory_dir: str, name: str) -> str:
    return state_file(paths, "allowed-once", memory_dir, name)
