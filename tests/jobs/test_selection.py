"""Selection by a model: one small request, in time and within the budget; whatever goes wrong has a reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Budget
from memoryd.jobs.selection import DATABASE_SECONDS, Selected, select_by_model
from memoryd.memory.directory import FileState
from memoryd.memory.manifest import manifest_of
from memoryd.memory.snapshot import memories_in
from memoryd.state import jobs, model_calls, pauses, queries
from memoryd.state.database import Database, open_database
from tests.jobs.model_answers import NOTHING, held, in_turn, spent, with_model
from tests.jobs.model_workspace import VARIABLE
from tests.jobs.workspace import NOW
from tests.messages_server import (
    Drop,
    Garbage,
    Hang,
    MessagesServer,
    Reply,
    SlowHead,
    Status,
    Trickle,
    last_text,
    text,
    thinking,
)
from tests.security.labelled import SECRETS

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from memoryd.paths import Paths
    from tests.conftest import PassingTime
    from tests.jobs.model_workspace import ModelWorkspace
    from tests.messages_server import Answer, Request

pytestmark = pytest.mark.usefixtures("loaded_sdk")

NAMES = ("feedback_deploy.md", "project_freeze.md", "user_role.md")
PROMPT = "when may I release the importer?"
TOKEN = "ghp_" + "a1B2c3D4e5" * 4
BUSY = Status(529, "overloaded_error", "Overloaded")


def picks(*names: Any, **beside: Any) -> Reply:
    return Reply(text(json.dumps({"selected_memories": names, **beside})))


def select(model_workspace: ModelWorkspace, *, seconds: float = 60.0, **given: Any) -> Selected:
    names = given.get("names", NAMES)
    lines = [f"- [project] {name} (2026-10-30T12:00:00Z): what {name} says" for name in names]
    asked = {"query": PROMPT, "manifest_lines": lines, "names": names} | given
    return select_by_model(
        model_workspace.database,
        model_workspace.paths,
        model_workspace.config,
        {VARIABLE: model_workspace.key},
        model_workspace.clock,
        memory_dir=str(model_workspace.memory),
        seconds=seconds,
        **asked,
    )


def outcomes(model_workspace: ModelWorkspace) -> list[tuple[str, str, str]]:
    rows = model_workspace.database.query("SELECT kind, outcome, detail FROM jobs ORDER BY id")
    return [(row["kind"], row["outcome"], row["detail"]) for row in rows]


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_it_picks_from_the_memories_and_is_paid_for(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks(NAMES[1], NAMES[0])) as model_workspace:
        assert select(model_workspace) == Selected((NAMES[1], NAMES[0]))
        assert outcomes(model_workspace) == [("recall", "succeeded", "")]
        (row,) = model_calls.usage(database)
        assert (row.project, row.job, row.model) == (str(model_workspace.memory), "recall", "claude-haiku-5-5")
        usage = model_workspace.server.requests[0].usage
        assert row.spent.usd > 0
        assert (row.spent.calls, row.spent.unsettled_usd) == (1, 0.0)
        assert row.spent.output_tokens == usage["output_tokens"]


def test_its_cost_is_that_of_its_project(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(NOTHING, picks())) as model_workspace:
        model_workspace.say("hello")
        model_workspace.work()
        assert select(model_workspace) == Selected(())
        assert [(row.project, row.job) for row in model_calls.usage(database)] == [
            ("/code/acme", "extract"),
            ("/code/acme", "recall"),
        ]


def test_the_request_is_small_and_begins_with_what_stays_the_same(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks()) as model_workspace:
        select(model_workspace)
        select(model_workspace, query="and the exporter?", tools=("Bash", "mcp__github"))
        one, two = (request.body for request in model_workspace.server.requests)
        assert one["model"] == "claude-haiku-5-5"
        assert one["max_tokens"] <= 256
        assert one["output_config"]["format"] == {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"selected_memories": {"type": "array", "items": {"type": "string"}}},
                "required": ["selected_memories"],
                "additionalProperties": False,
            },
        }
        assert "tools" not in one
        assert one["system"] == two["system"]
        memories, prompt = one["messages"][0]["content"]
        assert two["messages"][0]["content"][0] == memories
        assert memories["cache_control"]["type"] == "ephemeral"
        assert "cache_control" not in prompt
        assert all(
            f"- [project] {name} (2026-10-30T12:00:00Z): what {name} says\n" in memories["text"] for name in NAMES
        )
        assert last_text(model_workspace.server.requests[0]).endswith(f"<prompt>\n{PROMPT}\n</prompt>")
        assert "<tools>" not in prompt["text"]
        assert "<tools>\nBash, mcp__github\n</tools>" in two["messages"][0]["content"][1]["text"]


def test_the_second_prompt_reads_the_memories_from_the_cache(database: Database, paths: Paths) -> None:
    lines = [f"- [project] m{number}.md (2026-10-30T12:00:00Z): {'what it says ' * 10}" for number in range(60)]
    with with_model(database, paths, picks()) as model_workspace:
        for prompt in ("the first one", "the second one"):
            select(model_workspace, query=prompt, manifest_lines=lines, names=("m1.md",))
        usage = model_workspace.server.requests[1].usage
        assert usage["cache_read_input_tokens"] > 10 * usage["input_tokens"]


def test_other_memories_than_before_are_no_lost_cache(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks()) as model_workspace:
        for number in range(2):
            select(model_workspace, manifest_lines=[f"- [user] m.md: {number} {'x' * 4000}"] * 50, names=("m.md",))
        assert model_workspace.server.requests[1].usage["cache_read_input_tokens"] == 0
        assert database.query("SELECT * FROM remarks") == []


def test_at_most_200_lines_are_shown_none_of_them_long(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks("m1.md", "m250.md")) as model_workspace:
        lines = [f"- [user] m{number}.md: {'x' * 1000}" for number in range(300)]
        names = [f"m{number}.md" for number in range(300)]
        assert select(model_workspace, manifest_lines=lines, names=names, query="y" * 100_000).names == ("m1.md",)
        shown = model_workspace.server.requests[0].body["messages"][0]["content"][0]["text"]
        assert (shown.count("- [user]"), "m199.md" in shown, "m200.md" in shown) == (200, True, False)
        assert len(model_workspace.server.requests[0].raw) < 100_000


def test_a_small_window_is_not_filled(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks(), context_window_tokens=8000) as model_workspace:
        select(model_workspace, manifest_lines=[f"- [user] m.md: {'x' * 390}"] * 200)
        assert len(model_workspace.server.requests[0].raw) < 8000 * 4


def test_no_secret_is_in_the_request(database: Database, paths: Paths) -> None:
    """Neither of the prompt, nor of a memory, nor of a tool, nor where a cut goes through it."""
    with with_model(database, paths, picks()) as model_workspace:
        for start in range(0, len(SECRETS), 20):
            part = SECRETS[start : start + 20]
            states = {
                f"m{number}.md": FileState(f"---\nname: a\ntype: user\n---\n{sample.text}\n".encode(), 0, 0o600)
                for number, sample in enumerate(part)
            }
            select(
                model_workspace,
                query="\n\n".join(sample.text for sample in part),
                manifest_lines=[*manifest_of(memories_in(states)), f"- [user] a.md: {TOKEN}"],
                tools=(f"Bash {TOKEN}",),
            )
        for cut in range(2600, 2700, 3):
            select(model_workspace, query=f"{'x' * cut} {TOKEN} {'y' * 4000}")
        sent = b"".join(request.raw for request in model_workspace.server.requests)
        assert TOKEN[:20].encode() not in sent
        leaked = [
            sample.marked
            for sample in SECRETS
            for secret in sample.secrets
            if len(secret) >= 12
            and "\n" not in secret
            and json.dumps(secret, ensure_ascii=False)[1:-1].encode() in sent
        ]
        assert leaked == []


def test_half_an_emoji_can_be_asked_about(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks(NAMES[0])) as model_workspace:
        assert select(model_workspace, query="deploy \ud83d now", tools=("\udcff",)).names == (NAMES[0],)


def test_without_a_memory_or_a_prompt_nobody_is_asked(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks()) as model_workspace:
        assert select(model_workspace, names=()) == Selected(())
        assert select(model_workspace, manifest_lines=()) == Selected(())
        assert select(model_workspace, query=" \n") == Selected(())
        assert (model_workspace.server.requests, outcomes(model_workspace)) == ([], [])


# --- what is answered -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        (picks(), ()),
        (picks("nobody.md", NAMES[2], "../../etc/passwd", "MEMORY.md"), (NAMES[2],)),
        (picks(NAMES[0], NAMES[0], f" {NAMES[0]}\n"), (NAMES[0],)),
        (picks(*(f"m{number}.md" for number in range(9))), tuple(f"m{number}.md" for number in range(5))),
        (Reply(thinking("hm"), text(f'```json\n{{"selected_memories": ["{NAMES[0]}"]}}\n```')), (NAMES[0],)),
        (picks(NAMES[0], because="it says so"), (NAMES[0],)),
    ],
)
def test_only_names_that_were_asked_about_come_out(
    database: Database, paths: Paths, reply: Reply, names: tuple[str, ...]
) -> None:
    with with_model(database, paths, reply) as model_workspace:
        assert select(model_workspace, names=(*NAMES, *(f"m{number}.md" for number in range(9)))) == Selected(names)
        assert outcomes(model_workspace) == [("recall", "succeeded" if names else "succeeded_no_output", "")]


def test_fewer_can_be_asked_for_but_not_more(database: Database, paths: Paths) -> None:
    many = [f"m{number}.md" for number in range(9)]
    with with_model(database, paths, picks(*many)) as model_workspace:
        assert select(model_workspace, names=many, limit=2).names == ("m0.md", "m1.md")
        assert select(model_workspace, names=many, limit=50).names == tuple(many[:5])


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(text("I would take the first one.")), "the model's reply is no JSON"),
        (Reply(text('{"selected_memories": ["a')), "the model's reply is no JSON"),
        (Reply(text("{" * 100_000 + "}")), "the model's reply is no JSON"),
        (Reply(text("[]")), "the model's reply is no JSON"),
        (Reply(text("{}")), "the model's reply is no list of memories"),
        (picks(7), "the model's reply is no list of memories"),
        (Reply(text('{"selected_memories": "a.md"}')), "the model's reply is no list of memories"),
        (Reply(text("{}"), stop_reason="max_tokens"), "the model's reply was cut off"),
        (Reply(text("no"), stop_reason="refusal"), "the model does not want to choose"),
        (Status(400, "invalid_request_error", "strange"), '"strange"'),
        (
            Status(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8000"),
            "the prompt does not fit into",
        ),
    ],
)
def test_an_answer_that_is_no_choice_has_a_reason(database: Database, paths: Paths, reply: Answer, why: str) -> None:
    with with_model(database, paths, in_turn(reply, picks(NAMES[0]))) as model_workspace:
        selected = select(model_workspace)
        assert selected.names is None
        assert selected.why.startswith(f"The model chose nothing: {why}")
        assert outcomes(model_workspace) == [("recall", "failed", selected.why)]
        assert held(model_workspace) is None
        assert select(model_workspace).names == (NAMES[0],)  # what was of no use is not used again


def test_an_endpoint_that_knows_no_schema_is_asked_without(database: Database, paths: Paths) -> None:
    def answer(request: Request) -> Answer:
        for field in ("thinking", "output_config"):
            if field in request.body:
                return Status(400, "invalid_request_error", f"{field}: Extra inputs are not permitted")
        return picks(NAMES[0])

    with with_model(database, paths, answer) as model_workspace:
        assert select(model_workspace).names == (NAMES[0],)
        assert [sorted({"thinking", "output_config"} & {*sent.body}) for sent in model_workspace.server.requests] == [
            ["output_config", "thinking"],
            ["output_config"],
            [],
        ]
        assert spent(model_workspace).calls == 1


# --- what keeps it from being asked -----------------------------------------------------------------------------------


def test_without_a_model_nobody_is_asked(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks(), engine="offline") as model_workspace:
        assert select(model_workspace) == Selected(None, "No model is set up: the config names no key.")
        assert (model_workspace.server.requests, outcomes(model_workspace)) == ([], [])


def test_a_pause_is_kept(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks()) as model_workspace:
        pauses.begin(database, None, NOW - 10)
        selected = select(model_workspace)
        assert (selected.names, model_workspace.server.requests) == (None, [])
        assert "paused" in selected.why.lower()


@pytest.mark.parametrize("code", [401, 402, 403, 404])
def test_a_key_that_is_refused_stops_the_engine_for_all(database: Database, paths: Paths, code: int) -> None:
    with with_model(database, paths, Status(code, "authentication_error", "no")) as model_workspace:
        first, second = select(model_workspace), select(model_workspace)
        assert first.names is second.names is None
        assert first.why == second.why
        assert len(model_workspace.server.requests) == 1
        hold = held(model_workspace)
        assert hold is not None
        assert (hold.reason, hold.text) == ("engine_stopped", first.why)
        assert spent(model_workspace).usd == 0


def test_a_key_that_cannot_be_had_is_told(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks()) as model_workspace:
        model_workspace.key = ""
        assert select(model_workspace).why.startswith(f"The variable {VARIABLE}")
        assert (model_workspace.server.requests, spent(model_workspace).usd) == ([], 0)


def test_a_busy_endpoint_is_tried_again_as_the_time_allows_and_then_left_alone(
    database: Database, paths: Paths
) -> None:
    """Only by prompts: a job has more patience, and finds out by itself."""
    answers: list[Answer] = [BUSY]
    with with_model(database, paths, lambda _: answers[-1]) as model_workspace:
        assert select(model_workspace).names is None
        tried = len(model_workspace.server.requests)
        assert tried >= 2
        assert sum(model_workspace.clock.pauses) <= 60
        selected = select(model_workspace)
        assert (selected.names, len(model_workspace.server.requests)) == (None, tried)
        assert selected.why.startswith("The model chose nothing: status 529")
        assert held(model_workspace) is None
        answers.append(picks(NAMES[0]))
        model_workspace.clock.at += 61
        assert select(model_workspace).names == (NAMES[0],)
        assert database.query("SELECT * FROM holds") == []


def test_who_asks_to_be_left_alone_is(database: Database, paths: Paths) -> None:
    busy = Status(429, "rate_limit_error", "later", {"retry-after": "600"})
    with with_model(database, paths, in_turn(busy, picks(NAMES[0]))) as model_workspace:
        assert select(model_workspace).names is None
        model_workspace.clock.at += 599
        assert select(model_workspace).names is None
        model_workspace.clock.at += 2
        assert select(model_workspace).names == (NAMES[0],)


def test_more_time_lifts_the_rest(database: Database, paths: Paths) -> None:
    with with_model(
        database, paths, in_turn(Status(429, "e", "m", {"retry-after": "600"}), picks(NAMES[0]))
    ) as model_workspace:
        assert select(model_workspace, seconds=60.0).names is None
        assert select(model_workspace, seconds=120.0).names == (NAMES[0],)


def test_the_budget_is_kept_and_its_end_rests_the_model(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks(NAMES[0]), budget=Budget(usd_per_day=0.001)) as model_workspace:
        while (selected := select(model_workspace)).names is not None:
            assert spent(model_workspace).usd <= 0.001
        assert selected.why.startswith("The day's budget is used up")
        assert spent(model_workspace).usd <= 0.001
        sent = len(model_workspace.server.requests)
        assert sent > 0
        assert select(model_workspace).names is None
        assert len(model_workspace.server.requests) == sent
        hold = held(model_workspace)
        assert hold is not None
        assert hold.reason == "budget_reached"


def test_a_request_beyond_what_a_run_may_cost_is_not_sent(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks(NAMES[0]), budget=Budget(usd_per_run=0.00001)) as model_workspace:
        assert "budget.usd_per_run" in select(model_workspace).why
        assert model_workspace.server.requests == []


def test_a_database_that_is_kept_is_not_waited_for(
    database: Database, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    wait = Database.waiting

    def noted(connection: Database, seconds: float) -> AbstractContextManager[None]:
        waits.append(seconds)
        return wait(connection, seconds)

    monkeypatch.setattr(Database, "waiting", noted)
    with with_model(database, paths, picks(NAMES[0])) as model_workspace:
        other = open_database(paths)
        try:
            with other.transaction():
                selected = select(model_workspace)
        finally:
            other.close()
        assert waits == [DATABASE_SECONDS]
        assert selected.names is None
        assert "locked" in selected.why
        assert select(model_workspace).names == (NAMES[0],)


# --- in time ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [Hang, lambda gate: Trickle(picks(NAMES[0]), gate), lambda gate: SlowHead(picks(NAMES[0]), gate)]
)
def test_an_answer_that_does_not_come_in_time_is_given_up(
    database: Database, paths: Paths, passing_time: PassingTime, answer: Callable[[threading.Event], Answer]
) -> None:
    """What it may cost stays reserved: it was sent. The gate is closed until it gave up."""
    gate = threading.Event()

    def answer_late(_: Request) -> Answer:
        passing_time.skip()
        return answer(gate)

    with with_model(database, paths, answer_late) as model_workspace:
        selected = select(model_workspace)
        assert selected == Selected(None, "The model chose nothing: it did not answer within 60 s.")
        assert outcomes(model_workspace) == [("recall", "failed", selected.why)]
        assert spent(model_workspace).unsettled_usd > 0
        assert held(model_workspace) is None
        assert select(model_workspace) == selected
        assert len(model_workspace.server.requests) == 1
        gate.set()


def test_what_is_late_before_it_is_sent_is_never_sent(
    database: Database, paths: Paths, tmp_path: Path, passing_time: PassingTime
) -> None:
    """A command that prints the key slowly is not waited for; nothing is charged, and nothing is sent behind our back."""
    key = tmp_path / "key"
    os.mkfifo(key)
    is_given_up = threading.Event()

    def print_key() -> None:
        with key.open("w") as file:  # waits for the command
            passing_time.skip()
            is_given_up.wait(60)
            file.write("test-key\n")

    printer = threading.Thread(target=print_key)
    waiting = with_model(database, paths, picks(NAMES[0]), api_key_variable="", api_key_command=f"cat {key}")
    with waiting as model_workspace:
        printer.start()
        assert select(model_workspace).names is None
        late = [thread for thread in threading.enumerate() if thread.name == "memoryd-timed-call"]
        assert late
        is_given_up.set()
        for thread in (printer, *late):
            thread.join(60)
            assert not thread.is_alive()
        assert (model_workspace.server.requests, spent(model_workspace).usd) == ([], 0)


@pytest.mark.parametrize("answer", [Drop(picks(NAMES[0]), 40), Garbage(b"<html>"), Status(500, "api_error", "no")])
def test_a_broken_answer_has_a_reason(database: Database, paths: Paths, answer: Answer) -> None:
    with with_model(database, paths, answer) as model_workspace:
        why = select(model_workspace).why
        assert why.startswith("The model chose nothing: ")
        assert "in time" not in why


def test_an_endpoint_that_is_not_there_costs_nothing(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks()) as model_workspace:
        model_workspace.server.stop()
        assert select(model_workspace) == Selected(None, "The model chose nothing: it cannot be reached.")
        assert spent(model_workspace).usd == 0


# --- who else looks at jobs -------------------------------------------------------------------------------------------


def test_it_is_no_job_that_others_wait_for_or_tell_of(database: Database, paths: Paths) -> None:
    with with_model(database, paths, in_turn(NOTHING, picks(NAMES[0]), BUSY)) as model_workspace:
        model_workspace.say("hello")
        model_workspace.work()
        before = jobs.last_id(database)
        told, extracted = queries.last_jobs(database, 10), queries.extractions(database)
        model_workspace.clock.at += 60
        select(model_workspace)
        select(model_workspace)
        assert [outcome[0] for outcome in outcomes(model_workspace)] == ["extract", "recall", "recall"]
        assert jobs.last_id(database) == before
        assert jobs.ended_since(database, before) == []
        assert jobs.number_running(database) == 0
        assert jobs.directories_with_running(database) == []
        assert queries.running_jobs(database) == []
        assert (queries.last_jobs(database, 10), queries.extractions(database)) == (told, extracted)


def test_it_leaves_the_answers_alone_that_a_dream_paid_for(database: Database, paths: Paths) -> None:
    with with_model(database, paths, picks(NAMES[0])) as model_workspace:
        database.execute(
            "INSERT INTO jobs (id, kind, memory_dir, session_id, token, started_at) VALUES (7, 'dream', ?, '', 't', ?)",
            (str(model_workspace.memory), NOW),
        )
        step = model_calls.reserve(database, 7, b"r", model="m", prompt="p", usd=0.1, now=NOW)
        model_calls.settle(database, step, model_calls.Spent(1, 1, 0, 0, 1, 0.1), b"kept")
        assert select(model_workspace).names == (NAMES[0],)
        assert model_calls.answer_to(database, b"r", str(model_workspace.memory)) == (step, b"kept")


# --- kill -9 ----------------------------------------------------------------------------------------------------------

VICTIM = """
import sys
from memoryd.clock import SystemClock
from memoryd.config import load
from memoryd.jobs.selection import select_by_model
from memoryd.paths import paths_from
from memoryd.state.database import open_database
import os

