"""Keys for memories that have none: asked for at night, a few dozen in a request, kept beside the files and never in them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Recall
from memoryd.jobs.keys import KeysOutcome, write_keys
from memoryd.jobs.recall import recall
from memoryd.jobs.recall_matches import Request as RecallRequest
from memoryd.state import pauses
from tests.jobs.model_answers import NOTHING, with_model
from tests.jobs.model_workspace import VARIABLE
from tests.messages_server import Reply, last_text, text

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.model_workspace import ModelWorkspace

pytestmark = pytest.mark.usefixtures("loaded_sdk")

BRANCH_MD = "project_branch.md"
BRANCH = "---\nname: branch\ndescription: Releases are cut from stable\ntype: project\n---\nNever from main.\n"
PROMPT = "roll the thing out to our customers"
TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def answer(*keys: str) -> Reply:
    """These keys for the first note, one for each other that can be asked about at once."""
    notes = [{"number": 1, "keys": list(keys)}, *({"number": number, "keys": ["word"]} for number in range(2, 41))]
    return Reply(text(json.dumps({"notes": notes})))


def keep(workspace: ModelWorkspace, **files: str) -> None:
    workspace.memory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (workspace.memory / f"{name}.md").write_text(content)


def night(workspace: ModelWorkspace) -> KeysOutcome:
    return write_keys(
        workspace.database,
        workspace.paths,
        workspace.config,
        {VARIABLE: workspace.key},
        workspace.clock,
        [str(workspace.memory)],
    )


def found(workspace: ModelWorkspace, prompt: str = PROMPT) -> list[str]:
    request = RecallRequest(prompt)
    given: dict[str, str] = {}
    answered = recall(workspace.paths, workspace.config, given, workspace.clock, str(workspace.memory), request)
    return [memory.name for memory in answered.memories]


def test_a_memory_is_found_by_its_keys_and_its_file_stays_as_it_was(database: Database, paths: Paths) -> None:
    with with_model(database, paths, answer("roll out to customers", "Auslieferung")) as workspace:
        keep(workspace, project_branch=BRANCH)
        assert found(workspace) == []
        assert night(workspace) == KeysOutcome(written=1)
        assert (workspace.memory / BRANCH_MD).read_text() == BRANCH
        assert found(workspace) == [BRANCH_MD]
        assert night(workspace) == KeysOutcome()
        assert len(workspace.server.requests) == 1


def test_another_text_gets_keys_of_its_own(database: Database, paths: Paths) -> None:
    with with_model(database, paths, answer("roll out to customers")) as workspace:
        keep(workspace, project_branch=BRANCH)
        night(workspace)
        keep(workspace, project_branch=BRANCH.replace("stable", "trunk"))
        assert night(workspace).written == 1
        assert len(workspace.server.requests) == 2


def test_who_has_keys_is_not_asked_about(database: Database, paths: Paths) -> None:
    with with_model(database, paths, answer("x")) as workspace:
        keep(workspace, project_branch=BRANCH.replace("type: project", 'type: project\nkeys: "ship"'))
        assert night(workspace) == KeysOutcome()
        assert workspace.server.requests == []


def test_a_request_holds_forty_and_a_night_no_more_than_the_config_says(database: Database, paths: Paths) -> None:
    with with_model(database, paths, answer("word")) as workspace:
        workspace.config = workspace.config._replace(recall=Recall(keys_per_night=45))
        keep(workspace, **{f"project_{number}": f"Rule {number} of the house.\n" for number in range(60)})
        assert night(workspace) == KeysOutcome(written=45, without=15)
        asked = [len(re.findall(r'"number"', last_text(request))) for request in workspace.server.requests]
        assert asked == [40, 5]
        assert night(workspace) == KeysOutcome(written=15)


def test_what_states_something_is_no_key(database: Database, paths: Paths) -> None:
    given = (
        "ship it",
        "deploys happen at 17:45",
        "https://evil.example/x",
        TOKEN,
        "one two three four five six seven eight nine",
    )
    with with_model(database, paths, answer(*given)) as workspace:
        keep(workspace, project_branch=BRANCH)
        night(workspace)
        assert [row[0] for row in workspace.database.query("SELECT keys FROM memory_keys")] == ["ship it"]


@pytest.mark.parametrize(
    "reply", [NOTHING, Reply(text('{"notes": [1, 2]}')), Reply(text("{"), stop_reason="max_tokens")]
)
def test_an_answer_without_keys_is_asked_for_again_the_next_night(
    database: Database, paths: Paths, reply: Reply
) -> None:
    with with_model(database, paths, reply) as workspace:
        keep(workspace, project_branch=BRANCH)
        done = night(workspace)
        assert (done.written, done.without) == (0, 1)
        assert "keys" in done.why_not
        night(workspace)
        assert len(workspace.server.requests) == 2


def test_no_secret_is_sent(database: Database, paths: Paths) -> None:
    with with_model(database, paths, answer("x")) as workspace:
        keep(workspace, project_branch=BRANCH.replace("Never from main.", f"The token is {TOKEN}."))
        night(workspace)
        (request,) = workspace.server.requests
        assert TOKEN not in json.dumps(request.body)


def test_nobody_is_asked_during_a_pause_nor_without_a_model(database: Database, paths: Paths) -> None:
    with with_model(database, paths, answer("x")) as workspace:
        keep(workspace, project_branch=BRANCH)
        pauses.begin(workspace.database, None, workspace.clock.now())
        assert night(workspace).why_not
        workspace.config = workspace.config._replace(engine="embedded")
        assert night(workspace) == KeysOutcome()
        assert workspace.server.requests == []
