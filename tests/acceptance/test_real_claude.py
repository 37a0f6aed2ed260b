"""The real client as the engine: what it sends, what it leaves in the home, and that nobody is left when a job is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.engines.model import extraction_brief
from memoryd.engines.model.tools import SCHEMAS
from tests.acceptance.client import NOBODY, binary
from tests.acceptance.command import as_json, memoryd
from tests.acceptance.manager import eventually
from tests.acceptance.model import memories, say
from tests.claude_server import ClaudeServer, install_command, variables_for
from tests.keeping_model import keeping_model
from tests.messages_server import Hang, Reply, accept_changes, call
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.messages_server import Answer, Request
    from tests.torture.campaign import Campaign

_REQUESTS = 3
"""A job that is not killed makes so many."""


def choose(paths: Paths, server: ClaudeServer, command: Path) -> None:
    """Let this command be the engine. Whatever asks for another host than the model's meets a proxy that is not there."""
    variables = variables_for(server) | {"HTTP_PROXY": NOBODY, "HTTPS_PROXY": NOBODY, "NO_PROXY": "127.0.0.1"}
    lines = [f'{name} = "{value}"' for name, value in variables.items()]
    text = f'engine = "claude"\n[claude]\ncommand = "{command}"\nruns_per_day = 9999\ntokens_per_day = 99999999\n'
    Path(paths.config_file).parent.mkdir(parents=True, exist_ok=True)
    Path(paths.config_file).write_text(text + "[claude.environment]\n" + "\n".join(lines) + "\n")


def begun(environment: dict[str, str], paths: Paths) -> Session:
    session = Session()
    say(paths, session, "let us begin")
    assert memoryd(environment, "extract-now").returncode == 0
    return session


def plant(paths: Paths, tmp_path: Path) -> list[str]:
    """Everything of a user that a client may load, each with a marker of its own; returns the markers."""
    home, claude = Path(paths.home), Path(paths.claude_dir)
    markers = [f"planted-{number:02}" for number in range(13)]
    ran = tmp_path / "ran"
    hook = {"type": "command", "command": f"touch {ran}; echo {markers[5]}"}
    server = {"command": sys.executable, "args": ["-c", f"import pathlib; pathlib.Path({str(ran)!r}).touch()"]}
    settings = {
        "hooks": {"UserPromptSubmit": [{"hooks": [hook]}], "SessionStart": [{"hooks": [hook]}]},
        "env": {"PLANTED": markers[4]},
        "outputStyle": "planted",
        "enableAllProjectMcpServers": True,
    }
    files = {
        claude / "CLAUDE.md": markers[0],
        home / "CLAUDE.md": markers[1],  # the state directory is below the home
        home / "AGENTS.md": markers[2],
        Path(paths.state_dir) / "CLAUDE.md": markers[3],
        claude / "settings.json": json.dumps(settings),
        home / ".claude.json": json.dumps({"mcpServers": {markers[6]: server}}),
        home / ".mcp.json": json.dumps({"mcpServers": {markers[7]: server}}),
        claude / "output-styles" / "planted.md": f"---\nname: planted\ndescription: x\n---\n{markers[8]}\n",
        claude
        / "skills"
        / "planted"
        / "SKILL.md": f"---\nname: planted\ndescription: {markers[9]}\n---\n{markers[9]}\n",
        claude / "agents" / "planted.md": f"---\nname: planted\ndescription: {markers[10]}\n---\n{markers[10]}\n",
        claude / "rules" / "planted.md": markers[11],
    }
    for slug in (str(Path(paths.state_dir, "claude", "empty")), paths.home):
        name = "".join(letter if letter.isalnum() else "-" for letter in slug)
        files[claude / "projects" / name / "memory" / "MEMORY.md"] = f"- [x](x.md) — {markers[12]}"
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return markers


def files_in(place: str) -> set[str]:
    return {str(path.relative_to(place)) for path in Path(place).rglob("*") if path.is_file()}


