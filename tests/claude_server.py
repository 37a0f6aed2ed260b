"""A user whose own `claude` is the engine, and the server on the loopback that it talks to.

What `claude` puts around our requests is taken away again before a test looks at them, so that the same model answers over both
transports.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryd.config import ClaudeCommand, Config
from memoryd.engines.model.claude.command import TOOL_PREFIX
from memoryd.engines.model.claude.endpoint import _MARK
from tests.messages_server import MessagesServer, Reply, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.messages_server import Answer, Block, Request

SCRIPT = Path(__file__).parent / "claude_command.py"


class ClaudeServer(MessagesServer):
    """Lenient about the protocol, since `claude` uses more of it than we do and is not on trial here.

    `requests` have the shape that a request over the Messages API would have; `raw` in them is what came.
    """

    def __init__(
        self,
        answer: Callable[[Request], Answer],
        *,
        reviewer: Callable[[Request], Answer] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(_plainly(answer), reviewer=_plainly(reviewer) if reviewer else None, **more)

    def _refusal(self, request: Request) -> Status | None:
        request.body = plain_body(request.body)
        if request.headers.get("x-api-key") not in self._keys:
            return Status(401, "authentication_error", "invalid x-api-key")
        return None


def _plainly(answer: Callable[[Request], Answer]) -> Callable[[Request], Answer]:
    def answered(request: Request) -> Answer:
        answer_given = answer(request)
        if isinstance(answer_given, Reply):
            answer_given.blocks = tuple(map(_prefixed, answer_given.blocks))
        return answer_given

    return answered


def _prefixed(block: Block) -> Block:
    if block.get("type") != "tool_use" or block["name"].startswith(TOOL_PREFIX) or block["name"] == "Unknown":
        return block
    return block | {"name": TOOL_PREFIX + block["name"]}


def plain_body(body: dict[str, Any]) -> dict[str, Any]:
    """The request without what `claude` adds to it."""
    messages = [message for message in body["messages"] if message["role"] != "system"]
    messages = [message | {"content": _plain_content(message["content"])} for message in messages]
    tools = [tool | {"name": tool["name"].removeprefix(TOOL_PREFIX)} for tool in body.get("tools", [])]
    return body | {"messages": messages, "tools": [tool for tool in tools if "defer_loading" not in tool]}


def _plain_content(content: Any) -> list[Block]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [_plain_block(block) for block in blocks if block.get("text") != _MARK]


def _plain_block(block: Block) -> Block:
    match block:
        case {"type": "tool_use", "name": name}:
            return block | {"name": name.removeprefix(TOOL_PREFIX)}
        case {"type": "tool_result", "content": list() as parts}:
            return block | {"content": "\n".join(part["text"] for part in parts)}
    return block


def install_command(folder: Path, name: str = "claude") -> Path:
    """Put the small `claude` into a folder, as a command."""
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / name
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {SCRIPT} "$@"\n')
    command.chmod(0o755)
    return command


def variables_for(server: MessagesServer) -> dict[str, str]:
    """What stands under [claude.environment]: the login that `claude` has here."""
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}


def config_with_claude(command: Path, server: MessagesServer, **settings: Any) -> Config:
    """A config whose engine is this command, with a login for this server."""
    given = {"command": str(command), "environment": variables_for(server)} | settings
    return Config()._replace(engine="claude", claude=ClaudeCommand(**given))
