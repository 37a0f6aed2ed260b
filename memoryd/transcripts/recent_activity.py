"""Recent activity of a session, from the end of its transcript: a hook has milliseconds."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoryd.clients.base import CodingClient, RecentActivity

_TAIL_BYTES = 4 << 20


def recent_activity_of(client: CodingClient, path: str, directory: str) -> RecentActivity:
    return client.recent_activity(tail_of(path), directory)


def tail_of(path: str) -> bytes:
    """The last megabytes of a transcript; empty where none can be read: it may be written only later."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return b""
            file.seek(max(0, status.st_size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES)
    except (OSError, ValueError):
        return b""
