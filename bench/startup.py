"""How long a command takes before it has done anything."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from bench import table
from bench.measure import seconds
from bench.world import environment_of

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 20
HEAVY = ("anthropic", "watchdog", "apscheduler", "yaml", "structlog", "msgspec")
STATUS = ("-m", "memoryd", "status")
MCP = ("-m", "memoryd", "mcp")
INITIALIZE = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}\n{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n'
COMMANDS: dict[str, Sequence[str]] = {
    "python -c pass": ("-c", "pass"),
    "python -c 'import sqlite3, argparse, json'": ("-c", "import sqlite3, argparse, json"),
    "memoryd: python -m memoryd status": STATUS,
    "memoryd: python -m memoryd mcp, initialized": MCP,
}


def run(directory: str) -> None:
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
