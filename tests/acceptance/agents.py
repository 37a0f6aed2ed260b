"""Real clients other than Claude Code, each in a home of its own, with a server on the loopback in the place of the model."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.codex import CodexClient
from tests.acceptance import codex
from tests.acceptance.model_servers import CompletionsServer, GeminiServer, ResponsesServer, Said

if TYPE_CHECKING:
    from tests.acceptance.model_servers import ModelServer

PATIENCE_SECONDS = 120
FETCHED = Path(__file__).parents[2] / ".client"
SYSTEM = (
    f"{platform.system().lower()}-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"
)
AN_HOUR = 3600


class Agent:
    """A user of one client in one project."""

    name = ""
    package = ""
    """Its folder in `.client`, and its name for `make acceptance CLIENTS=…`."""
    settings = ""
    """The file in the home directory in which memoryd will be, too."""
    text = ""
    """What the user has in it."""
    protocol: type[ModelServer] = CompletionsServer
    tool = "memoryd_{}"
    """What it calls a tool of memoryd's MCP server; empty: it takes no servers."""
    shell = ("bash", "command")
    """Its tool for commands, and the argument that is the command."""

    def __init__(self, home: str, project: Path) -> None:
        self.home, self.project = Path(home), project
        self.command = ""
        """What the model runs with the next prompt; empty: it only agrees."""
        self.server = self.protocol(self._answer)

    def _answer(self, server: ModelServer, request: dict[str, Any]) -> Said:
        tool, argument = self.shell
        if self.command and request.get("tools") and not server.results(request):
            return Said(tool=tool, arguments={argument: self.command, "description": "as asked"})
        return Said("Understood.")

    def configure(self) -> Path:
        """Write the settings of somebody who uses it; returns the file in which memoryd will be, too."""
        settings = self.home / self.settings
        settings.parent.mkdir(parents=True, exist_ok=True)
        if self.text:
            settings.write_bytes(self.text.replace("ADDRESS", self.server.url).encode())
        return settings

    def trust(self) -> None:
        """Do what its user has to do once, so that it runs hooks."""

    def say(self, prompt: str) -> str:
        """In a new session; returns all that its model was given with it."""
        self.run(prompt)
        return self.server.given(prompt)

    def results(self, prompt: str) -> list[str]:
        """Say something, and return what the tools answered that the model called then."""
        self.run(prompt)
        return self.server.results(
            next(found for found in reversed(self.server.requests) if self.server.results(found))
        )

    def program(self) -> tuple[Path, ...]:
        """The command that starts it. A test that needs it is skipped where it is missing."""
        raise NotImplementedError

    def run(self, prompt: str) -> None:
        """Say something in a new session, and wait for the end of the turn."""
        raise NotImplementedError

    def _run(self, *arguments: str, **environment: str) -> None:
        done = subprocess.run(
            [*self.program(), *arguments],
            env={"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
            cwd=self.project,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def fetched(self, *parts: str) -> Path:
        """A file of its packages; else the test is skipped."""
        file = FETCHED.joinpath(self.package, "node_modules", *parts)
        if not file.exists():
            pytest.skip(f"{self.name} is not installed; fix: make acceptance CLIENTS={self.package}")
        return file

    def node(self) -> Path:
        return self.fetched(f"node-{SYSTEM}", "bin", "node")


class CodexAgent(Agent):
    name, package, settings = "codex", "codex", ".codex/config.toml"
    tool = "mcp__memoryd"
    protocol = ResponsesServer
    shell = ("exec_command", "cmd")

    def configure(self) -> Path:
        settings = super().configure()
        settings.write_text("# mine\n" + codex.config_for(self.server))
        return settings

    def trust(self) -> None:
        commands = codex.trust_hooks(str(self.home))
        assert sum("memoryd hook" in command for command in commands) == len(CodexClient.events)

    def program(self) -> tuple[Path, ...]:
        return (codex.binary(),)

    def run(self, prompt: str) -> None:
        codex.run(str(self.home), self.project, prompt)


class GeminiAgent(Agent):
    name, package, settings = "gemini-cli", "gemini", ".gemini/settings.json"
    tool = "mcp_memoryd_{}"
    protocol = GeminiServer
    shell = ("run_shell_command", "command")
    text = (
        '{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},\r\n'
        '  "telemetry":{"enabled":false},"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false}}'
    )

    def program(self) -> tuple[Path, ...]:
        return (self.node(), self.fetched("@google/gemini-cli/bundle/gemini.js"))

    def run(self, prompt: str) -> None:
        self._run(
            *("--skip-trust", "-y", "-m", "gemini-2.5-pro", "-p", prompt),
            GEMINI_API_KEY="test-key",
            GOOGLE_GEMINI_BASE_URL=self.server.url,
            GEMINI_CLI_TRUST_WORKSPACE="true",
        )
        age(self.home / ".gemini/tmp", "session-*")


class QwenAgent(Agent):
    name, package, settings = "qwen-code", "qwen", ".qwen/settings.json"
    tool = "mcp__memoryd__{}"
    shell = ("run_shell_command", "command")
    text = """{
  // mine
  "security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false}, "general": {"enableAutoUpdate": false}, "$version": 4
}
"""

    def program(self) -> tuple[Path, ...]:
        return (self.node(), self.fetched("@qwen-code/qwen-code/cli.js"))

    def run(self, prompt: str) -> None:
        self._run(
            *("-y", prompt),
            OPENAI_API_KEY="test-key",
            OPENAI_BASE_URL=self.server.url,
            OPENAI_MODEL="scripted",
        )
        age(self.home / ".qwen/projects", "*.jsonl")


class CopilotAgent(Agent):
    name, package, settings = "copilot-cli", "copilot", ".copilot/settings.json"
    tool = "memoryd-{}"
    text = '{ "banner": "never" }\n'

    def program(self) -> tuple[Path, ...]:
        return (self.fetched(f"@github/copilot-{SYSTEM}", "copilot"),)

    def run(self, prompt: str) -> None:
        self._run(
            *("--allow-all-tools", "--trust-folder", "--disable-client-telemetry", "-p", prompt),
            COPILOT_PROVIDER_BASE_URL=self.server.url,
            COPILOT_PROVIDER_API_KEY="test-key",
            COPILOT_MODEL="scripted",
            COPILOT_OFFLINE="true",
            COPILOT_AUTO_UPDATE="false",
        )


class PiAgent(Agent):
    name, package, settings = "pi", "pi", ".pi/agent/models.json"
    tool = ""
    text = (
        '{"providers":{"loop":{"baseUrl":"ADDRESS","api":"openai-completions","apiKey":"test-key",'
        '"compat":{"supportsDeveloperRole":false},"models":[{"id":"scripted","contextWindow":100000,"maxTokens":8000}]}}}'
    )

    def program(self) -> tuple[Path, ...]:
        return (self.node(), self.fetched("@earendil-works/pi-coding-agent/dist/cli.js"))

    def run(self, prompt: str) -> None:
        self._run(
            *("--provider", "loop", "--model", "scripted", "-p", prompt),
            PI_OFFLINE="1",
            PI_SKIP_VERSION_CHECK="1",
            PI_TELEMETRY="0",
        )


class OpencodeAgent(Agent):
    name, package, settings = "opencode", "opencode", ".config/opencode/opencode.json"
    text = """{
  "$schema": "https://opencode.ai/config.json",
  "autoupdate": false, "share": "disabled", "model": "loop/scripted", "small_model": "loop/scripted", "permission": "allow",
  "provider": {"loop": {"npm": "@ai-sdk/openai-compatible", "name": "loop", "options": {"baseURL": "ADDRESS", "apiKey": "test-key"},
    "models": {"scripted": {"name": "scripted", "tool_call": true, "limit": {"context": 100000, "output": 8000}}}}}
}
"""

    def configure(self) -> Path:
        """With the package for plugins, as somebody has who uses another plugin."""
        settings = super().configure()
        modules = self.fetched("@opencode-ai/plugin").parents[1]
        shutil.copytree(modules, settings.parent / "node_modules", ignore=shutil.ignore_patterns("opencode-*"))
        (settings.parent / "package.json").write_text(json.dumps({"dependencies": {"@opencode-ai/plugin": "*"}}))
        return settings

    def program(self) -> tuple[Path, ...]:
        return (self.fetched(f"opencode-{SYSTEM}", "bin", "opencode"),)

    def run(self, prompt: str) -> None:
        self._run(
            *("run", "--format", "json", prompt),
            OPENCODE_DISABLE_AUTOUPDATE="1",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_LSP_DOWNLOAD="1",
            OPENCODE_DISABLE_DEFAULT_PLUGINS="1",
        )


def age(place: Path, pattern: str) -> None:
    """Let an hour pass for sessions whose turns end by silence alone."""
    for session in place.rglob(pattern):
        os.utime(session, (session.stat().st_mtime - AN_HOUR,) * 2)


AGENTS: tuple[type[Agent], ...] = (CodexAgent, GeminiAgent, QwenAgent, CopilotAgent, PiAgent, OpencodeAgent)
