"""The real Claude Code client and a rule about a tool call: handed over with the call, and refused where it binds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import plugin
from tests.acceptance.client import Client, Model, words_of
from tests.acceptance.command import as_json, memoryd
from tests.messages_server import Reply, call, text

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.messages_server import Request

pytestmark = pytest.mark.real

RULE = "Never run npm install here"
FILE = "feedback_never_run_npm_install_here.md"
HEADING = f"### {FILE}"
COMMAND = "npm install --offline; echo it-was-run"


@pytest.fixture
def project(environment: dict[str, str], tmp_path: Path, paths: Paths) -> Path:
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    plugin.install(paths, sys.executable)
    assert memoryd(environment, "remember", "--type", "feedback", "--project", str(place), RULE).returncode == 0
    return place


def install_once(request: Request) -> Reply:
    """Call npm install when the user asks for it, and end the turn with its result."""
    last = request.body["messages"][-1]["content"]
    is_result = isinstance(last, list) and any(block.get("type") == "tool_result" for block in last)
    return Reply(text("Done.")) if is_result else Reply(call("Bash", {"command": COMMAND}))


def ask(client: Client, session: str = "") -> str:
    """Ask for the packages; the session."""
    more = ("--resume", session) if session else ()
    arguments = ("--output-format", "json", "--allowedTools", "Bash", *more)
    return str(json.loads(client.ask("Please get the packages ready.", *arguments))["session_id"])


def results(model: Model) -> str:
    """What the tool answered, as the model was last told."""
    return json.dumps(model.requests[-1].body["messages"][-1]["content"])


def transcript(paths: Paths, session: str) -> str:
    (file,) = Path(paths.transcripts_root).glob(f"*/{session}.jsonl")
    return file.read_text()


def test_a_rule_comes_with_the_call_that_it_speaks_of_and_refuses_it_where_it_binds(
    environment: dict[str, str], paths: Paths, project: Path
) -> None:
    enforce = ("enforce", "npm_install", "--project", str(project))
    with Model(install_once) as model:
        client = Client(paths.home, project, model)
        session = ask(client)
        assert sum(HEADING in line for line in words_of(model.requests[-1])) == 1  # with the result of the call
        assert "it-was-run" in results(model)
        ask(client, session)
        assert sum(HEADING in line for line in words_of(model.requests[-1])) == 1  # once a session

        assert memoryd(environment, *enforce, "--yes").returncode == 0
        ask(client, session)
        assert "has made this memory binding" in results(model)
        assert "it-was-run" not in results(model)
        assert "has made this memory binding" in transcript(paths, session)
        (binding,) = as_json(environment, "enforce", "--project", str(project))
        assert (binding["refuses"], binding["refused"], binding["allowed"]) == (["run npm install"], 1, 0)

        assert memoryd(environment, *enforce, "--allow-once").returncode == 0
        other = ask(client)  # another session has no part in it
        assert "has made this memory binding" in results(model)
        assert other != session
        ask(client, session)
        assert "it-was-run" in results(model)
        ask(client, session)
        assert "it-was-run" not in results(model)
    assert not Path(paths.log_file).exists()  # nothing went wrong


def test_there_is_no_process_before_calls_while_no_memory_speaks_of_one(
    environment: dict[str, str], paths: Paths, project: Path
) -> None:
    hooks = Path(plugin.plugin_folder(paths), plugin.HOOKS_FILE)
    assert "PreToolUse" in hooks.read_text()
    assert memoryd(environment, "forget", "--project", str(project), FILE).returncode == 0
    with Model(install_once) as model:
        client = Client(paths.home, project, model)
        ask(client)  # its start tells memoryd that the rule is gone
        assert "PreToolUse" not in hooks.read_text()
        ask(client)
        assert not any(HEADING in line for line in words_of(model.requests[-1]))
    assert plugin.plugin_state(paths, sys.executable) == "installed"
