"""What rules cost before a tool call: whole processes beside `python -c pass`, and a session of 300 calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

from bench import table
from bench.measure import seconds
from bench.recall import fill
from bench.world import environment_of, paths_of
from memoryd.recall.outcomes import outcomes

MEMORIES = 500
ROUNDS = 15
CALLS = 300
MOST_TIMES = 6
"""The hook should take no more than so many times `python -c pass`."""
_SET = Path(__file__).parent.parent / "evaluation" / "rule_calls.json"


def run(directory: str) -> None:
    home = os.path.join(directory, "rules")
    project = fill(home, MEMORIES)
    labelled = json.loads(_SET.read_text(encoding="utf-8"))
    (memory_dir,) = Path(paths_of(home).transcripts_root).glob("*/memory")
    for number, rule in enumerate(labelled["rules"]):  # 40 of the 500 are rules about calls
        text = f"---\nname: {rule['id']}\ndescription: {json.dumps(rule['description'])}\ntype: feedback\n---\n{rule['body']}\n"
        next(memory_dir.glob(f"*_{number:05}.md")).write_text(text, encoding="utf-8")
    calls = [(call["tool"], call["input"]) for call in labelled["calls"]]
    quiet, told = ("Bash", {"command": "ls -la"}), ("Bash", {"command": "npm install left-pad"})
    first = seconds(partial(_python, home, ("-P", "-m", "memoryd", "recall", "--json", "which packages do we use")))
    taken: dict[str, list[float]] = {"python -c pass": [], "a call without a rule": [], "a call with rules": []}
    for index in range(ROUNDS):
        taken["python -c pass"].append(seconds(partial(_python, home, ("-c", "pass"))))
        taken["a call without a rule"].append(seconds(partial(_hook, home, project, quiet, f"q{index}")))
        taken["a call with rules"].append(seconds(partial(_hook, home, project, told, f"t{index}")))
    bare = min(taken["python -c pass"])
    rows = [
        (name, table.milliseconds(min(them)), table.milliseconds(median(them)), table.times(min(them), bare))
        for name, them in taken.items()
    ]
    rows.append((f"the first time, {MEMORIES:,} to be read", table.milliseconds(first), "", ""))
    table.show(
        f"rules: the hook before a tool call, {MEMORIES:,} memories; the limit is {MOST_TIMES}x.",
        ("", "best", "median", "to pass"),
        rows,
    )
    _session(home, project, calls)


def _session(home: str, project: str, calls: list[tuple[str, dict[str, str]]]) -> None:
    before = sum(outcome.bytes for outcome in outcomes(paths_of(home)).values())
    shown_before = sum(outcome.shown for outcome in outcomes(paths_of(home)).values())
    all_of_it = [seconds(partial(_hook, home, project, calls[number % len(calls)], "long")) for number in range(CALLS)]
    after = outcomes(paths_of(home)).values()
    handed = sum(outcome.shown for outcome in after) - shown_before
    tokens = (sum(outcome.bytes for outcome in after) - before) // 4
    print(
        f"  a session of {CALLS} calls: {sum(all_of_it):.1f} s in all, {table.milliseconds(median(all_of_it))} a call;"
        f" {handed} memories handed over, about {tokens:,} tokens"
    )


def _hook(home: str, project: str, call: tuple[str, dict[str, str]], session: str) -> None:
    given = {"session_id": session, "cwd": project, "tool_name": call[0], "tool_input": call[1], "tool_use_id": "t"}
    _python(home, ("-P", "-m", "memoryd", "hook", "pre-tool-use"), json.dumps(given).encode())


def _python(home: str, arguments: tuple[str, ...], given: bytes = b"") -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment_of(home),
        cwd=os.path.join(home, "project"),
        input=given,
        capture_output=True,
        check=True,
        start_new_session=True,  # Ctrl-C is ours to handle
    )
    assert not done.stderr, done.stderr
