"""Does an agent do better for having memoryd? Tasks in two sessions through the real Claude Code.

    python -m evaluation.helps OUT --agent URL[,URL…] --memory URL [--tasks FILE] [--arms none,client,offline,model] [--json]

In the first session the agent does something that the user then corrects; in the second one the same situation comes again, in
the project as it was at first. Four arms: no memory at all, the client's own memory, memoryd offline, memoryd with a model.
Behind --agent somebody plays the agent, and behind --memory the model that memoryd asks; nothing that the agent is sent names
the arm, and the runs come in random order, all of them at once. With as many agents as arms each of them plays every task once, so that nobody knows
a correction from another arm. The agent's part of the first session is scripted. OUT is a directory that is not
there yet; each run leaves its home in it. The client's program is the one that `make client` installs.

A task is a JSON object: `files` of the project, `programs` (a name and the shell line that stands for it), `first` (prompt, what
the agent does, correction), `second` (a prompt), and checks of what the second session left: any of `repeats` means that the user
has to correct again, all of `done` that the task was done at all. A check is a regular expression over `commands`, `commits`
(branch and subject), `created` files, the `answer`, a file, or `*` for all files; `absent` turns it round.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.acceptance.client import NOBODY, Model, binary
from tests.messages_server import Reply, call, text

if TYPE_CHECKING:
    from collections.abc import Iterator

ARMS = ("none", "client", "offline", "model")
_TOOLS = "Bash,Read,Edit,Write,Glob,Grep"
_LONGEST_SECONDS = 7200
_QUICK = "[scan]\ninterval_seconds = 0.5\n[turns]\nquiet_seconds = 1\n"


class Outcome(NamedTuple):
    task: str
    arm: str
    run: str
    repeated: bool
    done: bool
    tokens: int
    own_seconds: float
    """Of the second session, without the time in which the model was waited for."""
    answer: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--agent", required=True, help="addresses of those who play the agent, with commas between")
    parser.add_argument("--memory", default="", help="address of who plays the model that memoryd asks")
    parser.add_argument("--tasks", type=Path, default=Path(__file__).with_name("helps.json"))
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arms = arguments.arms.split(",")
    if unknown := sorted(set(arms) - set(ARMS)):
        parser.error(f"there is no arm {unknown[0]}; there are {', '.join(ARMS)}")
    if "model" in arms and not arguments.memory:
        parser.error("the arm `model` needs --memory; or name others: --arms none,offline")
    arguments.out.mkdir(parents=True)
    agents = arguments.agent.split(",")
    tasks = json.loads(arguments.tasks.read_text("utf-8"))
    runs = [
        (task, arm, agents[(number + place) % len(agents)])
        for (number, task), (place, arm) in itertools.product(enumerate(tasks), enumerate(arms))
    ]
    random.shuffle(runs)
    out = arguments.out.resolve()
    with ThreadPoolExecutor(len(runs)) as pool:  # whoever plays fast waits for nobody
        started = [
            pool.submit(_Run(task, arm, out / f"run{number:03}", agent, arguments.memory).outcome)
            for number, (task, arm, agent) in enumerate(runs)
        ]
        outcomes = []
        for run in as_completed(started):
            try:
                outcomes.append(run.result())
            except (RuntimeError, TimeoutError, OSError, subprocess.SubprocessError, ValueError) as error:
                print(f"left out: {error}", file=sys.stderr)
            (out / "outcomes.json").write_text(json.dumps([outcome._asdict() for outcome in outcomes], indent=1))
    summary = [_summary(arm, outcomes) for arm in arms if any(outcome.arm == arm for outcome in outcomes)]
    if arguments.json:
        print(json.dumps(summary))
    else:
        for line in summary:
            print("  ".join(f"{name} {value}" for name, value in line.items()))
    return 0


def _summary(arm: str, outcomes: list[Outcome]) -> dict[str, Any]:
    own = [outcome for outcome in outcomes if outcome.arm == arm]
    done_without = {outcome.task for outcome in outcomes if outcome.arm == "none" and outcome.done}
    return {
        "arm": arm,
        "tasks": len(own),
        "repeated": sum(outcome.repeated for outcome in own),
        "done": sum(outcome.done for outcome in own),
        "worse": sum(outcome.task in done_without and not outcome.done for outcome in own),
        "tokens": round(statistics.median(outcome.tokens for outcome in own)),
        "own_seconds": round(statistics.median(outcome.own_seconds for outcome in own), 1),
    }


class _Run:
    """One task in one arm, in a home of its own."""

    def __init__(self, task: dict[str, Any], arm: str, home: Path, agent: str, memory: str) -> None:
        self._task = task
        self._arm = arm
        self._home = home
        self._project = home / "work" / "harbour"
        self._agent = agent
        self._memory = memory

    def outcome(self) -> Outcome:
        self._make_home()
        daemon = self._start_memoryd() if self._arm in {"offline", "model"} else None
        try:
            self._first_session()
            if daemon is not None:
                self._wait_until_read()
            self._git("reset", "-q", "--hard", "start")
            self._git("clean", "-qfdx")
            self._git("checkout", "-q", "-B", "main", "start")
            (self._home / "commands.txt").write_text("")
            told = self._ask(self._agent, self._task["second"])
        finally:
            if daemon is not None:
                daemon.terminate()
                daemon.wait(60)
        used = told.get("usage", {})
        tokens = sum(value for name, value in used.items() if name.endswith("_tokens") and isinstance(value, int))
        answer = str(told.get("result", ""))
        return Outcome(
            self._task["id"],
            self._arm,
            self._home.name,
            any(self._holds(check, answer) for check in self._task["repeats"]),
            all(self._holds(check, answer) for check in self._task["done"]),
            tokens,
            (told.get("duration_ms", 0) - told.get("duration_api_ms", 0)) / 1000,
            answer,
        )

    # --- what happens -------------------------------------------------------------------------------------------------

    def _make_home(self) -> None:
        self._project.mkdir(parents=True)
        programs = self._home / "bin"
        programs.mkdir()
        for name, line in self._task["programs"].items():
            program = programs / name
            program.write_text(f'#!/bin/sh\necho "{name} $*" >> "$HOME/commands.txt"\n{line}\n')
            program.chmod(0o755)
        for name, content in self._task["files"].items():
            file = self._project / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        self._git("init", "-q", "-b", "main")
        self._git("config", "user.name", "Developer")
        self._git("config", "user.email", "developer@example.com")
        self._git("add", "-A")
        self._git("commit", "-qm", "Begin")
        self._git("tag", "start")

    def _first_session(self) -> None:
        """The agent's part is scripted. Only the client's own memory depends on what the agent does with a correction."""
        first = self._task["first"]
        replies = iter([*map(self._reply, first["agent"])])
        with Model(lambda _: next(replies, Reply(text("Done.")))) as script:
            session = self._ask(script.url, first["prompt"])["session_id"]
        if self._arm == "client":
            self._ask(self._agent, first["correction"], "--resume", session)
            return
        with Model(lambda _: Reply(text("Understood."))) as script:
            self._ask(script.url, first["correction"], "--resume", session)

    def _reply(self, said: dict[str, Any]) -> Reply:
        given = json.loads(json.dumps(said).replace("{project}", str(self._project)))
        calls = [call(tool["name"], tool["input"]) for tool in given.get("tools", ())]
        return Reply(*calls) if calls else Reply(text(given["text"]))

    def _ask(self, model: str, prompt: str, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [binary(), "-p", prompt, "--output-format", "json", "--allowedTools", _TOOLS, *arguments],
            env=self._environment(model),
            cwd=self._project,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise RuntimeError(
                f"{self._home.name}: claude ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"
            )
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def _environment(self, model: str) -> dict[str, str]:
        """Nothing of ours is inherited. Whatever asks for another host than the model's meets a proxy that is not there."""
        environment = {
            "HOME": str(self._home),
            "PATH": f"{self._home}/bin:/usr/local/bin:/usr/bin:/bin",
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "test-key",
            "API_TIMEOUT_MS": str(_LONGEST_SECONDS * 1000),
            "HTTP_PROXY": NOBODY,
            "HTTPS_PROXY": NOBODY,
            "NO_PROXY": "127.0.0.1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        return environment if self._arm == "client" else environment | {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}

    # --- memoryd ------------------------------------------------------------------------------------------------------

    def _start_memoryd(self) -> subprocess.Popen[bytes]:
        (self._home / ".claude").mkdir(exist_ok=True)  # by this, setup knows that there is such a client
        self._memoryd("setup", "--yes", "--no-service", "--no-history")
        config = self._home / ".config" / "memoryd" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        model = (
            f'engine = "anthropic"\n{_QUICK}[anthropic]\nbase_url = "{self._memory}"\nlongest_run_seconds = 3000\n'
            'extraction_model = "author"\nreview_model = "reviewer"\n'
        )
        config.write_text(model if self._arm == "model" else _QUICK)
        log = (self._home / "daemon.txt").open("wb")
        command = [sys.executable, "-P", "-m", "memoryd", "run"]
        return subprocess.Popen(command, cwd=self._home, env=self._memoryd_environment(), stdout=log, stderr=log)

    def _memoryd(self, *arguments: str) -> str:
        command = [sys.executable, "-P", "-m", "memoryd", *arguments]
        environment = self._memoryd_environment()
        return subprocess.run(
            command, cwd=self._project, env=environment, capture_output=True, text=True, check=False
        ).stdout

    def _memoryd_environment(self) -> dict[str, str]:
        return {"HOME": str(self._home), "PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "test-key"}

    def _wait_until_read(self) -> None:
        deadline = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < deadline:
            status = json.loads(self._memoryd("status", "--json"))
            turns = status["turns"]
            if sum(turns["outcomes"].values()) >= 2 and not turns["waiting"] and not turns["open"]:  # noqa: PLR2004 - prompts
                return
            time.sleep(1)
        raise TimeoutError(f"{self._home.name}: what was said is not read; see {self._home}/daemon.txt")

    # --- what came of it ----------------------------------------------------------------------------------------------

    def _holds(self, check: dict[str, Any], answer: str) -> bool:
        found = any(re.search(check["match"], piece, re.MULTILINE) for piece in self._pieces(check["in"], answer))
        return found is not check.get("absent", False)

    def _pieces(self, place: str, answer: str) -> Iterator[str]:
        match place:
            case "answer":
                yield answer
            case "commands":
                yield (self._home / "commands.txt").read_text("utf-8")
            case "commits":
                for branch in self._git("branch", "--format=%(refname:short)").split():
                    subjects = self._git("log", "--format=%s", f"start..{branch}").splitlines()
                    yield from (f"{branch}: {subject}" for subject in subjects)
            case "created":
                yield from self._git("ls-files", "--others").splitlines()
                yield from self._git("diff", "--name-only", "--diff-filter=A", "start").splitlines()
            case "*":
                names = self._git("ls-files", "--cached", "--others").splitlines()
                yield from (self._text(name) for name in names)
            case name:
                yield self._text(name)

    def _text(self, name: str) -> str:
        file = self._project / name
        return file.read_text("utf-8", "replace") if file.is_file() else ""

    def _git(self, *arguments: str) -> str:
        environment = {"HOME": str(self._home), "PATH": os.environ["PATH"]}
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=self._project, env=environment, capture_output=True, text=True, check=True
        ).stdout


if __name__ == "__main__":
    sys.exit(main())