@pytest.mark.real
def test_it_sends_our_brief_and_our_tools_and_nothing_of_the_users(
    environment: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    with ClaudeServer(keeping_model) as server:
        session = begun(environment, paths)
        markers = plant(paths, tmp_path)
        before = files_in(paths.home)
        choose(paths, server, binary())
        say(paths, session, "ok. keep nonce-00000001 is queue 5.")
        (worked,) = as_json(environment, "extract-now")
        assert worked["saved"] == ["project_nonce_00000001.md"]
        assert server.violations == []
        (request,), (review,) = server.requests, server.reviews
    brief = extraction_brief.brief_of([], ()).system
    assert any(block["text"] == brief for block in request.body["system"])
    assert {tool["name"] for tool in request.body["tools"]} == {schema["name"] for schema in SCHEMAS}
    assert not review.body.get("tools")
    # The user's instruction files are part of our own brief, so that nothing is kept that they say already.
    (instructions,) = [
        block["text"] for block in request.body["messages"][0]["content"] if block["text"].startswith("<instructions>")
    ]
    sent = json.dumps(request.body["system"]) + json.dumps(request.body["messages"]).replace(
        json.dumps(instructions)[1:-1], ""
    )
    for told in (sent, json.dumps(request.body["tools"]), review.raw.decode()):
        assert [marker for marker in markers if marker in told] == []
    assert not (tmp_path / "ran").exists()  # no hook and no server of the user was started
    ours = ("memory/", ".local/state/memoryd", ".config/memoryd")
    left = {name for name in files_in(paths.home) - before if not any(place in name for place in ours)}
    # Its own housekeeping, which every start of the client does: copies of its settings, what plugins it has.
    assert {name for name in left if not name.startswith((".claude/backups/", ".claude/plugins/"))} == set()


def processes_with(mark: str) -> dict[int, str]:
    """Live processes whose command line or environment names this place."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                told = command + (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in told and state not in "ZX":
                found[int(entry.name)] = command.replace(b"\0", b" ").decode("utf-8", "replace")[:200]
    return found


class KilledJobs:
    """Jobs that are killed at a request: the victim dies while the model is asked, and nobody may be left of it."""

    def __init__(self, environment: dict[str, str], paths: Paths, command: Path) -> None:
        self.environment, self.paths, self.command = environment, paths, command
        self.victim: subprocess.Popen[bytes] | None = None
        self.kill_at = 0
        self.seen = 0
        self.turn = 0

    def answer(self, request: Request) -> Answer:
        """Look, then write: with the review three requests, of which one is the last that the victim sees."""
        messages = request.body["messages"]
        if (killed := self._killed()) is not None:
            return killed
        if len(messages) == 1:
            return Reply(call("Glob", {"pattern": "*"}))
        nonce = f"nonce-{self.turn:08}"
        head = f'---\nname: {nonce}\ndescription: "What holds for {nonce}"\ntype: project\n---\n'
        written = {"content": f"{head}{nonce} is queue 5.\n", "quote": f"keep {nonce} is queue 5."}
        return Reply(call("Write", {"file_path": f"project_nonce_{self.turn:08}.md", **written}))

    def review(self, request: Request) -> Answer:
        return self._killed() or accept_changes(request)

    def _killed(self) -> Answer | None:
        self.seen += 1
        if self.seen - 1 != self.kill_at or self.victim is None:
            return None
        self.victim.send_signal(signal.SIGKILL)
        return Hang(threading.Event())

    def say(self, session: Session) -> None:
        self.turn += 1
        say(self.paths, session, f"ok. keep nonce-{self.turn:08} is queue 5.")

    def kill(self, kill_at: int) -> None:
        self.kill_at, self.seen = kill_at, 0
        self.victim = subprocess.Popen(
            [sys.executable, "-P", "-m", "memoryd", "extract-now"],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert self.victim.wait() == -signal.SIGKILL
        self.victim = None
        eventually(lambda: not processes_with(self.paths.state_dir))


@pytest.mark.parametrize(
    "which",
    [
        "small",
        pytest.param("real", marks=pytest.mark.real),
        pytest.param("torture", marks=pytest.mark.torture),
    ],
)
def test_a_job_that_is_killed_at_any_request_leaves_nobody(
    environment: dict[str, str], paths: Paths, tmp_path: Path, which: str, campaign: Campaign
) -> None:
    """Neither a process nor a socket; and the next job goes on where the killed one was."""
    if which == "torture" and not campaign.is_long:
        pytest.skip("the long campaign")
    command = binary() if which == "real" else install_command(tmp_path / "bin")
    jobs = KilledJobs(environment, paths, command)
    turns, kills = {"small": (1, 3), "real": (1, 3), "torture": (100, 10)}[which]
    with ClaudeServer(jobs.answer, reviewer=jobs.review) as server:
        session = begun(environment, paths)
        choose(paths, server, command)
        for turn in range(turns):
            if turn and which == "torture" and not campaign.has_time:
                break
            jobs.say(session)
            for number in range(kills):
                jobs.kill(number if number < _REQUESTS else campaign.random.randrange(_REQUESTS))
            assert memoryd(environment, "extract-now").returncode == 0
            assert f"project_nonce_{jobs.turn:08}.md" in memories(paths)
            assert os.listdir(Path(paths.state_dir, "claude")) == ["lock"]
        assert server.violations == []
    assert len([name for name in memories(paths) if name != "MEMORY.md"]) == jobs.turn
    assert processes_with(paths.state_dir) == {}
    campaign.tried("faults", "kill of a job in a request to claude", jobs.turn * kills)
