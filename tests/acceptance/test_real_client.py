"""What a person sees: a wish said to the real Claude Code client is in front of the model in the next session."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.paths import paths_from
from tests.acceptance import manager as real
from tests.acceptance.client import Client, Model, words_of
from tests.acceptance.command import Daemon, as_json, memoryd
from tests.acceptance.manager import Manager, eventually
from tests.messages_server import Reply, call, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from tests.messages_server import Request

pytestmark = pytest.mark.real

WISH = "From now on, keep commits small."


def settle(paths: Paths, place: Path) -> Path:
    """Let sessions count as quiet soon; returns a repository to work in."""
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text("[scan]\ninterval_seconds = 0.2\n[turns]\nquiet_seconds = 0.2\n")
    (place / "acme" / ".git").mkdir(parents=True)
    return place / "acme"


@pytest.fixture
def served(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a user for whom a real `systemd --user` runs services."""
    real.available()
    manager = Manager(tmp_path_factory.mktemp("systemd"))
    manager.drop_in()
    yield {**environment, **manager.environment}
    manager.stop()


def agree(_request: Request) -> Reply:
    return Reply(text("Understood."))


def transcripts(paths: Paths) -> set[Path]:
    return set(Path(paths.transcripts_root).glob("*/*.jsonl"))


def outcomes(user: dict[str, str]) -> dict[str, int]:
    """What became of the turns."""
    found: dict[str, int] = as_json(user, "status")["turns"]["outcomes"]
    return found


def all_is_well(user: dict[str, str]) -> bool:
    """Whether all that the client wrote is read by now; that nothing is wrong is certain."""
    status = as_json(user, "status")
    assert memoryd(user, "status").returncode == 0
    assert status["running"]
    assert status["problems"] == status["damaged"] == status["unreadable"] == status["not_transcripts"] == []
    return bool(status["sessions"]["unread"] == status["turns"]["waiting"] == status["turns"]["open"] == 0)


def test_a_wish_is_in_the_request_of_the_next_session(served: dict[str, str], tmp_path: Path) -> None:
    paths = paths_from(served)
    with Model(agree) as model:
        client = Client(paths.home, settle(paths, tmp_path), model)
        assert memoryd(served, "service", "install").returncode == 0

        assert client.ask(WISH) == "Understood."
        eventually(lambda: outcomes(served) == {"succeeded": 1})
        (first,) = transcripts(paths)
        (saved,) = first.parent.glob("memory/feedback_*.md")
        (line,) = (first.parent / "memory" / "MEMORY.md").read_text().splitlines()
        assert f"({saved.name})" in line
        assert line not in words_of(model.requests[-1])

        client.ask("Hello again.")
        assert line in words_of(model.requests[-1])
        client.ask("One more thing: thanks.", "--resume", first.stem)
        assert len(transcripts(paths)) == 2
        # Three turns, and none read twice: what the resumed session held before was left alone.
        eventually(lambda: outcomes(served) == {"succeeded": 1, "succeeded_no_output": 2})
        eventually(lambda: all_is_well(served))
        assert [change["files"] for change in as_json(served, "history", "--all")] == [[saved.name]]


def test_a_memory_that_the_client_saves_itself_is_left_to_it(
    environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    document = "---\nname: Small commits\ndescription: One idea in each commit\ntype: feedback\n---\nOne idea each.\n"

    def save(request: Request) -> Reply:
        if request.number > 0:
            return agree(request)
        (memory,) = Path(paths.transcripts_root).glob("*/memory")  # the client makes it when it starts
        return Reply(call("Write", {"file_path": f"{memory}/small.md", "content": document}))

    with Model(save) as model:
        client = Client(paths.home, settle(paths, tmp_path), model)
        with Daemon(environment) as daemon:
            daemon.says("nothing there yet")
            client.ask(WISH, "--allowedTools", "Write")
            daemon.says("skipped(main_agent_saved): 1 turn left to the main agent, which saved small.md")
            assert outcomes(environment) == {"skipped(main_agent_saved)": 1}
            # The client wrote no line for it: the daemon makes the index whole, and leaves the memory alone.
            eventually(lambda: list(Path(paths.transcripts_root).glob("*/memory/MEMORY.md")))
            eventually(lambda: all_is_well(environment))
    assert "small.md" in memoryd(environment, "status").stdout
    assert "which saved small.md" in Path(paths.log_file).read_text()
    (transcript,) = transcripts(paths)
    assert sorted(os.listdir(transcript.parent / "memory")) == ["MEMORY.md", "small.md"]
    assert "One idea each." in (transcript.parent / "memory" / "small.md").read_text()
    assert "small.md" not in json.dumps(as_json(environment, "history", "--all"))
