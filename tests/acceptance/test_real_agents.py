"""Real clients with one memory: said in one and recalled in the other, connected by setup, and gone after uninstall."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from memoryd.clients.codex import CodexClient
from tests.acceptance import codex, gemini
from tests.acceptance.client import Client, Model, words_of
from tests.acceptance.command import as_json, memoryd
from tests.acceptance.test_setup import listing
from tests.messages_server import Reply, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from tests.messages_server import Request

pytestmark = pytest.mark.real

SAID_IN_CLAUDE = "From now on, releases are always cut from the branch stable, never from main."
SAID_IN_THE_OTHER = "From now on, always run make lint before you commit."
AN_HOUR = 3600
SETUP = ("setup", "--yes", "--no-service", "--no-history")


class Agent(Protocol):
    """A client that is not Claude Code, with its model."""

    name: str

    def configure(self) -> Path:
        """Write the settings of somebody who uses it; returns the file in which memoryd will be, too."""

    def trust(self) -> None:
        """Do what its user has to do once, so that it runs hooks."""

    def say(self, prompt: str) -> str:
        """In a new session; returns all that its model was given with it."""


class CodexAgent:
    name = "codex"

    def __init__(self, home: str, project: Path, server: codex.ResponsesServer) -> None:
        self._home, self._project, self._server = home, project, server

    def configure(self) -> Path:
        config = Path(self._home, ".codex", "config.toml")
        config.parent.mkdir()
        config.write_text("# mine\n" + codex.config_for(self._server))
        return config

    def trust(self) -> None:
        assert sum("memoryd hook" in command for command in codex.trust_hooks(self._home)) == len(CodexClient.events)

    def say(self, prompt: str) -> str:
        codex.run(self._home, self._project, prompt)
        return json.dumps(self._server.requests[-1]["input"])


class GeminiAgent:
    name = "gemini-cli"

    def __init__(self, home: str, project: Path, server: gemini.GeminiServer) -> None:
        self._home, self._project, self._server = home, project, server

    def configure(self) -> Path:
        settings = Path(self._home, ".gemini", "settings.json")
        settings.parent.mkdir()
        settings.write_bytes(gemini.SETTINGS.encode())
        return settings

    def trust(self) -> None:
        """Hooks in the user's own settings are run."""

    def say(self, prompt: str) -> str:
        gemini.run(self._home, self._project, self._server.url, prompt)
        for session in Path(self._home, ".gemini/tmp").rglob("session-*"):  # a turn of it ends by silence alone
            os.utime(session, (session.stat().st_mtime - AN_HOUR,) * 2)
        return json.dumps(self._server.requests[-1]["contents"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    return place


@pytest.fixture(params=["codex", "gemini"])
def agent(request: pytest.FixtureRequest, paths: Paths, project: Path) -> Iterator[Agent]:
    if request.param == "codex":
        codex.binary()
        with codex.ResponsesServer(lambda _: [codex.says("Understood.")]) as server:
            yield CodexAgent(paths.home, project, server)
    else:
        gemini.command()
        with gemini.GeminiServer() as other:
            yield GeminiAgent(paths.home, project, other)


def agree(_request: Request) -> Reply:
    return Reply(text("Understood."))


def test_what_is_said_in_one_client_is_recalled_in_the_other(
    environment: dict[str, str], paths: Paths, project: Path, agent: Agent
) -> None:
    settings = agent.configure()
    Path(paths.claude_dir).mkdir()
    before, text_before = listing(Path(paths.home)), settings.read_bytes()
    assert memoryd(environment, *SETUP).returncode == 0
    assert memoryd(environment, "uninstall", "--purge", "--yes").returncode == 0
    assert listing(Path(paths.home)) == before

    assert memoryd(environment, *SETUP).returncode == 0
    agent.trust()
    with Model(agree) as model:
        claude = Client(paths.home, project, model)
        claude.ask(SAID_IN_CLAUDE)
        agent.say(SAID_IN_THE_OTHER)
        assert memoryd(environment, "backfill", "--yes").returncode == 0
        assert len(as_json(environment, "memories", "--project", str(project))) == 2
        given = agent.say("Which branch do I cut releases from?")
        assert given.count("cut from the branch stable, never from main") >= 1
        assert "memoryd-recall" in given
        claude.ask("Commit what you have changed, please.")
        assert sum("make lint" in line for line in words_of(model.requests[-1])) >= 1
    # What it was shown did not come back as the user's words, and the session names its client.
    assert memoryd(environment, "backfill", "--yes").returncode == 0
    assert len(as_json(environment, "memories", "--project", str(project))) == 2
    found = as_json(environment, "search", "make lint")
    assert agent.name in json.dumps(found)
    assert memoryd(environment, "uninstall", "--purge", "--yes").returncode == 0
    assert settings.read_bytes() == text_before
    assert not [path for path in Path(paths.home).rglob("*") if path.name in ("hooks.json", "memoryd")]
