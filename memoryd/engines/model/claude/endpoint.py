"""Endpoint that is a `claude` process: requests of one run become one conversation with it.

A request holds all messages so far. The process has those that it was told before, so only the last one is told: results of
calls, or words. A request without tools is a question in a process of its own, which ends with the answer.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from memoryd import __version__
from memoryd.clock import elapsed
from memoryd.engines.model.claude.command import (
    SERVER,
    ConversationStart,
    arguments_for,
    environment_for,
    identity_of,
)
from memoryd.engines.model.claude.conversation import SOCKET, Conversation, ToolAnswer
from memoryd.engines.model.claude.process import GuardedProcess
from memoryd.engines.model.claude.trouble import ClaudeError
from memoryd.mcp import relay
from memoryd.mcp.protocol import McpServer, McpTool, ServerIdentity
from memoryd.transcripts.opt_out import MARKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryd.engines.model.claude.command import FoundCommand
    from memoryd.engines.model.reply import ModelReply
    from memoryd.mcp.protocol import McpAnswer, McpCall

_READ_ONLY = ("Read", "Grep", "Glob", "Bash")
_MARK = f"{MARKERS[1]} This is a job of memoryd."
"""Says of a session that it is none to learn from, should it ever be kept in spite of everything."""
_AS_JSON = "\n\nAnswer with one JSON object that fits this schema, and with nothing before or behind it:\n"


class ClaudeEndpoint:
    """For one run. `folder` is the job's own, below the state directory; `cwd` an empty one."""

    tries = 1
    is_conversing = True

    def __init__(
        self,
        command: FoundCommand,
        environment: Mapping[str, str],
        more: Mapping[str, str],
        folder: str,
        cwd: str,
        effort: str,
        now: Callable[[], float],
    ) -> None:
        self._command = command
        self._environment = environment
        self._more = more
        self._folder = folder
        self._cwd = cwd
        self._effort = effort
        self._now = now
        self._open: tuple[Conversation, str] | None = None
        self._failed: Exception | None = None

    def close(self) -> None:
        if self._open is not None:
            conversation, folder = self._open
            self._open = None
            conversation.close()
            shutil.rmtree(folder, ignore_errors=True)

    def send(self, request: dict[str, Any], deadline: float) -> ModelReply:
        """Raises ClaudeError, LimitReachedError, EngineStoppedError, PromptTooLongError, BadRequestError."""
        left = deadline - self._now()
        if left <= 0:
            raise ClaudeError("engine_hung", "There is no time left to ask claude.")
        until = elapsed() + left
        try:
            if len(request["messages"]) == 1:
                self.close()
                self._begin(request)
            else:
                self._tell(request["messages"][-1])
            assert self._open is not None  # noqa: S101 - begun, or told
            reply = self._open[0].reply(until)
        except ClaudeError as error:
            self._failed = self._explained(error)
            self.close()
            raise self._failed from error
        except Exception as error:
            self._failed = error
            self.close()
            raise
        if "tools" not in request:
            self.close()
        return reply

    def _begin(self, request: dict[str, Any]) -> None:
        folder = tempfile.mkdtemp(prefix="run-", dir=self._folder)
        tools = request.get("tools", [])
        question = ConversationStart(
            request["model"], self._effort, request["max_tokens"], _system_of(request), has_tools=bool(tools)
        )
        names = [tool["name"] for tool in tools]
        conversation = None
        try:
            _write(folder, "system.md", question.system)
            if tools:
                _write(folder, "mcp.json", json.dumps({"mcpServers": {SERVER: _server(folder)}}))
            environment = environment_for(self._environment, self._more, folder)
            environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(question.output_tokens)
            process = GuardedProcess(
                [self._command.path, *arguments_for(question, folder, names)],
                environment,
                self._cwd,
                os.path.join(folder, "errors"),
            )
            try:
                serve = (lambda on_call: _server_of(tools, on_call)) if tools else None
                conversation = Conversation(process, folder, question.model, names, serve)
            except BaseException:
                process.end()
                raise
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise ClaudeError("engine_busy", f"claude cannot be started: {error.strerror}.") from error
        self._open = conversation, folder
        conversation.say([_MARK, *(block["text"] for block in request["messages"][0]["content"])])

    def _tell(self, message: dict[str, Any]) -> None:
        if self._open is None:
            raise self._failed or ClaudeError("engine_busy", "The conversation with claude has ended.")
        answers: dict[str, ToolAnswer] = {}
        words: list[str] = []
        for block in message["content"]:
            if block["type"] == "tool_result":
                answers[block["tool_use_id"]] = ToolAnswer((block["content"],), bool(block.get("is_error")))
            else:
                words.append(block["text"])
        if answers:
            self._open[0].answer(answers, "\n".join(words))
        elif not self._open[0].is_in_a_round:
            self._open[0].say(words)

    def _explained(self, error: ClaudeError) -> ClaudeError:
        """An upgrade replaces the program while it works: what fails then is no trouble of its own."""
        if (
            error.reason in ("engine_busy", "engine_missing")
            and identity_of(self._command.path) != self._command.identity
        ):
            return ClaudeError(
                "engine_replaced",
                f"claude was replaced by an upgrade while it worked. {error.sentence}",
                "memoryd retry",
                is_charged=error.is_charged,
            )
        return error


def _system_of(request: dict[str, Any]) -> str:
    system = "\n\n".join(block["text"] for block in request["system"])
    wanted = request.get("output_config", {}).get("format")
    return system + (_AS_JSON + json.dumps(wanted["schema"]) if wanted else "")


def _server(folder: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", "-S", relay.__file__, folder, SOCKET]}


def _server_of(tools: list[dict[str, Any]], on_call: Callable[[McpCall], McpAnswer | None]) -> McpServer:
    listed = [
        McpTool(tool["name"], tool["description"], tool["input_schema"], tool["name"] in _READ_ONLY) for tool in tools
    ]
    return McpServer(ServerIdentity(SERVER, __version__), listed, on_call)


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "x", encoding="utf-8", errors="replace") as file:
        file.write(text)
