"""kill -9 while a model is asked: what was answered is not asked again, and nothing is written twice."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import PATIENCE_SECONDS, SERVER, as_json
from tests.acceptance.command import memoryd as run_memoryd
from tests.acceptance.model import hire, memories, say
from tests.crash.strace import run_traced
from tests.fork_server import Request
from tests.keeping_model import keeping_model
from tests.messages_server import MessagesServer, Status, accept_changes
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.fork_server import Forked
    from tests.messages_server import Answer
    from tests.messages_server import Request as ModelRequest

AUTHOR = 2
"""Reads, writes."""
REQUESTS = AUTHOR + 1
"""And the review."""


class Killing:
    """The model that keeps sentences, until a certain request: then the client is killed while it waits."""

    def __init__(self) -> None:
        self.victim: Forked | None = None
        self.left = REQUESTS

    def __call__(self, request: ModelRequest) -> Answer:
        return self._killed() or keeping_model(request)

    def review(self, request: ModelRequest) -> Answer:
        return self._killed() or accept_changes(request)

    def _killed(self) -> Answer | None:
        if self.victim is None:
            return None
        self.left -= 1
        if self.left >= 0:
            return None
        self.victim.kill()
        self.victim.wait(PATIENCE_SECONDS)
        self.victim = None
        return Status(500, "api_error", "nobody listens")


def begin(environment: dict[str, str], paths: Paths, server: MessagesServer) -> int:
    """A session with two memories and words that change one of them; how many requests that took so far."""
    hire(paths, server)
    session = Session()
    say(paths, session, "let us begin")
    assert as_json(environment, "extract-now") == []  # what is there at first sight is history
    say(paths, session, "ok. keep nonce-00000001 is queue 5. keep nonce-00000002 is red.")
    assert run_memoryd(environment, "extract-now").returncode == 0
    say(paths, session, "well. keep now nonce-00000001 is queue 6. keep nonce-00000003 is new.")
    return len(server.requests)


def check_written_once(environment: dict[str, str], paths: Paths) -> None:
    found = memories(paths)
    assert sorted(found) == ["MEMORY.md", *(f"project_nonce_0000000{number}.md" for number in (1, 2, 3))]
    assert "nonce-00000001 is queue 6" in found["project_nonce_00000001.md"]
    assert "queue 5" not in found["project_nonce_00000001.md"]
    assert found["MEMORY.md"].count("\n- ") + found["MEMORY.md"].startswith("- ") == 3
    assert as_json(environment, "extract-now") == []
    assert as_json(environment, "review", "--list") == []


@pytest.mark.parametrize("killed_at", range(REQUESTS))
def test_no_answered_request_is_sent_again(environment: dict[str, str], paths: Paths, killed_at: int) -> None:
    killing = Killing()
    with MessagesServer(killing, reviewer=killing.review) as server:
        before = begin(environment, paths, server)
        killing.left = killed_at
        with open(os.devnull, "r+b") as nothing:
            streams = [nothing.fileno()] * 3
            killing.victim = victim = SERVER.start(
                Request("memoryd", ("extract-now",), environment, os.getcwd()), *streams
            )
        assert victim.wait(PATIENCE_SECONDS) == -signal.SIGKILL
        done = run_memoryd(environment, "extract-now")
        assert (done.returncode, server.violations) == (0, [])
        bodies = [request.raw for request in (*server.requests[before:], *server.reviews[1:])]
        # The one that was being answered is sent a second time, and no other.
        assert len(bodies) == REQUESTS + 1
        assert [bodies.count(body) for body in dict.fromkeys(bodies)] == [
            2 if number == killed_at else 1 for number in range(REQUESTS)
        ]
        sent = len(server.requests) + len(server.reviews)
    check_written_once(environment, paths)
    usage = as_json(environment, "usage")
    assert sum(row["calls"] for row in usage) == sent
    assert sum(row["unsettled_usd"] for row in usage) > 0  # nobody knows what became of the one


@pytest.mark.parametrize("number", [1, 2, 3])
def test_killed_between_the_review_and_the_end_of_its_commit_nothing_is_asked_again(
    environment: dict[str, str], paths: Paths, number: int
) -> None:
    """At the first, second and third file that the commit puts in its place."""
    with MessagesServer(keeping_model) as server:
        before = begin(environment, paths, server)
        kill = f"renameat2:signal=KILL:when={number}"
        returncode, _ = run_traced(paths.home, ("memoryd", "extract-now"), os.devnull, kill, server=SERVER)
        assert returncode == -signal.SIGKILL
        assert (len(server.requests) - before, len(server.reviews)) == (AUTHOR, 2)
        assert run_memoryd(environment, "extract-now").returncode == 0
        assert (len(server.requests) - before, len(server.reviews), server.violations) == (AUTHOR, 2, [])
    check_written_once(environment, paths)
    usage = as_json(environment, "usage")
    assert sum(row["unsettled_usd"] for row in usage) == 0
