"""Real clients with one memory: said in one and recalled in the other, connected by setup, and gone after uninstall."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.agents import AGENTS
from tests.acceptance.client import Client, Model, words_of
from tests.acceptance.command import as_json, memoryd
from tests.acceptance.test_setup import listing
from tests.messages_server import Reply, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from tests.acceptance.agents import Agent
    from tests.messages_server import Request

pytestmark = pytest.mark.real

SAID_IN_CLAUDE = "From now on, releases are always cut from the branch stable, never from main."
SAID_IN_THE_OTHER = "From now on, always run make lint before you commit."
RULE = "Never run npm install here"
SETUP = ("setup", "--yes", "--no-service", "--no-history")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    return place


@pytest.fixture(params=AGENTS, ids=lambda kind: kind.package)
def agent(request: pytest.FixtureRequest, paths: Paths, project: Path) -> Iterator[Agent]:
    agent: Agent = request.param(paths.home, project)
    with agent.server:
        agent.program()  # skips, where it is not installed
        yield agent


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
    made = {name for name, digest in listing(Path(paths.home)).items() if digest} - before.keys()
    agent.trust()
    with Model(agree) as model:
        claude = Client(paths.home, project, model)
        claude.ask(SAID_IN_CLAUDE)
        agent.say(SAID_IN_THE_OTHER)
        assert memoryd(environment, "backfill", "--yes").returncode == 0
        assert len(as_json(environment, "memories", "--project", str(project))) == 2
        given = agent.say("Which branch do I cut releases from?")
        assert given.count("cut from the branch stable, never from main") >= 1
        assert "<memoryd-recall>" in html.unescape(given)
        assert agent.tool.format("remember") in given
        claude.ask("Commit what you have changed, please.")
        assert sum("make lint" in line for line in words_of(model.requests[-1])) >= 1
    # What it was shown did not come back as the user's words, and the session names its client.
    assert memoryd(environment, "backfill", "--yes").returncode == 0
    assert len(as_json(environment, "memories", "--project", str(project))) == 2
    found = as_json(environment, "search", "make lint")
    assert agent.name in json.dumps(found)
    assert memoryd(environment, "uninstall", "--purge", "--yes").returncode == 0
    assert settings.read_bytes() == text_before
    assert made.isdisjoint(listing(Path(paths.home)))


def test_a_binding_rule_refuses_a_call_of_every_client_and_says_why(
    environment: dict[str, str], paths: Paths, project: Path, agent: Agent
) -> None:
    agent.configure()
    assert memoryd(environment, *SETUP).returncode == 0
    agent.trust()
    assert memoryd(environment, "remember", "--type", "feedback", "--project", str(project), RULE).returncode == 0
    agent.command = "npm install --offline --help > /dev/null; echo ran > it-was-run"
    enforce = ("enforce", "npm_install", "--project", str(project))
    assert memoryd(environment, *enforce, "--yes").returncode == 0
    assert "has made this memory binding" in "".join(agent.results("Please get the packages ready."))
    assert not (project / "it-was-run").exists()
    assert memoryd(environment, *enforce, "--off").returncode == 0
    assert "has made this memory binding" not in "".join(agent.results("Please get the packages ready again."))
    assert (project / "it-was-run").exists()
    assert not Path(paths.log_file).exists()  # nothing went wrong
