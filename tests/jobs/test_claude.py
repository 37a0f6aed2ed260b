"""`engine = "claude"`: what keeps it from working is a hold with a name, a fix and a time; nothing is lost, nobody takes over."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clock import day_of
from memoryd.engines.model.claude import turn_lock
from memoryd.engines.model.claude.command import MARKER_VARIABLE, environment_for
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.jobs import gates
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.holds import engine_wait
from memoryd.model import Due, Wait
from memoryd.state import model_calls, releases, settings, waiting
from tests.claude_server import install_command
from tests.jobs.claude_workspace import with_claude
from tests.jobs.model_answers import NOTHING, RULE, held, in_turn, writes
from tests.jobs.workspace import NOW
from tests.messages_server import Drop, Hang, Reply, Status, call, text
from tests.test_process_guard import is_alive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.errors import MemorydError
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.model_workspace import ModelWorkspace


@pytest.fixture
def command(tmp_path: Path) -> Path:
    return install_command(tmp_path / "bin")


@pytest.fixture
def hire(
    environment: dict[str, str], database: Database, paths: Paths, command: Path
) -> Iterator[Callable[..., ModelWorkspace]]:
    made = []

    def hired(answer: Any = NOTHING, **more: Any) -> ModelWorkspace:
        context = with_claude(database, paths, environment, command, answer, **more)
        made.append(context)
        return context.__enter__()

    yield hired
    for context in made:
        context.__exit__(None, None, None)


def failing(workspace: ModelWorkspace) -> MemorydError:
    with pytest.raises((EngineRestsError, EngineStoppedError)) as caught:
        workspace.run()
    error: MemorydError = caught.value
    return error


def leftovers(workspace: ModelWorkspace) -> list[str]:
    """What lies around that belongs to a conversation, and who still runs."""
    place = Path(turn_lock.folder_of(workspace.paths))
    left = [name for name in os.listdir(place) if name != "lock"] if place.exists() else []
    home = Path(workspace.paths.home)
    left += [path.name for path in (home / ".claude" / "sessions").glob("*")]
    left += [path.name for path in (home / ".cache" / "claude-cli-nodejs").glob("*")]
    return left


@pytest.mark.parametrize(
    ("answer", "variables", "reason", "words", "fix"),
    [
        (NOTHING, {"ANTHROPIC_API_KEY": ""}, "engine_logged_out", "not logged in", "claude auth login"),
        (NOTHING, {"ANTHROPIC_API_KEY": "wrong"}, "engine_logged_out", "not logged in", "claude auth login"),
        (NOTHING, {"FAKE_VERSION": "2.0.14 (Claude Code)"}, "engine_outdated", "is Claude Code 2.0.14", "update"),
        (NOTHING, {"FAKE_VERSION": "hello"}, "engine_missing", "it is no Claude Code", "--version"),
        (NOTHING, {"FAKE_FAULT": "crash"}, "engine_busy", "ended with code 3", "memoryd retry"),
        (NOTHING, {"FAKE_FAULT": "says:Something new"}, "engine_busy", "Something new", "memoryd retry"),
        (NOTHING, {"FAKE_FAULT": "mute"}, "engine_busy", "without an answer", "memoryd retry"),
        (NOTHING, {"FAKE_FAULT": "endless"}, "engine_busy", "a line without an end", "memoryd retry"),
        (
            NOTHING,
            {"FAKE_FAULT": "says:You've hit your weekly limit"},
            "limit_reached",
            "weekly limit",
            "memoryd retry",
        ),
        (Status(429, "rate_limit_error", "Slow down"), {}, "limit_reached", "Slow down", "memoryd retry"),
        (Status(529, "overloaded_error", "Overloaded"), {}, "engine_busy", "Overloaded", "memoryd retry"),
        (Drop(Reply(text("x" * 500)), 300), {}, "engine_busy", "Connection to the API was lost", "memoryd retry"),
        (Status(404, "not_found_error", "no model"), {}, "engine_stopped", "does not know the model haiku", "[claude]"),
        (Status(400, "invalid_request_error", "no"), {}, "engine_stopped", "refuses our requests", "[claude]"),
    ],
)
def test_what_goes_wrong_is_a_hold_with_a_name_and_a_fix(
    hire: Any, answer: Any, variables: dict[str, str], reason: str, words: str, fix: str
) -> None:
    workspace = hire(answer, variables=variables)
    workspace.say(RULE)
    error = failing(workspace)
    hold = held(workspace)
    assert hold is not None
    assert (hold.reason, hold.text) == (reason, error.sentence)
    assert words in hold.text
    assert fix in (hold.fix or error.fix)
    assert (hold.until is None) == (reason == "engine_stopped")
    if reason == "limit_reached":
        assert hold.until == day_of(NOW)[1]
    assert len(waiting.waiting_sessions(workspace.database)) == 1
    assert leftovers(workspace) == []


def test_a_command_that_is_missing_is_found_once_it_is_there(hire: Any, command: Path, tmp_path: Path) -> None:
    workspace = hire(in_turn(Reply(writes())))
    command.rename(tmp_path / "elsewhere")
    workspace.say(RULE)
    assert "does not exist" in failing(workspace).sentence
    hold = held(workspace)
    assert hold is not None
    assert hold.reason == "engine_missing"
    (tmp_path / "elsewhere").rename(command)
    workspace.clock.at = (hold.until or 0.0) + 1
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"
    assert held(workspace) is None
    known = settings.get(workspace.database, settings.CLAUDE)
    assert known is not None
    assert (known.value["path"], known.value["version"]) == (str(command), "2.1.325")


def test_a_command_on_the_path_is_found_by_its_name(hire: Any, command: Path) -> None:
    workspace = hire(in_turn(Reply(writes())))
    workspace.config = workspace.config._replace(claude=workspace.config.claude._replace(command="claude"))
    workspace.environment["PATH"] = f"{command.parent}:{workspace.environment['PATH']}"
    workspace.say(RULE)
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"


def test_an_upgrade_while_it_works_is_told_as_one(hire: Any, command: Path) -> None:
    def replaced(_: Any) -> Drop:
        command.write_text(command.read_text() + "# newer\n")
        return Drop(NOTHING, 10)

    workspace = hire(replaced)
    workspace.say(RULE)
    assert "replaced by an upgrade" in failing(workspace).sentence
    hold = held(workspace)
    assert hold is not None
    assert hold.reason == "engine_replaced"


def test_who_does_not_answer_is_given_up_with_all_its_processes(hire: Any) -> None:
    gate = threading.Event()
    workspace = hire(Hang(gate), longest_run_seconds=3.0)
    workspace.say(RULE)
    assert "did not answer in time" in failing(workspace).sentence
    gate.set()
    hold = held(workspace)
    assert hold is not None
    assert hold.reason == "engine_hung"
    assert leftovers(workspace) == []
    used = model_calls.plan_use_between(workspace.database, "claude", *day_of(NOW))
    assert used.runs == 1
    assert used.tokens > 8_000  # what was reserved counts: nobody knows what was taken
    assert used.usd > 0


def test_a_hang_of_the_command_itself_is_no_other(hire: Any) -> None:
    workspace = hire(variables={"FAKE_FAULT": "deaf"}, longest_run_seconds=2.0)
    workspace.say(RULE)
    assert "did not answer in time" in failing(workspace).sentence
    place = Path(turn_lock.folder_of(workspace.paths))
    assert [name for name in os.listdir(place) if name != "lock"] == []


def test_lines_that_nobody_knows_are_passed_over(hire: Any) -> None:
    workspace = hire(in_turn(Reply(writes())), variables={"FAKE_FAULT": "garbage"})
    workspace.say(RULE)
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"


# --- caps -------------------------------------------------------------------------------------------------------------


def test_an_extraction_with_its_review_is_one_run_and_the_day_has_so_many(hire: Any) -> None:
    workspace = hire(in_turn(Reply(writes())), runs_per_day=1)
    session = workspace.say(RULE)
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"
    workspace.say("something else", session=session)
    error = failing(workspace)
    assert "claude.runs_per_day" in error.sentence
    hold = held(workspace)
    assert hold is not None
    assert (hold.reason, hold.until) == ("budget_reached", day_of(NOW)[1])
    workspace.clock.at = day_of(NOW)[1] + 1
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded_no_output"


def test_a_day_has_so_many_tokens(hire: Any) -> None:
    workspace = hire(tokens_per_day=1_000)
    workspace.say(RULE)
    assert "claude.tokens_per_day" in failing(workspace).sentence
    assert workspace.server.requests == []


def test_what_a_plan_took_is_no_money(hire: Any) -> None:
    workspace = hire(in_turn(Reply(writes())))
    workspace.say(RULE)
    workspace.run()
    used = model_calls.plan_use_between(workspace.database, "claude", *day_of(NOW))
    assert (used.runs, used.usd > 0) == (1, True)
    assert model_calls.spent_between(workspace.database, *day_of(NOW)) == 0


# --- manners ----------------------------------------------------------------------------------------------------------


def decision(workspace: ModelWorkspace, now: float) -> Any:
    (session,) = waiting.waiting_sessions(workspace.database)
    return gates.extraction(session, workspace.config, workspace.paths.state_dir, now)


def test_a_session_is_read_when_it_was_quiet_for_minutes(hire: Any) -> None:
    workspace = hire()
    workspace.say(RULE)
    (session,) = waiting.waiting_sessions(workspace.database)
    wait = decision(workspace, session.active_at + 299)
    assert isinstance(wait, Wait)
    assert (wait.reason, wait.until) == ("session_active", session.active_at + 300)
    assert isinstance(decision(workspace, session.active_at + 300), Due)


def test_a_session_that_ends_is_read_at_once_and_goes_on_to_wait_afterwards(hire: Any) -> None:
    workspace = hire()
    session = workspace.say(RULE)
    (row,) = workspace.database.query("SELECT said_at FROM turns")
    (known,) = waiting.waiting_sessions(workspace.database)
    releases.release(workspace.database, session.id, row["said_at"] - 1)
    assert isinstance(decision(workspace, known.active_at + 1), Wait)  # said after it was compacted
    releases.release(workspace.database, session.id, row["said_at"] + 1)
    assert isinstance(decision(workspace, known.active_at + 1), Due)


def test_one_job_at_a_time_and_the_other_waits_by_name(hire: Any) -> None:
    workspace = hire(in_turn(Reply(writes())))
    workspace.say(RULE)
    lock = turn_lock.take(workspace.paths)
    assert lock is not None
    assert turn_lock.take(workspace.paths) is None
    wait = engine_wait(workspace.database, workspace.paths, workspace.config, NOW)
    assert wait is not None
    assert (wait.reason, wait.until) == ("claude_at_work", NOW + 30)
    assert failing(workspace).sentence == "claude is at work for another job of memoryd."
    assert held(workspace) is None
    os.close(lock)
    assert engine_wait(workspace.database, workspace.paths, workspace.config, NOW) is None
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"


def test_a_dream_waits_for_what_is_to_be_read(hire: Any) -> None:
    workspace = hire()
    workspace.say(RULE)
    workspace.memory.mkdir(parents=True)

    def gate() -> Any:
        checks = Checks(workspace.database, workspace.paths, workspace.config, str(workspace.memory), NOW)
        return next(found.decision for found in checks.all() if found.name == "extraction")

    assert gate() == Wait(None, "extraction_waits", "claude reads 1 session first")
    workspace.run()
    assert isinstance(gate(), Due)


def test_no_key_that_happens_to_be_around_is_handed_on() -> None:
    around = {
        "HOME": "/h",
        "PATH": "/bin",
        "XDG_CONFIG_HOME": "/x",
        "https_proxy": "http://p",
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CODE_OAUTH_TOKEN": "t",
        "CLAUDECODE": "1",
        "AWS_SECRET_ACCESS_KEY": "s",
    }
    given = environment_for(around, {"MINE": "1", MARKER_VARIABLE: ""}, "/run")
    assert {name for name in around if name in given} == {"HOME", "PATH", "XDG_CONFIG_HOME", "https_proxy"}
    assert (given["MINE"], given[MARKER_VARIABLE]) == ("1", "1")


def test_the_review_runs_beside_its_author_and_nobody_else(hire: Any) -> None:
    """Two processes at most, and none is left."""
    running: list[int] = []
    seen: set[int] = set()

    def count(_: Any) -> Reply:
        pids = [int(path.stem) for path in Path(workspace.paths.home, ".claude", "sessions").glob("*.json")]
        running.append(len(pids))
        seen.update(pids)
        return Reply(call("Glob", {"pattern": "*"})) if len(running) == 1 else Reply(writes())

    workspace = hire(count)
    workspace.say(RULE)
    (outcome,) = workspace.run()
    assert outcome.outcome == "succeeded"
    assert max(running) <= 2
    assert not any(map(is_alive, seen))
