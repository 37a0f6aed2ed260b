"""A model at work, as its user sees it: the real command, the real SDK, a server on the loopback."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.state.database import open_for_reading
from memoryd.state.history import evidence_of
from tests.acceptance.command import Daemon, as_json
from tests.acceptance.command import memoryd as run_memoryd
from tests.acceptance.model import hire, memories, say
from tests.keeping_model import keeping_model, results_in, usage_of
from tests.messages_server import MessagesServer, last_text
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer(keeping_model) as running:
        yield running
        assert running.violations == []


@pytest.fixture
def session(environment: dict[str, str], paths: Paths) -> Session:
    """A session that memoryd has seen: what is said in it from now on is new."""
    begun = Session()
    say(paths, begun, "let us begin")
    assert run_memoryd(environment, "extract-now").returncode == 0
    return begun


def test_a_whole_extraction(
    environment: dict[str, str], paths: Paths, server: MessagesServer, session: Session
) -> None:
    """Reads in the first turn, writes in the second, both in parallel; then review, commit, index, evidence, usage."""
    hire(paths, server)
    say(paths, session, "ok. keep nonce-00000001 is queue 5. keep nonce-00000002 is red.")
    assert run_memoryd(environment, "extract-now").returncode == 0
    say(
        paths,
        session,
        "now. keep now nonce-00000001 is queue 6. forget what I said about nonce-00000002. keep nonce-00000003 is new.",
    )
    before = len(server.requests)
    (worked,) = as_json(environment, "extract-now")
    assert (worked["outcome"], worked["saved"], worked["removed"]) == (
        "succeeded",
        ["project_nonce_00000001.md", "project_nonce_00000003.md"],
        ["project_nonce_00000002.md"],
    )
    asked, read = server.requests[before:]
    assert sorted(results_in(read)[0].split()[1:3]) == ["---", "2"]  # numbered lines of a memory
    assert len(results_in(read)) == 2
    assert "nonce-00000003" in asked.nonces
    assert [last_text(review).count("<change id=") for review in server.reviews] == [2, 3]  # one question a job
    found = memories(paths)
    assert sorted(found) == ["MEMORY.md", "project_nonce_00000001.md", "project_nonce_00000003.md"]
    assert found["project_nonce_00000001.md"].endswith("nonce-00000001 is queue 6.")
    assert found["MEMORY.md"].splitlines() == [
        "- [Nonce 00000001](project_nonce_00000001.md) — What holds for nonce-00000001",
        "- [Nonce 00000003](project_nonce_00000003.md) — What holds for nonce-00000003",
    ]
    database = open_for_reading(paths)
    assert database is not None
    evidence = evidence_of(database, f"{paths.transcripts_root}/-code-acme/memory", "project_nonce_00000001.md")
    database.close()
    assert [piece.quote for piece in evidence] == [
        "keep nonce-00000001 is queue 5.",
        "keep now nonce-00000001 is queue 6.",
    ]
    rows = as_json(environment, "usage")
    billed = usage_of(server.answered)
    assert sum(row["calls"] for row in rows) == len(server.answered)
    assert {key: sum(row[key] for row in rows) for key in ("cache_read_tokens", "output_tokens")} == {
        "cache_read_tokens": billed["cache_read_input_tokens"],
        "output_tokens": billed["output_tokens"],
    }
    assert 0 < sum(row["usd"] for row in rows) < 0.01
    assert run_memoryd(environment, "usage", "--by", "project").stdout.splitlines()[1].startswith("/code/acme")


@pytest.mark.parametrize("engine", ["", 'engine = "offline"\n'])
def test_a_key_in_the_environment_is_no_consent(
    environment: dict[str, str], paths: Paths, server: MessagesServer, session: Session, engine: str
) -> None:
    """Without a credential in the config the embedded engine works, and nothing is sent; so too where it is asked for."""
    if engine:
        hire(paths, server)
        config = Path(paths.config_file)
        config.write_text(engine + config.read_text())
    known = environment | {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": server.url}
    say(paths, session, "never use mocks")
    assert run_memoryd(known, "extract-now").stdout.endswith("feedback_never_use_mocks.md\n")
    assert server.requests == []
    status = as_json(known, "status")
    assert status["engine"] == {
        "name": "offline",
        "model": None,
        "base_url": None,
        "spent_today_usd": 0.0,
        "usd_per_day": None,
        "plan": None,
    }


def test_a_refused_key_is_a_problem_until_it_is_changed(
    environment: dict[str, str], paths: Paths, server: MessagesServer, session: Session
) -> None:
    key_file = hire(paths, server, key="wrong-key")
    say(paths, session, "ok. keep nonce-00000001 is blue.")
    done = run_memoryd(environment, "extract-now")
    assert done.returncode == 77
    assert f"memoryd: {server.url} refuses the API key." in done.stderr
    assert "wrong-key" not in done.stderr
    status = as_json(environment, "status")
    assert status["engine"]["name"] == "anthropic"
    (problem,) = status["problems"]
    assert problem["problem"].startswith(f"{server.url} refuses the API key.")
    assert "memoryd retry" in problem["fix"]
    assert [waiting["reason"] for waiting in status["waiting"]] == ["engine_stopped"]
    # The daemon's worker leaves it alone; a new key is noticed.
    asked = len(server.requests)
    assert run_memoryd(environment, "child").returncode == 0
    assert len(server.requests) == asked
    key_file.write_text("test-key\n")
    assert as_json(environment, "status")["problems"] == []
    (worked,) = as_json(environment, "extract-now")
    assert worked["saved"] == ["project_nonce_00000001.md"]


def test_the_environment_adds_nothing_to_what_is_sent(
    environment: dict[str, str], paths: Paths, server: MessagesServer, session: Session
) -> None:
    """The SDK would take headers and another key from there."""
    hire(paths, server)
    say(paths, session, "ok. keep nonce-00000001 is blue.")
    more = {"ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer shell\nX-More: shell", "ANTHROPIC_AUTH_TOKEN": "shell"}
    assert run_memoryd(environment | more, "extract-now").returncode == 0
    assert [request for request in server.requests if "shell" in str(request.headers)] == []


def test_backfill_says_what_it_would_cost_and_stops_at_the_budget(
    environment: dict[str, str], paths: Paths, server: MessagesServer
) -> None:
    hire(paths, server, more="[budget]\nusd_per_day = 0.0075\n")
    for number in range(3):
        say(paths, Session(number), f"ok. keep nonce-0000000{number} is blue. " + "words " * 2000)
    asked = run_memoryd(environment, "backfill")
    assert asked.returncode == 2
    assert "3 turns in 3 sessions of 1 project" in asked.stderr
    assert "tokens for claude-haiku-5-5, about 0.00" in asked.stderr
    assert server.requests == []
    done = run_memoryd(environment, "backfill", "--yes")
    assert (done.returncode, "The day's budget is used up" in done.stderr) == (75, True)
    assert len(memories(paths)) < 4
    assert as_json(environment, "status")["problems"][0]["problem"].startswith("The day's budget is used up")


def test_the_daemon_lets_the_model_work_and_logs_what_it_used(
    environment: dict[str, str], paths: Paths, server: MessagesServer, session: Session
) -> None:
    hire(paths, server, more="[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0\n")
    with Daemon(environment) as daemon:
        daemon.says("Talk to Claude Code")
        say(paths, session, "ok. keep nonce-00000001 is blue.")
        daemon.says("saved ~/.claude/projects/-code-acme/memory/project_nonce_00000001.md")
        say(paths, session, "well. keep nonce-00000002 is red.")
        daemon.says("saved ~/.claude/projects/-code-acme/memory/project_nonce_00000002.md")
        assert daemon.stop(signal.SIGTERM) == 0
    lines = [json.loads(line) for line in Path(paths.log_file).read_text().splitlines()]
    first, second = [line for line in lines if line["event"] == "job"]
    assert (first["turns"], first["saved"]) == (2, 1)  # the author and the review
    assert (second["turns"], second["saved"]) == (3, 1)  # it reads what is there first
    assert second["cache_read_tokens"] > 0
    assert 0 < second["hit_rate"] < 1
    assert not any("nonce-00000001 is blue" in json.dumps(line) for line in lines)
    assert os.listdir(Path(paths.state_dir, "staging")) == []


def test_the_daemon_says_once_why_the_model_rests_and_goes_on_when_it_can(
    environment: dict[str, str], paths: Paths, server: MessagesServer, session: Session
) -> None:
    key_file = hire(paths, server, key="wrong-key", more="[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0\n")
    with Daemon(environment) as daemon:
        daemon.says("Talk to Claude Code")
        say(paths, session, "ok. keep nonce-00000001 is blue.")
        daemon.says("refuses the API key.")
        daemon.says("  fix: put a valid key where the config says, then: memoryd retry")
        asked = len(server.requests)
        say(paths, session, "well. keep nonce-00000002 is red.")
        daemon.says("1 turn ended")
        new = key_file.with_suffix(".new")
        new.touch(0o600)
        new.write_text("test-key\n")
        new.replace(key_file)  # in one step: nobody reads half of it
        daemon.says("The model is asked again.")
        daemon.says("project_nonce_00000002.md.")
        assert daemon.stop(signal.SIGTERM) == 0
        assert daemon.said.count("refuses the API key.") == 1
    assert asked == 1
    assert sorted(memories(paths)) == ["MEMORY.md", "project_nonce_00000001.md", "project_nonce_00000002.md"]
