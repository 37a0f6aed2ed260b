"""The real Claude Code client, in a home of its own, with a server on the loopback in the place of the model."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.messages_server import MessagesServer

if TYPE_CHECKING:
    from tests.messages_server import Request, Status

PATIENCE_SECONDS = 180
INSTALLED = Path(__file__).parents[2] / ".client" / "node_modules" / "@anthropic-ai"
NOBODY = "http://127.0.0.1:9"  # the port of `discard`, where nothing listens


class Model(MessagesServer):
    """Answers whatever it is asked: the client may use more of the API than we do, and it is not on trial here."""

    def _refusal(self, _request: Request) -> Status | None:
        return None


def words_of(request: Request) -> list[str]:
    """Every text that the client lets the model read, line by line; descriptions of tools are not among it."""

    def texts(value: Any) -> list[str]:
        match value:
            case str():
                return value.splitlines()
            case list():
                return [line for item in value for line in texts(item)]
            case {"text": words}:
                return texts(words)
            case {"content": content}:
                return texts(content)
        return []

    return texts(request.body.get("system", [])) + texts(request.body["messages"])


def binary() -> Path:
    """The client's own program, without the scripts around it. A test that needs it fails where it is missing."""
    system, machine = platform.system().lower(), platform.machine()
    kind = {"x86_64": "x64", "aarch64": "arm64"}.get(machine, machine)
    found = INSTALLED / f"claude-code-{system}-{kind}" / "claude"
    assert found.exists(), f"{found} is missing; fix: make acceptance"
    return found


class Client:
    """One user in one working directory. Each call is a session, or goes on with one."""

    def __init__(self, home: str, cwd: Path, model: Model) -> None:
        self.cwd = cwd
        # Nothing of ours is inherited. Whatever asks for another host than the model's meets a proxy that is not there.
        self._environment = {
            "HOME": home,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "test-key",
            "HTTP_PROXY": NOBODY,
            "HTTPS_PROXY": NOBODY,
            "NO_PROXY": "127.0.0.1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # else it refuses to run as root, as it must in a container
        }

    def ask(self, prompt: str, *arguments: str) -> str:
        """Say something and wait for the end of the turn; returns the answer."""
        done = subprocess.run(
            [binary(), "-p", prompt, *arguments],
            env=self._environment,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()
