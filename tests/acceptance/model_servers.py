"""Servers on the loopback in the place of a model: each speaks as much of a protocol as the clients ask for."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Said(NamedTuple):
    """What a model answers: words, or a call of a tool."""

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, str] = {}
    namespace: str = ""
    """The server of a tool, where the protocol names it apart."""


class ModelServer(ThreadingHTTPServer):
    """Answers with what `answer` makes of a request, and keeps the requests."""

    daemon_threads = True
    path = ""
    """What the client has in its settings behind the address."""

    def __init__(self, answer: Callable[[ModelServer, dict[str, Any]], Said] = lambda *_: Said("Understood.")) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._answer = answer
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.path}"

    def given(self, prompt: str) -> str:
        """All that the model was given when it was first asked about a prompt with tools; others are asked beside it."""
        texts = (json.dumps(request) for request in self.requests if request.get("tools"))
        return next(text for text in texts if json.dumps(prompt)[1:-1] in text)

    def results(self, request: dict[str, Any]) -> list[str]:
        """What the tools that were called since the last prompt have answered."""
        raise NotImplementedError

    def _events(self, body: dict[str, Any], said: Said, number: int) -> list[dict[str, Any]]:
        """The answer as a stream; its last event is all of it, for a client that wants no stream."""
        raise NotImplementedError

    def reply(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        self.requests.append(body)
        return self._events(body, self._answer(self, body), len(self.requests))

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._send("application/json", b'{"object": "list", "data": []}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        events = self.server.reply(body)
        if not body.get("stream") and "stream" not in self.path:
            self._send("application/json", json.dumps(events[-1]).encode())
            return
        parts = [f"data: {json.dumps(event)}\n\n" for event in events]
        names = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
        self._send("text/event-stream", "".join(map(str.__add__, names, parts)).encode())

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class ResponsesServer(ModelServer):
    """OpenAI's Responses API, for Codex."""

    path = "/v1"

    def results(self, request: dict[str, Any]) -> list[str]:
        return [str(item["output"]) for item in request["input"] if item["type"] == "function_call_output"]

    def _events(self, body: dict[str, Any], said: Said, number: int) -> list[dict[str, Any]]:  # noqa: ARG002
        item: dict[str, Any] = {"id": f"item_{number}", "status": "completed"}
        if said.tool:
            given = {"name": said.tool, "arguments": json.dumps(said.arguments), "call_id": f"call_{number}"}
            item |= {"type": "function_call", **given, **({"namespace": said.namespace} if said.namespace else {})}
        else:
            content = [{"type": "output_text", "text": said.text, "annotations": []}]
            item |= {"type": "message", "role": "assistant", "content": content}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        full = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item], "usage": usage}
        return [
            {"type": "response.created", "response": {**full, "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": full},
        ]


class GeminiServer(ModelServer):
    """The Gemini API."""

    def results(self, request: dict[str, Any]) -> list[str]:
        parts = request["contents"][-1]["parts"]
        return [json.dumps(part["functionResponse"]) for part in parts if "functionResponse" in part]

    def _events(self, body: dict[str, Any], said: Said, number: int) -> list[dict[str, Any]]:  # noqa: ARG002
        call = {"functionCall": {"name": said.tool, "args": said.arguments}}
        content = {"role": "model", "parts": [call if said.tool else {"text": said.text}]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return [{"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}]


class CompletionsServer(ModelServer):
    """OpenAI's Chat Completions API, which most clients can be told to use."""

    path = "/v1"

    def results(self, request: dict[str, Any]) -> list[str]:
        last = request["messages"][-1]
        return [json.dumps(last["content"])] if last["role"] == "tool" else []

    def _events(self, body: dict[str, Any], said: Said, number: int) -> list[dict[str, Any]]:
        message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
        if said.tool:
            function = {"name": said.tool, "arguments": json.dumps(said.arguments)}
            message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
        reason = "tool_calls" if said.tool else "stop"
        head = {"id": f"chat_{number}", "created": 1, "model": body.get("model", "scripted")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return [{**head, "object": "chat.completion", "choices": [choice], "usage": usage}]
        choices = ({"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": reason})
        chunk = {**head, "object": "chat.completion.chunk"}
        return [{**chunk, "choices": [{"index": 0, **choice}]} for choice in choices] + [
            {**chunk, "choices": [], "usage": usage}
        ]
