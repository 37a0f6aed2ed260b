"""The real Codex client with memoryd as its MCP server: instructions and tools reach the model, and the tools work."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.mcp.server import INSTRUCTIONS, TOOLS
from tests.acceptance.codex import binary, config_for, run
from tests.acceptance.command import as_json, memoryd
from tests.acceptance.model_servers import ResponsesServer, Said
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.acceptance.model_servers import ModelServer

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

    def answer(server: ModelServer, request: dict[str, Any]) -> Said:
        done = len(server.results(request))
        return Said("", *ASKED[done][:2], "mcp__memoryd") if done < len(ASKED) else Said("Done.")

    with ResponsesServer(answer) as server:
        config = Path(paths.home, ".codex", "config.toml")
        config.parent.mkdir()
        config.write_text(config_for(server))
        assert memoryd(environment, "setup", "--yes", "--no-service", "--no-history").returncode == 0
        run(paths.home, project, "Please cut a release.")
    (offered,) = (tool for tool in server.requests[0]["tools"] if tool.get("name") == "mcp__memoryd")
    assert offered["description"].strip() == INSTRUCTIONS.strip()
    assert {tool["name"] for tool in offered["tools"]} == {tool.name for tool in TOOLS}
    results = server.results(server.requests[-1])
    assert len(results) == len(ASKED)
    for (tool, _, expected), result in zip(ASKED, results, strict=True):
        assert expected in result, tool
    changes = as_json(environment, "history", "--project", str(project))
    assert [change["kind"] for change in changes] == ["forget", "remember", "remember"]
