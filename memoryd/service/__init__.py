"""Service of the user: a systemd unit or a launchd agent, whichever this machine has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memoryd.service.launchd import Launchd
from memoryd.service.systemd import Systemd
from memoryd.service.tools import is_there

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.clock import Clock
    from memoryd.paths import Paths
    from memoryd.service.state import State


class Manager(Protocol):
    """Service manager. Every method raises ServiceError, with the fix, where the manager cannot be reached."""

    @property
    def file(self) -> str:
        """Where the unit or agent is written, or would be."""

    def state(self) -> State: ...

    def write(self, python: str, variables: Mapping[str, str]) -> None:
        """Put the file in place; nothing is started."""

    def start(self) -> None:
        """Have it run now and at every login, anew where it runs already. Returns when it is ready or has failed."""

    def remove(self) -> None:
        """Stop it, forget it, delete the file. Where there is nothing to remove, nothing happens."""


def manager(paths: Paths, environment: Mapping[str, str], clock: Clock) -> Manager:
    if is_there("launchctl", environment):
        return Launchd(paths, environment, clock)
    return Systemd(paths, environment)
