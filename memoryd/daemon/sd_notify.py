"""Notifications to systemd (sd_notify): ready, alive, stopping, and why a start failed."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEND_SECONDS = 5.0
"""A manager that does not listen is not waited for."""
_STATUS_LETTERS = 500


class Supervisor:
    """Whoever started this process and wants to know how it is. Without one, telling does nothing. It never fails."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_seconds = _watchdog_seconds(environment)
        """So long it waits for a sign of life before it kills; None where it does not wait."""

    def ready(self, text: str) -> None:
        self._tell("READY=1", f"STATUS={_line(text)}")

    def status(self, text: str) -> None:
        self._tell(f"STATUS={_line(text)}")

    def alive(self) -> None:
        self._tell("WATCHDOG=1")

    def stopping(self) -> None:
        self._tell("STOPPING=1")

    def _tell(self, *facts: str) -> None:
        if not self._address.startswith(("/", "\0")):
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(_SEND_SECONDS)
                sender.sendto("\n".join(facts).encode("utf-8", "backslashreplace"), os.fsencode(self._address))
        except OSError:
            return  # nobody is there any more; one who expects a sign of life kills, and starts anew


def _line(text: str) -> str:
    return " ".join(text.split())[:_STATUS_LETTERS]


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    """What WATCHDOG_USEC says, unless WATCHDOG_PID says that another process is meant."""
    microseconds = environment.get("WATCHDOG_USEC", "")
    meant = environment.get("WATCHDOG_PID") or str(os.getpid())
    if not (microseconds.isascii() and microseconds.isdigit()) or meant != str(os.getpid()) or not int(microseconds):
        return None
    return int(microseconds) / 1e6
