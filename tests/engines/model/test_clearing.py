"""Clearing of what a run need not read again: by the endpoint where it can, else by the agent, and never what it still needs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.engines.model import agent
from memoryd.engines.model.client import Client
from memoryd.engines.model.context_window import CLEARED, IDLE_SECONDS
from memoryd.engines.model.credentials import Account
from memoryd.engines.model.tools import ToolBox
from tests.messages_server import MessagesServer, Reply, Status, call, text, thinking

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.engines.model.reply import ModelReply
    from tests.messages_server import Request

READS = 9
BRIEF = agent.Brief("the system " * 200, ("the memories",), "the task")


def limits(prompt_tokens: int) -> agent.RunLimits:
    return agent.RunLimits(READS + 1, 500, prompt_tokens, 10**9, 10**9, {"Read": 65_536})


def run_reading(
    tmp_path: Path, server: MessagesServer, prompt_tokens: int, pauses: dict[int, float] | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    """The requests of a run whose model thinks, then reads a file, again and again; and what the log would say.

    `pauses`: how long the run stands still behind the reply of this number.
    """
    (tmp_path / "a.md").write_text("Some words.\n" * 3_000)
    notes: list[str] = []
    sent: list[dict[str, Any]] = []
    clock = 0.0

    def ask(request: dict[str, Any]) -> ModelReply:
        sent.append(request)
        return client.send(request, 10**9)

    def pause(*_: object) -> str:
        nonlocal clock
        clock += (pauses or {}).get(len(sent), 0.0)
        return ""

    client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
    try:
        with ToolBox(str(tmp_path), lambda _: None) as box:
            told = limits(prompt_tokens)
            agent.AgentRun(
                BRIEF, "m", box, ask, told, lambda: clock, lambda kind, _: notes.append(kind), watch=pause
            ).to_the_end()
    finally:
        client.close()
    assert server.violations == []
    return sent, notes


def reading(request: Request) -> Reply:
    turn = len(request.body["messages"]) // 2
    return Reply(thinking(f"thought {turn}"), call("Read", {"file_path": "a.md"}) if turn < READS else text("done"))


def thoughts_in(request: dict[str, Any]) -> list[str]:
    blocks = (block for message in request["messages"] for block in message["content"])
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


def cleared_in(request: dict[str, Any]) -> int:
    blocks = (block for message in request["messages"] for block in message["content"])
    return sum(block.get("content") == CLEARED for block in blocks)


def test_a_run_with_room_clears_nothing(tmp_path: Path) -> None:
    """Each thing that is cleared costs the cached prefix behind it."""
    with MessagesServer(reading) as server:
        sent, notes = run_reading(tmp_path, server, 170_000)
    assert [cleared_in(request) for request in sent] == [0] * (READS + 1)
    assert thoughts_in(sent[-1]) == [f"thought {turn}" for turn in range(READS)]
    assert notes == []


def test_before_the_window_is_full_old_results_and_thoughts_go(tmp_path: Path) -> None:
    """The thoughts of the last reply stay: the endpoint wants them back beside its call."""
    with MessagesServer(reading) as server:
        sent, notes = run_reading(tmp_path, server, 70_000)
    first = next(number for number, request in enumerate(sent) if cleared_in(request))
    assert 1 < first < READS
    assert thoughts_in(sent[first]) == [f"thought {first - 1}"]
    assert cleared_in(sent[first]) == first - 5
    assert notes == []


@pytest.mark.parametrize(("seconds", "cleared"), [(IDLE_SECONDS - 1, 0), (IDLE_SECONDS, 3)])
def test_after_an_hour_of_silence_old_results_and_thoughts_go(tmp_path: Path, seconds: float, cleared: int) -> None:
    """Nothing is cached any more then: what is cleared need not be paid for again."""
    with MessagesServer(reading) as server:
        sent, _ = run_reading(tmp_path, server, 170_000, {8: seconds})
    assert [cleared_in(request) for request in sent[:8]] == [0] * 8
    assert cleared_in(sent[8]) == cleared
    assert len(thoughts_in(sent[8])) == (1 if cleared else 8)
    assert len(thoughts_in(sent[9])) == (2 if cleared else 9)  # once, not with every request


def test_an_endpoint_that_can_clears_by_itself_and_that_is_no_break_of_the_cache(tmp_path: Path) -> None:
    """At 180,000 tokens down by 140,000; afterwards the rest is cached again."""
    with MessagesServer(reading, bytes_per_token=1) as server:
        sent, notes = run_reading(tmp_path, server, 900_000)
        usages = [request.usage for request in server.requests]
    parts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    prompts = [sum(usage[part] for part in parts) for usage in usages]
    assert [cleared_in(request) for request in sent] == [0] * (READS + 1)
    assert any(after < before - 100_000 for before, after in pairwise(prompts))
    assert max(prompts) < 450_000
    assert notes == []


@pytest.mark.parametrize(
    ("complaint", "edits"),
    [
        (
            "context_management.edits.0: clear_thinking_20251015 requires thinking to be enabled",
            ["clear_tool_uses_20250919"],
        ),
        ("context_management: Extra inputs are not permitted", None),
    ],
)
def test_an_endpoint_is_asked_again_without_the_edit_that_it_refuses(
    tmp_path: Path, complaint: str, edits: list[str] | None
) -> None:
    """A model that does not think refuses to clear thoughts; it may clear results all the same."""

    def refusing(request: Request) -> Reply | Status:
        if b"clear_thinking" in request.raw:
            return Status(400, "invalid_request_error", complaint)
        return Reply(text("done"))

    with MessagesServer(refusing) as server:
        run_reading(tmp_path, server, 900_000)
        asked = [request.body.get("context_management") for request in server.requests]
    assert len(asked) == 2
    assert ([edit["type"] for edit in asked[1]["edits"]] if asked[1] else None) == edits
