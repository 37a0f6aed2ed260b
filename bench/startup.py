"""How long a command takes before it has done anything, and what a hook costs as a whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from bench import table
from bench.measure import processor_seconds_of_run, seconds
from bench.recall import PROMPTS, fill
from bench.world import environment_of, paths_of
from memoryd.config import Config
from memoryd.projects import project_at
from memoryd.state.database import open_database
from memoryd.state.projects import update_projects

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 20
HEAVY = ("anthropic", "watchdog", "apscheduler", "yaml", "structlog", "msgspec")
MEMORYD = (sys.executable, "-P", "-m", "memoryd")
STATUS = ("-m", "memoryd", "status")
MCP = ("-m", "memoryd", "mcp")
INITIALIZE = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n'
COMMANDS: dict[str, Sequence[str]] = {
    "python -c pass": ("-c", "pass"),
    "python -c 'import sqlite3, argparse, json'": ("-c", "import sqlite3, argparse, json"),
    "memoryd: python -m memoryd status": STATUS,
    "memoryd: python -m memoryd mcp, initialized": MCP,
}


MEMORIES = (10, 500)
HOOKS: dict[str, tuple[str, dict[str, object]]] = {
    "a prompt": ("user-prompt-submit", {}),
    "a tool call": (
        "pre-tool-use",
        {"tool_name": "Bash", "tool_input": {"command": "npm install"}, "tool_use_id": "t"},
    ),
    "a session's start": ("session-start", {"source": "startup"}),
    "the same, resumed": ("session-start", {"source": "resume"}),
    "the same, compacted": ("session-start", {"source": "compact"}),
    "before a compaction": ("pre-compact", {}),
    "a turn's end": ("stop", {}),
    "a session's end": ("session-end", {}),
}


def run(directory: str) -> None:
    _commands(directory)
    for number in MEMORIES:
        _hooks(os.path.join(directory, f"hooks-{number}"), number)


def _hooks(home: str, number: int) -> None:
    """Processor time, of which a busy machine changes less than of the clock on the wall."""
    project, environment = fill(home, number), environment_of(home)
    paths = paths_of(home)
    with closing(open_database(paths)) as database:
        update_projects(database, [project_at(os.path.realpath(project), paths, Config())], time.time())
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write('engine = "offline"\n')
    processor_seconds_of_run([*MEMORYD, "recall", PROMPTS[0]], environment, project, b"")  # reads all memories
    taken: dict[str, list[float]] = {"python -c pass": [], **{name: [] for name in HOOKS}}
    for index in range(ROUNDS):
        run_one = partial(processor_seconds_of_run, environment=environment, cwd=project)
        taken["python -c pass"].append(run_one([sys.executable, "-c", "pass"], given=b""))
        common = {
            "session_id": f"s{index}",
            "cwd": project,
            "transcript_path": "",
            "prompt": PROMPTS[index % len(PROMPTS)],
        }
        for name, (event, given) in HOOKS.items():
            taken[name].append(run_one([*MEMORYD, "hook", event], given=json.dumps({**common, **given}).encode()))
    bare = median(taken["python -c pass"])
    table.show(
        f"hooks: processor time of the whole process, {number} memories.",
        ("", "best", "median", "median to pass"),
        [
            (name, table.milliseconds(min(them)), table.milliseconds(median(them)), table.times(median(them), bare))
            for name, them in taken.items()
        ],
    )


def _commands(directory: str) -> None:
    home = os.path.join(directory, "startup")
    os.makedirs(home)
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            taken[name].append(seconds(partial(_python, home, arguments)))
    bare, library, *_ = map(min, taken.values())
    table.show(
        "startup: a whole process from start to exit, in an empty home.",
        ("", "best", "median", "best to pass", "best to imports"),
        [
            (
                name,
                table.milliseconds(min(them)),
                table.milliseconds(median(them)),
                table.times(min(them), bare),
                table.times(min(them), library),
            )
            for name, them in taken.items()
        ],
    )
    for command in (STATUS, MCP):
        said = _python(home, ("-X", "importtime", *command)).stderr
        imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in said.splitlines() if "|" in line}
        heavy = [name for name in HEAVY if name in imported]
        print(f"  of {', '.join(HEAVY)} {command[-1]} imports: {', '.join(heavy) or 'none'} (expected: none)")


def _python(home: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the interpreter of this benchmark; `status` exits with 3 where no daemon runs, which is none of our concern.

    What only the server reads is on its standard input, which then ends.
    """
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment_of(home),
        cwd=home,
        input=INITIALIZE,
        capture_output=True,
        start_new_session=True,  # Ctrl-C is ours to handle
        check=False,
        text=True,
    )
