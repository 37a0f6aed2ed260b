"""The real Codex client with memoryd as its MCP server: instructions and tools reach the model, and the tools work."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.mcp.server import INSTRUCTIONS, TOOLS
from tests.acceptance.codex import ResponsesServer, binary, calls, config_for, run, says
from tests.acceptance.command import as_json, memoryd
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from memoryd.paths import Paths

pytestmark = pytest.mark.real

RULE = "Releases are cut from the branch stable, never from main"
SAID = "From now on, run make lint before every commit."
ASKED = (
    ("recall", {"query": "Which branch are releases cut from?"}, RULE),
    ("search", {"query": "branch stable"}, RULE),
    ("why", {"memory": "releases"}, "said "),
    ("remember", {"text": "Run make lint before every commit.", "quote": SAID}, "Kept as "),
    ("forget", {"memory": "releases"}, "Forgot "),
)


def test_the_model_reads_the_instructions_and_every_tool_answers(
    environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    binary()
    project = tmp_path / "acme"
    (project / ".git").mkdir(parents=True)
    assert memoryd(environment, "remember", "--project", str(project), RULE).returncode == 0
    session = Session(cwd=str(project))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    write(paths.transcripts_root, session, line(json.loads(session.prompt(SAID)) | {"timestamp": now}), "-acme")

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        done = len(_results(request))
        return [calls("mcp__memoryd", *ASKED[done][:2])] if done < len(ASKED) else [says("Done.")]

    with ResponsesServer(answer) as server:
        config = Path(paths.home, ".codex", "config.toml")
        config.parent.mkdir()
        config.write_text(config_for(server))
        assert memoryd(environment, "setup", "--yes", "--no-service", "--no-history").returncode == 0
        run(paths.home, project, "Please cut a release.")
    (offered,) = (tool for tool in server.requests[0]["tools"] if tool.get("name") == "mcp__memoryd")
    assert offered["description"].strip() == INSTRUCTIONS.strip()
    assert {tool["name"] for tool in offered["tools"]} == {tool.name for tool in TOOLS}
    results = _results(server.requests[-1])
    assert len(results) == len(ASKED)
    for (tool, _, expected), result in zip(ASKED, results, strict=True):
        assert expected in result, tool
    changes = as_json(environment, "history", "--project", str(project))
    assert [change["kind"] for change in changes] == ["forget", "remember", "remember"]


def _results(request: dict[str, Any]) -> list[str]:
    """What the calls of a conversation have answered, oldest first."""
    return [str(item["output"]) for item in request["input"] if item["type"] == "function_call_output"]
