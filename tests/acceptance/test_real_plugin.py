"""The real Claude Code client with memoryd's plugin: hooks, tools and instructions reach the model, each once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.claude_code import plugin, settings_file
from tests.acceptance.client import Client, Model, binary, words_of
from tests.acceptance.command import as_json, memoryd
from tests.clients import old_hooks
from tests.messages_server import Reply, call, text

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.messages_server import Request

pytestmark = pytest.mark.real
PATIENCE_SECONDS = 90

RULE = "Releases are cut from the branch stable, never from main"
ON_THE_SUBJECT = "Please cut a release of the parser from the right branch."
SETTINGS = '{\n    "cleanupPeriodDays": 30,\n\n  "env":   {"A":"b"}\n}\n'


def agree(_request: Request) -> Reply:
    return Reply(text("Understood."))


def times_told(request: Request) -> int:
    """How often the body of the memory is in a request; its line in the index is not its body."""
    return sum(line.startswith("### ") and "stable" in line for line in words_of(request))


@pytest.fixture
def project(environment: dict[str, str], tmp_path: Path) -> Path:
    """A repository with two memories."""
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    for words in (RULE, "I am colour blind: no red and green in charts"):
        assert memoryd(environment, "remember", "--project", str(place), words).returncode == 0
    return place


def test_the_plugin_and_the_marketplace_are_valid_to_the_client(environment: dict[str, str], paths: Paths) -> None:
    made = plugin.install(paths, sys.executable).folder
    for place in (made, plugin.SOURCE, Path(__file__).parents[2]):
        done = subprocess.run(
            [binary(), "plugin", "validate", "--strict", place],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_memory_is_recalled_once_in_a_session_also_after_an_older_memoryd(
    environment: dict[str, str], paths: Paths, project: Path
) -> None:
    settings = Path(paths.claude_settings)
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(SETTINGS)
    old_hooks.install(paths, sys.executable)
    plugin.install(paths, sys.executable)
    settings_file.remove(paths, 1.0)
    assert settings.read_text() == SETTINGS
    with Model(agree) as model:
        client = Client(paths.home, project, model)
        client.ask("Hello there, good morning.")
        first = words_of(model.requests[-1])
        assert times_told(model.requests[-1]) == 0
        assert sum("What this user told their coding agents" in line for line in first) == 1
        answer = json.loads(client.ask(ON_THE_SUBJECT, "--output-format", "json"))
        assert times_told(model.requests[-1]) == 1
        client.ask(ON_THE_SUBJECT, "--resume", answer["session_id"])
        assert times_told(model.requests[-1]) == 1
        client.ask(ON_THE_SUBJECT)
        assert times_told(model.requests[-1]) == 1  # another session, which was shown nothing yet
        recall = as_json(environment, "status")["recall"]
        # Beside it, as there is only a handful of memories, the rules for every answer with the first prompt of each session.
        assert (recall["shown"], recall["sessions"], recall["used"]) == (5, 3, 0)
        client.ask("/compact", "--resume", answer["session_id"])
        client.ask(ON_THE_SUBJECT, "--resume", answer["session_id"])
        last = words_of(model.requests[-1])
        assert any(line.startswith("This session is being continued") for line in last)
        assert sum(RULE in line for line in last if line.startswith("- [")) == 1  # the index, by the client itself
        assert (
            as_json(environment, "status")["recall"]["shown"] > recall["shown"]
        )  # what it was shown before counts no more
    assert not Path(paths.log_file).exists()  # nothing went wrong
    done = memoryd(environment, "backfill", "--yes")
    assert done.returncode == 0
    assert {change["kind"] for change in as_json(environment, "history", "--all")} == {"remember"}  # not from itself
    assert settings.read_text() == SETTINGS


def test_the_client_calls_remember_with_the_words_of_the_session_that_goes_on(
    environment: dict[str, str], paths: Paths, project: Path
) -> None:
    plugin.install(paths, sys.executable)
    said = "From now on, run make lint before every commit."
    tool = "mcp__plugin_memoryd_memoryd__remember"

    def use_the_tool(request: Request) -> Reply:
        if any("Kept as" in line for line in words_of(request)):
            return Reply(text("Done."))
        return Reply(call(tool, {"text": "Run make lint before every commit.", "quote": said}))

    with Model(use_the_tool) as model:
        Client(paths.home, project, model).ask(said, "--allowedTools", tool)
    (change,) = (
        change for change in as_json(environment, "history", "--project", str(project)) if change["session"] is not None
    )
    assert (change["kind"], change["state"]) == ("remember", "applied")
