"""`memoryd doctor` as a user runs it: on a fresh home, on broken ones, with a model, beside a running daemon."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.acceptance.command import Daemon, as_json, memoryd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths

KEY = "sk-ant-api03-not-a-real-key-of-anybody"
OF_THE_MACHINE = ("watches", "watch_instances", "space")


def checks(environment: dict[str, str], *arguments: str) -> dict[str, dict[str, Any]]:
    """What it says, by name."""
    return {check["name"]: check for check in as_json(environment, "doctor", *arguments)}


def problems(environment: dict[str, str], *arguments: str) -> list[str]:
    found = [check["name"] for check in as_json(environment, "doctor", *arguments) if check["verdict"] == "problem"]
    return [name for name in found if name not in OF_THE_MACHINE]


@contextmanager
def endpoint(status: int, body: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A server that answers every request alike; yields its address, and who asked for what with which key."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("authorization", "")))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def hire(paths: Paths, url: str, key: str = KEY, *, mode: int = 0o600) -> None:
    key_file = Path(paths.config_file).parent / "key"
    key_file.parent.mkdir(parents=True)
    key_file.write_text(key)
    key_file.chmod(mode)
    Path(paths.config_file).write_text(f'[anthropic]\napi_key_file = "{key_file}"\nbase_url = "{url}"\n')


def test_a_fresh_home_is_told_what_to_do_and_left_as_it_is(environment: dict[str, str], paths: Paths) -> None:
    done = memoryd(environment, "doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert (
        "  problem  memoryd is not running: nothing you say is remembered by itself\n           fix: memoryd "
        in done.stdout
    )
    assert "offline: no model, no network, no key needed" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 problem: memoryd")
    assert os.listdir(paths.home) == []


def test_beside_a_running_daemon_all_is_well(environment: dict[str, str], paths: Paths) -> None:
    os.makedirs(paths.transcripts_root)
    with Daemon(environment) as daemon:
        daemon.says("Talk to Claude Code")
        found = as_json(environment, "doctor")
        daemon.stop(signal.SIGTERM)
    names = [check["name"] for check in found if check["verdict"] == "problem"]
    assert [name for name in names if name not in OF_THE_MACHINE] == []
    assert str(daemon.process.pid) in next(check["text"] for check in found if check["name"] == "daemon")


def test_a_config_that_cannot_be_used_is_named_and_the_rest_is_looked_at(
    environment: dict[str, str], paths: Paths
) -> None:
    Path(paths.config_file).parent.mkdir(parents=True)
    Path(paths.config_file).write_text("[scan]\nintervall_seconds = 5\n")
    done = memoryd(environment, "doctor")
    assert done.returncode == 1
    assert "line 2: there is no key `scan.intervall_seconds`; did you mean `scan.interval_seconds`?" in done.stdout
    assert f"fix: ${{EDITOR:-vi}} +2 {paths.config_file}" in done.stdout
    assert "SQLite" in done.stdout
    assert problems(environment) == ["daemon", "config"]


def test_a_key_that_the_endpoint_takes(environment: dict[str, str], paths: Paths) -> None:
    listed = {"data": [{"id": "claude-haiku-5-5"}, {"id": "claude-sonnet-5-5"}]}
    with endpoint(200, listed) as (url, asked):
        hire(paths, url)
        found = checks(environment)
        assert found["endpoint"]["text"] == "the endpoint takes the key and has the models"
        assert asked == [("/v1/models?limit=1000", f"Bearer {KEY}")]
        assert checks(environment, "--offline")["endpoint"]["verdict"] == "note"
        assert len(asked) == 1


def test_a_key_that_the_endpoint_refuses_is_a_problem_and_never_shown(
    environment: dict[str, str], paths: Paths
) -> None:
    refusal = {"type": "error", "error": {"type": "authentication_error", "message": f"{KEY} is no key of ours"}}
    with endpoint(401, refusal) as (url, _):
        hire(paths, url)
        done = memoryd(environment, "doctor")
    assert done.returncode == 1
    assert f"{url} refuses the API key." in done.stdout
    assert "[the key] is no key of ours" in done.stdout
    assert "memoryd retry" in done.stdout
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(("status", "body"), [(404, {"error": "no such page"}), (200, ["an", "odd", "list"])])
def test_a_local_model_without_a_list_answers_and_that_is_enough(
    environment: dict[str, str], paths: Paths, status: int, body: Any
) -> None:
    with endpoint(status, body) as (url, _):
        hire(paths, url)
        assert checks(environment)["endpoint"]["text"] == "the endpoint answers"


def test_an_endpoint_that_is_not_there_and_a_key_that_others_can_read(
    environment: dict[str, str], paths: Paths
) -> None:
    with endpoint(200, {}) as (url, _):
        pass
    hire(paths, url)
    assert checks(environment)["endpoint"]["text"] == f"{url} has trouble: it cannot be reached"
    (Path(paths.config_file).parent / "key").chmod(0o644)
    found = checks(environment)
    assert found["key"]["fix"] == f"chmod 600 {Path(paths.config_file).parent / 'key'}"
    assert "endpoint" not in found


def test_what_others_could_write_is_a_problem(environment: dict[str, str], paths: Paths) -> None:
    assert memoryd(environment, "extract-now").returncode == 0
    Path(paths.database).chmod(0o666)
    fixes = [check["fix"] for check in as_json(environment, "doctor") if check["name"] == "state_files"]
    assert fixes[0] == f"chmod 600 {paths.database}"
