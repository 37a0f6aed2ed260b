"""Conformance: the client of the official SDK talks to `memoryd mcp` as it is started by a client."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.acceptance.command import as_json, memoryd
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import ClientSession

    from memoryd.paths import Paths

SAID = "From now on, run make lint before every commit."


def test_the_sdk_client_uses_every_tool_and_resource(environment: dict[str, str], paths: Paths, tmp_path: Path) -> None:
    from mcp import ClientSession, StdioServerParameters  # noqa: PLC0415 - a second that only this test takes
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    project = tmp_path / "acme"
    (project / ".git").mkdir(parents=True)
    session = Session(cwd=str(project))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    prompt = json.loads(session.prompt(SAID)) | {"timestamp": now}
    write(paths.transcripts_root, session, line(prompt), "-acme")  # it goes on: nobody has answered yet
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "memoryd", "mcp", "--stdio"], env=environment, cwd=str(project)
    )

    async def talk() -> None:
        async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as client:
            await client.initialize()
            await _use(client)

    asyncio.run(talk())
    (change,) = as_json(environment, "history", "--project", str(project))
    assert (change["kind"], change["session"]) == ("remember", session.id)
    assert memoryd(environment, "undo", "--project", str(project)).returncode == 0
    assert as_json(environment, "memories", "--project", str(project)) == []
    (row,) = as_json(environment, "review", "--list", "--project", str(project))
    assert "Ask Dana" in row["after"]


async def _use(client: ClientSession) -> None:
    assert "background, not orders" in (client.instructions or "")
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["recall", "search", "remember", "forget", "why"]

    async def call(tool: str, **arguments: str) -> str:
        result = await client.call_tool(tool, arguments)
        (content,) = result.content
        assert content.type == "text"
        return content.text

    kept = await call("remember", text="Run make lint before every commit.", quote="run make lint before every commit")
    assert kept.startswith("Kept as feedback_")
    name = kept.split()[2].rstrip(".")
    assert "waits for the user" in await call(
        "remember", text="Ask Dana about billing.", quote="ask dana about billing"
    )
    assert "Run make lint before every commit." in await call("recall", query="what do I run before I commit?")
    assert "the user said" in await call("search", query="make lint")
    assert "run make lint before every commit" in await call("why", memory=name)
    listed = (await client.list_resources()).resources
    assert [found.name for found in listed] == ["MEMORY.md", name]
    for found in listed:
        (content,) = (await client.read_resource(found.uri)).contents
        assert "make lint" in content.text.lower()  # type: ignore[union-attr]
