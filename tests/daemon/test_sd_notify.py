"""What a service manager hears."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from memoryd.daemon.sd_notify import Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["file", "abstract"])
def ear(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """What NOTIFY_SOCKET says, and the socket behind it."""
    name = f"@memoryd-test-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(60)
        listener.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        yield name, listener


def test_everything_it_tells_arrives(ear: tuple[str, socket.socket]) -> None:
    name, listener = ear
    supervisor = Supervisor({"NOTIFY_SOCKET": name})
    supervisor.ready("watches\n87 sessions")
    supervisor.alive()
    supervisor.status("É" * 600)
    supervisor.stopping()
    heard = [listener.recv(4096).decode() for _ in range(4)]
    assert heard == [
        "READY=1\nSTATUS=watches 87 sessions",
        "WATCHDOG=1",
        "STATUS=" + "É" * 500,
        "STOPPING=1",
    ]


@pytest.mark.parametrize(
    "address", ["", "relative", "vsock:2:1234", "/no/such/socket", "@nobody-listens", "/" + "x" * 200]
)
def test_nobody_who_listens_is_no_trouble(address: str) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": address} if address else {})
    supervisor.ready("x")
    supervisor.status("\udcff")
    supervisor.alive()
    supervisor.stopping()


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "180000000"}, 180.0),
        ({"WATCHDOG_USEC": "180000000", "WATCHDOG_PID": str(os.getpid())}, 180.0),
        ({"WATCHDOG_USEC": "180000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "٣"}, None),
    ],
)
def test_how_long_the_watchdog_waits(variables: dict[str, str], seconds: float | None) -> None:
    assert Supervisor(variables).watchdog_seconds == seconds