paths = paths_from(dict(os.environ))
database = open_database(paths)
print(select_by_model(database, paths, load(paths), dict(os.environ), SystemClock(), memory_dir=sys.argv[1],
    query="when may I release?", manifest_lines=["- [user] a.md: a"], names=["a.md"], seconds=300.0))
"""


def test_a_kill_leaves_nothing_stuck_and_what_was_reserved_counts(
    environment: dict[str, str], database: Database, paths: Paths, tmp_path: Path
) -> None:
    victims: list[subprocess.Popen[bytes]] = []
    is_there = threading.Event()

    def answer(_: Request) -> Answer:
        if len(victims) == 1:
            is_there.wait(300)
            os.kill(victims[0].pid, signal.SIGKILL)
            victims[0].wait()
        return picks("a.md")

    with MessagesServer(answer) as server:
        os.makedirs(os.path.dirname(paths.config_file))
        with open(paths.config_file, "w", encoding="utf-8") as file:
            file.write(f'[anthropic]\napi_key_variable = "{VARIABLE}"\nbase_url = "{server.url}"\n')
        command = [sys.executable, "-c", VICTIM, str(tmp_path / "memory")]
        theirs = environment | {VARIABLE: "test-key", "PYTHONPATH": os.getcwd()}
        victims.append(subprocess.Popen(command, env=theirs))
        is_there.set()
        assert victims[0].wait(300) == -signal.SIGKILL
        assert jobs.number_running(database) == 0
        assert database.query("SELECT outcome, detail FROM jobs")[0][:] == ("failed", "its process died")
        (row,) = model_calls.usage(database)
        assert row.spent.unsettled_usd == row.spent.usd > 0
        victims.append(victims[0])
        done = subprocess.run(command, env=theirs, capture_output=True, check=True)
        assert done.stdout.decode() == "Selected(names=('a.md',), why='')\n"
        (row,) = model_calls.usage(database)
        assert row.spent.calls == 2
