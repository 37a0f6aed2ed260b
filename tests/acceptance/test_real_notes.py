"""The real Claude Code client, compacted: the next request carries the notes of the session, once."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import plugin
from tests.acceptance.client import Client, Model, words_of
from tests.acceptance.command import memoryd
from tests.acceptance.test_hook import logged
from tests.messages_server import Reply, call, text

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths
    from tests.messages_server import Request

pytestmark = pytest.mark.real
LEAD = "memoryd's notes of this session"
NOTES_LENGTH = 9_500


def told(request: Request) -> str:
    return "\n".join(words_of(request))


def test_a_compacted_session_goes_on_with_its_notes(environment: dict[str, str], paths: Paths, tmp_path: Path) -> None:
    project = tmp_path / "acme"
    (project / ".git").mkdir(parents=True)
    plugin.install(paths, sys.executable)
    steps = 3

    def work(request: Request) -> Reply:
        """A command for each prompt, then an answer; a summary that forgets everything."""
        words = told(request)
        if "Write nothing but a summary" in words or "summary of the conversation" in words:
            return Reply(text("<summary>We talked.</summary>"))
        last = request.body["messages"][-1]["content"]
        if isinstance(last, list) and any(block["type"] == "tool_result" for block in last):
            return Reply(text("That is done."))
        number = sum(f"step {step}:" in words for step in range(1, steps + 1))
        return Reply(call("Bash", {"command": f"echo step-{number} > part{number}.txt", "description": "write"}))

    with Model(work) as model:
        client = Client(paths.home, project, model)
        answer = json.loads(
            client.ask("step 1: write the first part", "--output-format", "json", "--allowedTools", "Bash(echo:*)")
        )
        go_on = ("--resume", answer["session_id"], "--allowedTools", "Bash(echo:*)")
        for step in range(2, steps + 1):
            client.ask(f"step {step}: write part {step}, and mind the umlauts", *go_on)
        assert LEAD not in told(model.requests[-1])
        client.ask("/compact", *go_on)
        before = len(model.requests)
        client.ask("What was the first thing I asked for?", *go_on)
        after = [told(request) for request in model.requests[before:]]
        carrying = [words for words in after if LEAD in words]
        assert carrying
        for words in carrying:
            assert words.count(LEAD) == 1
        notes = carrying[0][carrying[0].index("<memoryd-recall>") : carrying[0].index("</memoryd-recall>")]
        for piece in ("step 1: write the first part", "step 3: write part 3", "part3.txt", "That is done."):
            assert piece in notes
        assert len(notes) <= NOTES_LENGTH
        client.ask("And the second?", *go_on)
        assert told(model.requests[-1]).count(LEAD) == 1  # once, in what the session was given then
    assert logged(paths) == []
    said = memoryd(environment, "notes", answer["session_id"]).stdout
    assert "What was the first thing I asked for?" in said
    assert LEAD not in said  # nothing of ours comes back as the user's words
    assert "We talked" not in said
