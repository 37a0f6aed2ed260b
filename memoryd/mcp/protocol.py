"""The Model Context Protocol, as a server that offers tools: lines of JSON-RPC in, lines out. Pure.

A call may be answered at once or later: whoever serves decides. Nothing that a client sends makes it raise: a line that is
no request gets the error that the protocol has for it, or none where the protocol wants silence.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Of the protocol, the newest first. What is used of it is the same in all of them."""
MOST_LINE_BYTES = 8 << 20
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


class ServerIdentity(NamedTuple):
    name: str
    version: str
    instructions: str = ""
    """For the model, beside the descriptions of the tools."""


class McpTool(NamedTuple):
    name: str
    description: str
    input_schema: dict[str, Any]
    is_read_only: bool = False
    """Clients may run several calls of such tools at once."""


class McpCall(NamedTuple):
    """A call that wants an answer."""

    request_id: str | int
    tool: str
    arguments: dict[str, Any]
    meta: dict[str, Any]
    """What the client says beside it, such as its own number for the call."""


class McpAnswer(NamedTuple):
    texts: tuple[str, ...]
    is_error: bool = False


class McpServer:
    """One connection of a client.

    `on_call` answers a call, or returns None and answers it later with `answer`.
    """

    def __init__(
        self, identity: ServerIdentity, tools: Sequence[McpTool], on_call: Callable[[McpCall], McpAnswer | None]
    ) -> None:
        self._identity = identity
        self._tools = {tool.name: tool for tool in tools}
        self._on_call = on_call
        self._rest = b""
        self._is_skipping = False
        self._waiting: set[str | int] = set()
        self._methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": [_listed(tool) for tool in self._tools.values()]},
        }

    def receive(self, data: bytes) -> bytes:
        """Take bytes as they come; returns what is to be written back."""
        *lines, rest = (self._rest + data).split(b"\n")
        if self._is_skipping and lines:  # the end of a line that was too long
            lines, self._is_skipping = lines[1:], False
        written = b"".join(self._received(line) for line in lines if line.strip())
        self._rest = b"" if self._is_skipping else rest
        if len(self._rest) > MOST_LINE_BYTES:
            self._rest, self._is_skipping = b"", True
            written += _error(None, PARSE_ERROR, "the line is too long")
        return written

    def answer(self, call: McpCall, answer: McpAnswer) -> bytes:
        """The line that answers a call; empty where the client no longer waits for it."""
        if call.request_id not in self._waiting:
            return b""
        self._waiting.discard(call.request_id)
        content = [{"type": "text", "text": text} for text in answer.texts]
        return _line({"id": call.request_id, "result": {"content": content, "isError": answer.is_error}})

    def _received(self, line: bytes) -> bytes:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, PARSE_ERROR, "the line is no JSON")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _error(None, INVALID_REQUEST, "a message is an object with jsonrpc 2.0")
        request_id, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if method is None:
            return b""  # an answer: nobody was asked
        is_known_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
        if not isinstance(method, str) or not isinstance(params, dict) or not (is_known_id or "id" not in message):
            return _error(request_id if is_known_id else None, INVALID_REQUEST, "that is no request")
        if "id" not in message:
            if method == "notifications/cancelled":
                self._cancel(params.get("requestId"))
            return b""
        assert isinstance(request_id, str | int)  # noqa: S101 - as was looked
        if method == "tools/call":
            return self._call(request_id, params)
        if method not in self._methods:
            return _error(request_id, NO_METHOD, f"there is no {method[:100]}")
        return _line({"id": request_id, "result": self._methods[method](params)})

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        about = {"name": self._identity.name, "version": self._identity.version}
        result: dict[str, Any] = {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": about,
        }
        return result | ({"instructions": self._identity.instructions} if self._identity.instructions else {})

    def _call(self, request_id: str | int, params: dict[str, Any]) -> bytes:
        name, arguments, meta = params.get("name"), params.get("arguments"), params.get("_meta")
        if name not in self._tools:
            return _error(request_id, INVALID_PARAMS, f"there is no tool {str(name)[:100]}")
        if arguments is not None and not isinstance(arguments, dict):
            return _error(request_id, INVALID_PARAMS, "the arguments are no object")
        if request_id in self._waiting:
            return _error(request_id, INVALID_REQUEST, "this number is in use")
        call = McpCall(request_id, str(name), arguments or {}, meta if isinstance(meta, dict) else {})
        self._waiting.add(request_id)
        answer = self._on_call(call)
        return b"" if answer is None else self.answer(call, answer)

    def _cancel(self, request_id: Any) -> None:
        if isinstance(request_id, str | int):
            self._waiting.discard(request_id)


def _listed(tool: McpTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": {"readOnlyHint": tool.is_read_only},
    }


def _error(request_id: str | int | None, code: int, message: str) -> bytes:
    return _line({"id": request_id, "error": {"code": code, "message": message}})


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode("utf-8", "replace") + b"\n"
