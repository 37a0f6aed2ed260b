"""The real Claude Code client with memoryd's hooks: what it recalls is in front of the model, once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.client import Client, Model, words_of
from tests.acceptance.command import as_json, memoryd
from tests.messages_server import Reply, text

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.messages_server import Request

pytestmark = pytest.mark.real

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


def test_a_memory_is_recalled_once_in_a_session_and_the_settings_come_back(
    environment: dict[str, str], paths: Paths, project: Path
) -> None:
    settings = Path(paths.claude_settings)
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(SETTINGS)
    assert memoryd(environment, "hooks", "install").returncode == 0
    with Model(agree) as model:
        client = Client(paths.home, project, model)
        client.ask("Hello there, good morning.")
        assert times_told(model.requests[-1]) == 0
        answer = json.loads(client.ask(ON_THE_SUBJECT, "--output-format", "json"))
        assert times_told(model.requests[-1]) == 1
        for _ in range(9):
            client.ask(ON_THE_SUBJECT, "--resume", answer["session_id"])
            assert times_told(model.requests[-1]) == 1
        client.ask(ON_THE_SUBJECT)
        assert times_told(model.requests[-1]) == 1  # another session, which was shown nothing yet
        assert as_json(environment, "status")["recall"] == {"shown": 2, "sessions": 2, "used": 0}
        client.ask("/compact", "--resume", answer["session_id"])
        client.ask(ON_THE_SUBJECT, "--resume", answer["session_id"])
        last = words_of(model.requests[-1])
        assert any(line.startswith("This session is being continued") for line in last)
        assert sum(RULE in line for line in last if line.startswith("- [")) == 1  # the index, by the client itself
        assert as_json(environment, "status")["recall"]["shown"] == 3  # what it was shown before counts no more
    assert not Path(paths.log_file).exists()  # nothing went wrong
    done = memoryd(environment, "backfill", "--yes")
    assert done.returncode == 0
    assert {change["kind"] for change in as_json(environment, "history", "--all")} == {"remember"}  # not from itself
    assert memoryd(environment, "hooks", "remove").returncode == 0
    assert settings.read_text() == SETTINGS
