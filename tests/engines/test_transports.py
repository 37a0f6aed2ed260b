"""One suite for the model engine over both transports: what a job may rely on, however a conversation is driven.

Where they must differ, a test says so: `claude` retries by itself and begins its next request on its own, and what it was asked
in a job that was killed cannot be replayed into another process.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.engines.base import Signal
from memoryd.engines.model.tools import SCHEMAS
from memoryd.jobs.keys import KeysOutcome, write_keys
from memoryd.jobs.selection import Selected, select_by_model
from memoryd.memory.snapshot import DirectorySnapshot
from memoryd.model import Exchange, UserMessage
from memoryd.review.context import ReviewContext
from memoryd.review.review import Review
from memoryd.state import jobs, model_calls
from tests.acceptance.client import binary
from tests.claude_server import install_command
from tests.jobs.claude_workspace import with_claude
from tests.jobs.model_answers import NOTHING, RULE, RULE_MD, content, in_turn, with_model, writes
from tests.jobs.workspace import NOW
from tests.messages_server import Reply, accept_changes, call, judged, last_text, text, tool_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memoryd.model import Progress
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.model_workspace import ModelWorkspace
    from tests.messages_server import Answer, Request


without_the_real_one = pytest.mark.parametrize("transport", ["messages", "claude"], indirect=True)
"""For what another test asks of the real `claude` alike: a run without a write, a request without tools."""


@pytest.fixture(params=["messages", "claude", pytest.param("real_claude", marks=pytest.mark.real)])
def transport(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def hire(
    transport: str, environment: dict[str, str], database: Database, paths: Paths, tmp_path: Path
) -> Iterator[Callable[..., ModelWorkspace]]:
    """A function that makes a workspace whose model answers as given."""
    with ExitStack() as stack:

        def hired(answer: Callable[[Request], Answer] | Answer, **more: Any) -> ModelWorkspace:
            if transport == "messages":
                return stack.enter_context(with_model(database, paths, answer, **more))
            command = binary() if transport == "real_claude" else install_command(tmp_path / "bin")
            return stack.enter_context(with_claude(database, paths, environment, command, answer, **more))

        yield hired


def results_of(request: Request) -> list[tuple[str, bool]]:
    return [(str(result["content"]), bool(result.get("is_error"))) for result in tool_results(request)]


def test_a_wish_is_written_reviewed_and_kept_with_one_request(hire: Any) -> None:
    """The run ends with the reply whose writes are staged: nobody pays for "Saved."."""
    workspace = hire(in_turn(Reply(writes())))
    workspace.say(RULE)
    (outcome,) = workspace.run()
    assert (outcome.outcome, outcome.saved) == ("succeeded", (RULE_MD,))
    assert len(workspace.server.requests) == 1
    (review,) = workspace.server.reviews
    assert RULE in last_text(review)
    (request,) = workspace.server.requests
    assert {tool["name"] for tool in request.body["tools"]} == {schema["name"] for schema in SCHEMAS}
    assert request.body["max_tokens"] == 8_000
    assert RULE in last_text(request)


@without_the_real_one
def test_where_nothing_is_to_be_kept_one_request_is_all(hire: Any) -> None:
    workspace = hire(NOTHING)
    workspace.say("rename the variable")
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded_no_output"
    assert (len(workspace.server.requests), workspace.server.reviews) == (1, [])


def test_a_memory_is_read_and_updated(hire: Any) -> None:
    later = "make that 300 changed lines for every review"
    edit = {"file_path": RULE_MD, "old_string": "400 changed", "new_string": "300 changed", "quote": later}
    workspace = hire(in_turn(Reply(writes()), Reply(call("Read", {"file_path": RULE_MD})), Reply(call("Edit", edit))))
    session = workspace.say(RULE)
    workspace.run()
    workspace.say(later, session=session)
    (outcome,) = workspace.run()
    assert (outcome.outcome, outcome.saved) == ("succeeded", (RULE_MD,))
    assert "300 changed lines" in (workspace.memory / RULE_MD).read_text()
    ((shown, is_error),) = results_of(workspace.server.requests[2])
    assert ("400 changed lines" in shown, is_error) == (True, False)


def test_a_refused_call_is_told_and_another_is_taken(hire: Any) -> None:
    """Two calls of one reply: each gets its own answer, in their order."""
    invented = writes(quote="words that nobody said at all")
    escape = call("Read", {"file_path": "../../etc/passwd"})
    workspace = hire(in_turn(Reply(escape, invented), Reply(writes())))
    workspace.say(RULE)
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"
    refused = results_of(workspace.server.requests[1])
    assert [is_error for _, is_error in refused] == [True, True]
    assert refused[0][0].startswith("Read refused")
    (job,) = workspace.database.query("SELECT max(id) AS id FROM jobs")
    assert "refused" in [kind for kind, _ in model_calls.remarks(workspace.database, job["id"])]


def test_what_review_finds_wrong_goes_back_to_the_author(hire: Any) -> None:
    """Behind the results of its writes, in the same conversation."""
    verdicts = [{"verdict": "repair", "carried": False, "problem": "The user did not say why."}, {}]
    workspace = hire(
        in_turn(Reply(writes(written=content("Keep every review under 400 changed lines, always."))), Reply(writes())),
        reviewer=lambda request: judged(request, **verdicts.pop(0)),
    )
    workspace.say(RULE)
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"
    told = workspace.server.requests[1]
    assert "The user did not say why." in json.dumps(told.body["messages"][-1])
    assert len(workspace.server.reviews) == 2


def test_a_reply_that_was_cut_off_is_not_written(hire: Any) -> None:
    workspace = hire(Reply(writes(), stop_reason="max_tokens"))
    workspace.say(RULE)
    (outcome,) = workspace.run()
    assert (outcome.outcome, outcome.detail) == ("failed", "the model's reply was cut off")
    assert not workspace.memory.exists() or not (workspace.memory / RULE_MD).exists()


def test_a_tool_that_does_not_exist_ends_nothing(hire: Any) -> None:
    workspace = hire(in_turn(Reply(call("Unknown", {"x": 1})), Reply(writes())))
    workspace.say(RULE)
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"


def test_what_was_used_is_in_the_ledger(hire: Any, transport: str) -> None:
    workspace = hire(in_turn(Reply(call("Glob", {"pattern": "*"})), Reply(writes())))
    workspace.say(RULE)
    workspace.run()
    (row,) = model_calls.usage(workspace.database)
    billed = [request.usage for request in (*workspace.server.requests, *workspace.server.reviews)]
    assert row.engine == ("anthropic" if transport == "messages" else "claude")
    assert row.spent.calls == len(billed) == 3
    assert row.spent.output_tokens == sum(usage["output_tokens"] for usage in billed)
    assert row.spent.input_tokens == sum(usage["input_tokens"] for usage in billed)
    assert row.spent.unsettled_usd == 0
    assert row.spent.usd > 0
    paid = model_calls.spent_between(workspace.database, 0, NOW * 2)
    assert (paid > 0) == (transport == "messages")


def test_a_dream_of_ten_turns_with_a_repair_after_its_last_word(hire: Any) -> None:
    """Once the model has said that it is done, the verdict is a message of its own."""
    looks = [Reply(text(f"step {number}"), call("Glob", {"pattern": f"*{number}"})) for number in range(7)]
    first = writes(written=content("Keep every review under 400 changed lines, forever."))
    verdicts = [{"verdict": "repair", "carried": False, "problem": "Nobody said forever."}, {}]
    workspace = hire(
        in_turn(*looks, Reply(first), Reply(text("done")), Reply(writes()), Reply(text("done"))),
        reviewer=lambda request: judged(request, **verdicts.pop(0)) if verdicts else accept_changes(request),
    )
    workspace.memory.mkdir(parents=True)
    told: list[Progress] = []
    engine = workspace.with_model()
    said = UserMessage("s", "m1", NOW - 100, RULE, cwd="/code", reply="Done.")
    snapshot = DirectorySnapshot(workspace.database, str(workspace.memory))
    job_id = jobs.begin_request(workspace.database, jobs.RECALL, str(workspace.memory), NOW)
    signal = Signal(job_id, NOW, [Exchange(said)], deadline=NOW + 300, tell=told.append)
    context = ReviewContext("dream", snapshot, [said], NOW)
    review = Review(context, engine.meaning_asker(signal, str(workspace.memory)))
    try:
        proposal = engine.dream(snapshot, signal, review)
    finally:
        engine.close()
    assert [change.name for group in proposal.groups for change in group.changes] == [RULE_MD]
    assert len(told) == len(workspace.server.requests) == 11
    assert told[0].text == "step 0"
    assert "Nobody said forever." in last_text(workspace.server.requests[9])


def test_the_selector_picks_for_a_prompt(hire: Any, transport: str) -> None:
    chosen = Reply(text(json.dumps({"selected_memories": ["b.md", "unknown.md"]})))
    workspace = hire(chosen)
    lines = [f"- [project] {name} (2026-10-30T12:00:00Z): what {name} says" for name in ("a.md", "b.md")]
    selected = select_by_model(
        workspace.database,
        workspace.paths,
        workspace.config,
        {"MODEL_KEY": "test-key"} | workspace.environment,
        workspace.clock,
        memory_dir=str(workspace.memory),
        query="when may I release?",
        manifest_lines=lines,
        names=["a.md", "b.md"],
        seconds=120.0,
    )
    assert selected == Selected(("b.md",))
    (request,) = workspace.server.requests
    assert "when may I release?" in last_text(request)
    assert not request.body.get("tools")
    if transport != "messages":  # the schema is words there: a client that asks for structure takes a turn more for it
        assert "selected_memories" in json.dumps(request.body["system"])


@without_the_real_one
def test_memories_get_their_keys(hire: Any) -> None:
    workspace = hire(Reply(text(json.dumps({"notes": [{"number": 1, "keys": ["ship it", "Auslieferung"]}]}))))
    workspace.memory.mkdir(parents=True, exist_ok=True)
    (workspace.memory / "project_branch.md").write_text("Releases are cut from stable.\n")
    done = write_keys(
        workspace.database,
        workspace.paths,
        workspace.config,
        {"MODEL_KEY": "test-key"} | workspace.environment,
        workspace.clock,
        [str(workspace.memory)],
    )
    assert done == KeysOutcome(written=1)
    (request,) = workspace.server.requests
    assert "Releases are cut from stable." in last_text(request)
    assert not request.body.get("tools")
