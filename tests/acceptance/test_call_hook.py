"""The hook before tool calls: in the plugin while a memory speaks of such calls, whoever committed or took it away."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients.claude_code.plugin import HOOKS_FILE, install, plugin_folder
from memoryd.mcp.server import server_for
from tests.acceptance.command import as_json, memoryd
from tests.acceptance.test_hook import context_in, hook, sent
from tests.notes.working_session import WorkingSession
from tests.transcript import write

if TYPE_CHECKING:
    from memoryd.paths import Paths

RULE = "Never run npm install here"


def test_the_hook_follows_every_commit(environment: dict[str, str], paths: Paths, tmp_path: Path) -> None:
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    here = ("--project", str(place))
    install(paths, sys.executable)
    hooks = Path(plugin_folder(paths), HOOKS_FILE)
    server = server_for(environment, str(place))

    def has_hook() -> bool:
        return "PreToolUse" in json.loads(hooks.read_text())["hooks"]

    def run(*arguments: str) -> str:
        done = memoryd(environment, *arguments, *here)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def ask(tool: str, **arguments: str) -> None:
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = json.loads(server.receive(json.dumps(request).encode() + b"\n"))
        assert not answer["result"]["isError"], answer

    assert "open now" not in run("remember", "--type", "project", "the release is on 2031-03-04")
    assert not has_hook()
    assert "Sessions that are open now" in run("remember", "--type", "feedback", RULE)
    assert has_hook()
    run("undo")
    assert not has_hook()
    run("undo", str(as_json(environment, "history", *here)[0]["change"]))
    assert has_hook()
    ask("forget", memory="npm_install")
    assert not has_hook()
    run("restore", "feedback_never_run_npm_install_here.md")
    assert has_hook()
    run("forget", "npm_install")
    assert not has_hook()
    ask("remember", text="Never run yarn install here.", quote="never said so")
    assert not has_hook()
    (waiting,) = as_json(environment, "review", *here)
    run("review", "accept", str(waiting["id"]))
    assert has_hook()


def test_what_came_of_a_rule_is_counted_by_extract_now(
    environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    """Handed over with a call, not kept to, said again: `why` and `status` tell it without a daemon."""
    place = tmp_path / "acme"
    (place / ".git").mkdir(parents=True)
    here = ("--project", str(place))
    assert memoryd(environment, "remember", "--type", "feedback", RULE, *here).returncode == 0
    session = WorkingSession(cwd=str(place))
    began = session.prompt("Get the packages ready.") + session.use("Bash", command="npm install")
    transcript = write(paths.transcripts_root, session, began)
    assert memoryd(environment, "extract-now").returncode == 0  # what it holds is history, which is not worked on
    event = sent(place, session_id=session.id, tool_name="Bash", tool_input={"command": "npm install"})
    assert RULE in context_in(hook(environment, "PreToolUse", event))
    later = [session.use("Bash", command="npm install lodash"), session.use("Bash", command="npm run build")]
    later += [session.reply("Done."), session.prompt(f"{RULE}!"), session.reply("I am sorry.")]
    in_an_hour = datetime.fromtimestamp(time.time() + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    said = [json.dumps(json.loads(line) | {"timestamp": in_an_hour}) for line in b"".join(later).splitlines()]
    with transcript.open("a") as file:
        file.write("\n".join(said) + "\n")
    for _ in range(2):  # what was counted is not counted again
        assert memoryd(environment, "extract-now").returncode == 0
        counted = as_json(environment, "status")["rules"]
        assert (counted["with_calls"], counted["followed"], counted["corrected"]) == (1, 1, 1)
    told = memoryd(environment, "why", "npm_install", *here).stdout
    assert "Afterwards 1 call did what it forbids. You said it again 1 time." in " ".join(told.split())
