"""The real Codex client, in a home of its own, with a server on the loopback in the place of the model."""

from __future__ import annotations

import json
import platform
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 90
INSTALLED = Path(__file__).parents[2] / ".client" / "codex" / "node_modules" / "@openai"
_SYSTEMS = {"linux": "unknown-linux-musl", "darwin": "apple-darwin"}
_MACHINES = {"x86_64": ("x64", "x86_64"), "aarch64": ("arm64", "aarch64"), "arm64": ("arm64", "aarch64")}


def binary() -> Path:
    """The client's own program. A test that needs it is skipped where it is missing."""
    system = platform.system().lower()
    kind, machine = _MACHINES.get(platform.machine(), ("", ""))
    package = INSTALLED / f"codex-{system}-{kind}" / "vendor" / f"{machine}-{_SYSTEMS.get(system)}" / "bin" / "codex"
    if not package.exists():
        pytest.skip("Codex is not installed; fix: make acceptance CLIENTS=codex")
    return package


class ResponsesServer(ThreadingHTTPServer):
    """Speaks as much of the Responses API as Codex asks for. `answer` makes the output items of each reply."""

    daemon_threads = True

    def __init__(self, answer: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ResponsesServer

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._send("application/json", b'{"object": "list", "data": []}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        number = len(self.server.requests)
        output = [{"id": f"item_{number}_{at}", **item} for at, item in enumerate(self.server.answer(body))]
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        full = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": output, "usage": usage}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": {**full, "output": []}}]
        events += [
            {"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(output)
        ]
        events.append({"type": "response.completed", "response": full})
        parts = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        self._send("text/event-stream", "".join(parts).encode())

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def says(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content}


def calls(namespace: str, tool: str, arguments: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{tool}",
        "namespace": namespace,
        "name": tool,
        "arguments": json.dumps(arguments),
    }


def run(home: str, cwd: Path, prompt: str) -> str:
    """Say something in a new session and wait for the end of the turn; returns the events that Codex prints."""
    done = subprocess.run(
        [binary(), "exec", "--json", "--skip-git-repo-check", prompt],
        env={"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LOOP_KEY": "test-key"},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def trust_hooks(home: str) -> list[str]:
    """Trust all hooks, as a user does in the client, through the server by which its screens do it; returns their commands."""
    with subprocess.Popen(
        [binary(), "app-server"],
        env={"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        given, told = server.stdin, server.stdout

        def ask(number: int, method: str, parameters: dict[str, Any]) -> Any:
            given.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}) + "\n")
            given.flush()
            return next(answer["result"] for line in told if (answer := json.loads(line)).get("id") == number)

        ask(1, "initialize", {"clientInfo": {"name": "test", "version": "1"}})
        given.write(json.dumps({"jsonrpc": "2.0", "method": "initialized"}) + "\n")
        (found,) = ask(2, "hooks/list", {"cwds": [home]})["data"]
        trusted = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in found["hooks"]}
        edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
        ask(3, "config/batchWrite", {"edits": [edit], "reloadUserConfig": True})
        given.close()
        server.wait(PATIENCE_SECONDS)
    return [hook["command"] for hook in found["hooks"]]


def config_for(server: ResponsesServer) -> str:
    """The config of a user of Codex."""
    return f"""\
model = "scripted"
model_provider = "loop"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.loop]
name = "loop"
base_url = "{server.url}"
wire_api = "responses"
env_key = "LOOP_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
