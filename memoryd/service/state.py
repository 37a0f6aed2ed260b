"""State of the service, as its manager reports it."""

from __future__ import annotations

from typing import NamedTuple


class State(NamedTuple):
    manager: str
    """`systemd` or `launchd`."""
    file: str
    is_installed: bool
    is_ours: bool
    """False where somebody else's file has the name."""
    is_enabled: bool
    """Whether it starts at login."""
    active: str
    """In systemd's words: active, activating, deactivating, failed, inactive."""
    pid: int | None
    restarts: int
    text: str
    """Last status text of the daemon, or why the manager gave up."""
