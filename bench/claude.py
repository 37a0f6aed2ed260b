"""An extraction by the user's own `claude` beside one over the Messages API, on the same sessions and with the same answers.

The client that `make client` fetches is measured where it is there, else the small one of the tests, which says so. The model
is a server on the loopback that answers at once: what is measured is what each transport costs beside it.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Self

from bench import table
from bench.world import environment_of, paths_of
from memoryd.clients.registry import ALL
from memoryd.clock import SystemClock
from memoryd.config import Budget, Turns
from memoryd.engines.model.engine import ModelEngine
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.ingest import Ingester
from memoryd.state import model_calls
from memoryd.state.database import open_database
from tests.acceptance.client import binary
from tests.claude_server import ClaudeServer, config_with_claude, install_command
from tests.jobs.model_workspace import VARIABLE, config_with_model
from tests.keeping_model import keeping_model
from tests.messages_server import MessagesServer
from tests.transcript import Session

EXTRACTIONS = 6
_LOOK_SECONDS = 0.1
"""Each process lives for longer than this, and to look costs something too."""


class Cost(NamedTuple):
    """Of all extractions together."""

    wall: float
    cpu: float
    processes: int
    requests: int
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int


class ProcessCount:
    """Counts the processes that come and go below this one; one that lives for less than a look is missed."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(_LOOK_SECONDS):
            parents = {}
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    try:
                        parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    except OSError:
                        continue
            below = {os.getpid()}
            while found := {pid for pid, parent in parents.items() if parent in below} - below:
                below |= found
            self.seen |= below - {os.getpid()}


def run(directory: str) -> None:
    rows = [_row("anthropic", _measure(os.path.join(directory, "messages"), None))]
    try:
        name, command = "claude", binary()
    except AssertionError:
        name, command = "a small claude (make client fetches the real one)", install_command(Path(directory, "bin"))
    rows.append(_row(name, _measure(os.path.join(directory, "claude"), command)))
    table.show(
        f"One extraction with its review, by engine (mean of {EXTRACTIONS}, the first not counted; the model answers at once)",
        ("engine", "wall s", "CPU s", "processes", "requests", "prompt tokens", "of them cached", "output tokens"),
        rows,
    )


def _row(name: str, cost: Cost) -> tuple[str, ...]:
    each = [value / EXTRACTIONS for value in cost]
    return (name, f"{each[0]:.2f}", f"{each[1]:.2f}", f"{each[2]:.1f}", *(f"{value:,.0f}" for value in each[3:]))


def _measure(home: str, command: Path | None) -> Cost:
    paths = paths_of(home)
    folder = Path(paths.transcripts_root, "-code-acme")
    folder.mkdir(parents=True)
    clock = SystemClock()
    server = MessagesServer(keeping_model) if command is None else ClaudeServer(keeping_model)
    with closing(open_database(paths)) as database, server:
        config = config_with_model(server) if command is None else config_with_claude(command, server)
        config = config._replace(turns=Turns(quiet_seconds=0.0), budget=Budget(usd_per_day=100.0))
        ingester = Ingester(ALL, database, paths, config)
        ingester.ingest(clock.now())
        engine = ModelEngine(database, paths, config, environment_of(home) | {VARIABLE: "test-key"}, clock)

        def extract(number: int) -> None:
            session = Session(("claude", number))
            words = f"ok, the tests pass. keep nonce-{number:08x} in mind. " + "Then go on with the next step. " * 20
            (folder / f"{session.id}.jsonl").write_bytes(session.turn(words))
            ingester.ingest(clock.now())
            sessions = due(database, paths, config, clock.now(), at_once=True)
            (done,) = extract_due(database, paths, sessions, clock.now(), clock=clock, engine=engine)
            assert done.outcome.outcome == "succeeded", done.outcome

        extract(0)  # loads the SDK, asks the command for its version
        before = model_calls.usage(database)[0].spent
        began, used = time.perf_counter(), _cpu()
        with ProcessCount() as processes:
            for number in range(1, EXTRACTIONS + 1):
                extract(number)
        wall, cpu = time.perf_counter() - began, _cpu() - used
        engine.close()
        assert not server.violations, server.violations
        after = model_calls.usage(database)[0].spent
    prompt = sum(after[1:4]) - sum(before[1:4])
    return Cost(
        wall,
        cpu,
        len(processes.seen),
        after.calls - before.calls,
        int(prompt),
        after.cache_read_tokens - before.cache_read_tokens,
        after.output_tokens - before.output_tokens,
    )


def _cpu() -> float:
    """Of this process and of those that it has waited for; the server of the model is in it on both sides."""
    return sum(
        found.ru_utime + found.ru_stime
        for found in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )
