"""A user whose own `claude` is the engine, as they see it: the real command, and a small `claude` on their PATH."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.hook import OWN_SESSION_VARIABLE
from memoryd.engines.model.claude.command import MARKER_VARIABLE
from memoryd.engines.model.claude.endpoint import _MARK
from tests.acceptance.command import Daemon, as_json, memoryd, memoryd_given
from tests.acceptance.manager import eventually
from tests.acceptance.model import memories, say
from tests.claude_server import ClaudeServer, install_command, variables_for
from tests.keeping_model import keeping_model
from tests.messages_server import Status, last_text
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths


@pytest.fixture
def server() -> Iterator[ClaudeServer]:
    with ClaudeServer(keeping_model) as running:
        yield running
        assert running.violations == []


@pytest.fixture
def user(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """With a `claude` on the PATH."""
    command = install_command(tmp_path / "bin")
    return environment | {"PATH": f"{command.parent}:{environment['PATH']}"}


def choose(paths: Paths, server: ClaudeServer, more: str = "", variables: dict[str, str] | None = None) -> None:
    """Write `engine = "claude"` into the config."""
    lines = [f'{name} = "{value}"' for name, value in (variables_for(server) | (variables or {})).items()]
    text = f'engine = "claude"\n[claude]\n{more}\n[claude.environment]\n' + "\n".join(lines) + "\n"
    Path(paths.config_file).parent.mkdir(parents=True, exist_ok=True)
    Path(paths.config_file).write_text(text)


@pytest.fixture
def session(user: dict[str, str], paths: Paths) -> Session:
    begun = Session()
    say(paths, begun, "let us begin")
    assert memoryd(user, "extract-now").returncode == 0
    return begun


def test_a_day_with_claude(user: dict[str, str], paths: Paths, server: ClaudeServer, session: Session) -> None:
    """Extraction, then what status, usage and doctor say of it."""
    choose(paths, server)
    before = as_json(user, "status")["engine"]
    assert (before["name"], before["model"], before["plan"]["version"]) == ("claude", "haiku", None)
    say(paths, session, "ok. keep nonce-00000001 is queue 5.")
    (worked,) = as_json(user, "extract-now")
    assert (worked["outcome"], worked["saved"]) == ("succeeded", ["project_nonce_00000001.md"])
    assert "nonce-00000001 is queue 5." in memories(paths)["project_nonce_00000001.md"]
    engine = as_json(user, "status")["engine"]
    assert (engine["spent_today_usd"], engine["usd_per_day"]) == (0.0, None)
    plan = engine["plan"]
    assert (plan["version"], plan["runs_today"], plan["runs_per_day"]) == ("2.1.325", 1, 40)
    assert plan["command"].endswith("/bin/claude")
    assert 0 < plan["tokens_today"] < 100_000
    assert plan["answered_by"] == "haiku"
    shown = memoryd(user, "status").stdout
    assert "haiku by your claude" in shown
    assert "1 of 40 runs" in shown
    assert "on your plan" in shown
    used = memoryd(user, "usage")
    assert "(your plan)" in used.stdout
    assert "nobody bills them" in used.stderr
    checked = memoryd(user, "doctor").stdout
    assert "Claude Code 2.1.325" in checked
    assert "haiku answered" in checked


def test_a_limit_ends_the_day_and_is_told_once(
    user: dict[str, str], paths: Paths, server: ClaudeServer, session: Session
) -> None:
    choose(paths, server, variables={"FAKE_FAULT": "says:You've hit your session limit · resets 3pm"})
    say(paths, session, "ok. keep nonce-00000001 is queue 5.")
    done = memoryd(user, "extract-now")
    assert done.returncode == 75
    assert "You've hit your session limit · resets 3pm" in done.stderr
    status = as_json(user, "status")
    assert [waiting["reason"] for waiting in status["waiting"]] == ["limit_reached"]
    assert memories(paths) == {}
    choose(paths, server)  # another setting is another try
    assert as_json(user, "status")["problems"] == []
    (worked,) = as_json(user, "extract-now")
    assert worked["outcome"] == "succeeded"


def test_a_missing_command_is_a_problem_with_its_fix(
    environment: dict[str, str], paths: Paths, server: ClaudeServer, session: Session
) -> None:
    choose(paths, server, 'command = "claude-that-is-nowhere"')
    say(paths, session, "ok. keep nonce-00000001 is queue 5.")
    done = memoryd(environment, "extract-now")
    assert done.returncode == 75
    assert "is not on the PATH that memoryd has" in done.stderr
    (problem,) = as_json(environment, "status")["problems"]
    assert "[claude] command" in problem["fix"]
    assert "is not on the PATH" in memoryd(environment, "doctor").stdout


def test_the_daemon_waits_for_silence_or_for_the_end_of_the_session(
    user: dict[str, str], paths: Paths, server: ClaudeServer, session: Session
) -> None:
    choose(paths, server)
    with Path(paths.config_file).open("a") as config:
        config.write("[scan]\ninterval_seconds = 0.2\n")
    with Daemon(user) as daemon:
        say(paths, session, "ok. keep nonce-00000001 is queue 5.")
        daemon.says("turn")
        eventually(lambda: [waiting["reason"] for waiting in as_json(user, "status")["waiting"]] == ["session_active"])
        assert server.requests == []
        event = {"session_id": session.id, "cwd": "/code/acme", "transcript_path": "", "trigger": "auto"}
        run_hook(user, "pre-compact", event)
        eventually(lambda: "project_nonce_00000001.md" in memories(paths))
    assert len(server.requests) == 1


def run_hook(user: dict[str, str], name: str, event: dict[str, str]) -> str:
    done = memoryd_given(user, json.dumps(event).encode(), "hook", name)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


# --- its own sessions are never read: each reason alone -----------------------------------------------------------------


def read_from(server: ClaudeServer, number: int) -> list[str]:
    """What the model was told of conversations since then, but for what the user's own session began with."""
    return [last_text(request) for request in server.requests[number:] if "let us begin" not in last_text(request)]


def test_no_session_is_kept(user: dict[str, str], paths: Paths, server: ClaudeServer, session: Session) -> None:
    choose(paths, server)
    say(paths, session, "ok. keep nonce-00000001 is queue 5.")
    assert memoryd(user, "extract-now").returncode == 0
    assert [path.name for path in Path(paths.transcripts_root).glob("*/*.jsonl")] == [f"{session.id}.jsonl"]
    home = Path(paths.home)
    assert [str(path.relative_to(home)) for path in home.glob(".cache/claude-cli-nodejs/*")] == []
    assert os.listdir(Path(paths.state_dir, "claude")) == ["lock"]


def kept_session(user: dict[str, str], paths: Paths, server: ClaudeServer, session: Session) -> tuple[Path, str]:
    """A session of the author that was kept after all, and what it holds: a turn that has come to its end."""
    kept = Path(paths.transcripts_root, "-some-place")
    choose(paths, server, variables={"FAKE_PERSISTS": str(kept)})
    say(paths, session, "ok. keep nonce-00000001 is queue 5.")
    assert memoryd(user, "extract-now").returncode == 0
    texts = {path: path.read_text() for path in kept.glob("*.jsonl")}
    (author,) = [path for path, data in texts.items() if "nonce-00000001 is queue 5" in data and '"tool_use"' in data]
    assert len(texts) == 2  # and the reviewer's
    entries = [json.loads(line) for line in texts[author].splitlines()]
    for entry in entries[1:]:
        entry["message"]["content"] = [{"type": "text", "text": "Done."}]
    for path in texts:
        path.unlink()
    return author, "".join(json.dumps(entry) + "\n" for entry in entries)


def test_a_session_that_is_kept_in_spite_of_that_was_elsewhere(
    user: dict[str, str], paths: Paths, server: ClaudeServer, session: Session
) -> None:
    """Its working directory is below the state directory, which alone is enough."""
    transcript, data = kept_session(user, paths, server, session)
    transcript.write_text(data.replace(_MARK, "hello"))
    asked = len(server.requests)
    assert memoryd(user, "backfill", "--yes").returncode == 0
    assert read_from(server, asked) == []


def test_a_session_that_lost_its_place_is_known_by_its_mark(
    user: dict[str, str], paths: Paths, server: ClaudeServer, session: Session
) -> None:
    transcript, data = kept_session(user, paths, server, session)
    data = data.replace(str(Path(paths.state_dir, "claude", "empty")), "/code/acme")
    transcript.write_text(data)
    asked = len(server.requests)
    assert memoryd(user, "backfill", "--yes").returncode == 0
    assert read_from(server, asked) == []
    # Without the mark as well it is a session like any other: what is tested here can fail.
    other = data.replace(_MARK, "hello").replace(transcript.stem, "other").replace('"uuid": "', '"uuid": "other-')
    transcript.with_name("other.jsonl").write_text(other)
    assert memoryd(user, "backfill", "--yes").returncode == 0
    assert read_from(server, asked) != []


def test_a_hook_in_a_process_of_ours_says_and_records_nothing(
    user: dict[str, str], paths: Paths, server: ClaudeServer, session: Session
) -> None:
    assert OWN_SESSION_VARIABLE == MARKER_VARIABLE
    choose(paths, server)
    say(paths, session, "ok. keep nonce-00000001 is queue 5.")
    assert memoryd(user, "extract-now").returncode == 0
    event = {"session_id": "s", "cwd": "/code/acme", "prompt": "what about nonce-00000001 and its queue?"}
    event |= {"transcript_path": "", "source": "startup"}
    own = user | {MARKER_VARIABLE: "1"}
    before = sorted(os.listdir(paths.state_dir))
    for name in ("user-prompt-submit", "session-start", "pre-compact", "session-end", "stop"):
        assert run_hook(own, name, event) == ""
    assert sorted(os.listdir(paths.state_dir)) == before


def test_nobody_else_takes_over(user: dict[str, str], paths: Paths, session: Session) -> None:
    """A model that fails is not replaced by rules: what was said waits."""
    with ClaudeServer(lambda _: Status(529, "overloaded_error", "Overloaded")) as server:
        choose(paths, server)
        say(paths, session, "never use mocks")
        assert memoryd(user, "extract-now").returncode == 75
    assert memories(paths) == {}
