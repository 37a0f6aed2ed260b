"""The hook before tool calls: in the plugin while a memory speaks of such calls, whoever committed or took it away."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients.claude_code.plugin import HOOKS_FILE, install, plugin_folder
from memoryd.mcp.server import server_for
from tests.acceptance.command import as_json, memoryd

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
