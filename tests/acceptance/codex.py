"""The real Codex client, in a home of its own, with a server on the loopback in the place of the model."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.acceptance.model_servers import ModelServer

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


def config_for(server: ModelServer) -> str:
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
