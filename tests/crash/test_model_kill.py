"""kill -9 while a model is asked: what was answered is not asked again, and nothing is written twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import as_json
from tests.acceptance.command import memoryd as run_memoryd
from tests.acceptance.model import hire, memories, say
from tests.messages_server import MessagesServer, Status
from tests.sample import Session
from tests.scribe import scribe

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.messages_server import Answer, Request

REQUESTS = 3
"""Reads, writes, a last word."""


class Killing:
    """The scribe, until a certain request: then the client is killed while it waits."""

    def __init__(self) -> None:
        self.victim: subprocess.Popen[bytes] | None = None
        self.at: int | None = None

    def __call__(self, request: Request) -> Answer:
        if self.victim is not None and request.number == self.at:
            os.kill(self.victim.pid, signal.SIGKILL)
            self.victim.wait()
            return Status(500, "api_error", "nobody listens")
        return scribe(request)


@pytest.mark.parametrize("killed_at", range(REQUESTS))
def test_no_answered_request_is_sent_again(environment: dict[str, str], paths: Paths, killed_at: int) -> None:
    killing = Killing()
    with MessagesServer(killing) as server:
        hire(paths, server)
        session = Session()
        say(paths, session, "let us begin")
        assert as_json(environment, "extract-now") == []  # what is there at first sight is history
        say(paths, session, "ok. keep nonce-00000001 is blue. keep nonce-00000002 is red.")
        assert run_memoryd(environment, "extract-now").returncode == 0
        say(paths, session, "well. keep now nonce-00000001 is green. keep nonce-00000003 is new.")
        before = len(server.requests)
        killing.at = before + killed_at
        with subprocess.Popen([sys.executable, "-m", "memoryd", "extract-now"], env=environment) as victim:
            killing.victim = victim
        assert victim.returncode == -signal.SIGKILL
        killing.victim = None
        done = run_memoryd(environment, "extract-now")
        assert (done.returncode, server.violations) == (0, [])
        bodies = [request.raw for request in server.requests[before:]]
        # The one that was being answered is sent a second time, and no other.
        assert len(bodies) == REQUESTS + 1
        assert [bodies.count(body) for body in dict.fromkeys(bodies)] == [
            2 if number == killed_at else 1 for number in range(REQUESTS)
        ]
    found = memories(paths)
    assert sorted(found) == ["MEMORY.md", *(f"project_nonce_0000000{number}.md" for number in (1, 2, 3))]
    assert "nonce-00000001 is green" in found["project_nonce_00000001.md"]
    assert "is blue" not in found["project_nonce_00000001.md"]
    assert found["MEMORY.md"].count("\n- ") + found["MEMORY.md"].startswith("- ") == 3
    usage = as_json(environment, "usage")
    assert sum(row["calls"] for row in usage) == len(server.requests)
    assert sum(row["unsettled_usd"] for row in usage) > 0  # nobody knows what became of the one
    assert as_json(environment, "extract-now") == []
