"""Notifications to systemd (sd_notify): ready, alive, stopping, and why a start failed."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEND_SECONDS = 5.0
"""Longest wait for a manager that does not read."""
_STATUS_LETTERS = 500


class Supervisor:
    """Service manager that started this process. Without one the methods do nothing. They never raise."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_seconds = _watchdog_seconds(environment)
        """Time without a sign of life after which the manager kills the process; None where it does not."""

    def ready(self, text: str) -> None:
        self._send("READY=1", f"STATUS={_line(text)}")

    def status(self, text: str) -> None:
        self._send(f"STATUS={_line(text)}")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, *facts: str) -> None:
        if not self._address.startswith(("/", "\0")):
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(_SEND_SECONDS)
                sender.sendto("\n".join(facts).encode("utf-8", "backslashreplace"), os.fsencode(self._address))
        except OSError:
            return  # the manager is gone; one with a watchdog kills and restarts


def _line(text: str) -> str:
    return " ".join(text.split())[:_STATUS_LETTERS]


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    """What WATCHDOG_USEC says, unless WATCHDOG_PID says that another process is meant."""
    microseconds = environment.get("WATCHDOG_USEC", "")
    meant = environment.get("WATCHDOG_PID") or str(os.getpid())
    if not (microseconds.isascii() and microseconds.isdigit()) or meant != str(os.getpid()) or not int(microseconds):
        return None
    return int(microseconds) / 1e6
