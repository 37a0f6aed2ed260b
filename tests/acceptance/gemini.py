"""The real Gemini CLI, in a home of its own, with a server on the loopback in the place of the model."""

from __future__ import annotations

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

PATIENCE_SECONDS = 120
PACKAGES = Path(__file__).parents[2] / ".client/gemini/node_modules"
SCRIPT = PACKAGES / "@google/gemini-cli/bundle/gemini.js"
SETTINGS = (
    '{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},\r\n'
    '  "telemetry":{"enabled":false},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false}}'
)


def command() -> list[str]:
    """The client's own program. A test that needs it is skipped where it is missing."""
    node = next(PACKAGES.glob("node-*/bin/node"), None)
    if node is None or not SCRIPT.exists():
        pytest.skip("Gemini CLI is not installed; fix: make acceptance CLIENTS=gemini")
    return [str(node), str(SCRIPT)]


class GeminiServer(ThreadingHTTPServer):
    """Speaks as much of the Gemini API as the client asks for, and agrees with everything."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: GeminiServer

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if body.get("tools"):  # others are asked beside the conversation
            self.server.requests.append(body)
        content = {"role": "model", "parts": [{"text": "Understood."}]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        reply = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
        is_stream = "stream" in self.path
        data = f"data: {json.dumps(reply)}\n\n".encode() if is_stream else json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def run(home: str, cwd: Path, url: str, prompt: str) -> None:
    """Say something in a new session and wait for the end of the turn."""
    done = subprocess.run(
        [*command(), "--skip-trust", "-y", "-m", "gemini-2.5-pro", "-p", prompt],
        env={
            "HOME": home,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GEMINI_API_KEY": "test-key",
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
