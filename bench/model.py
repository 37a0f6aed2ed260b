"""What a model is sent and what that costs, against a server on the loopback that bills like the API's prefix cache.

Tokens are bytes by four on both sides. Uncached is everything that was not read from the cache, writing to it included.
"""

from __future__ import annotations

import glob
import os
import random
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from bench import corpus, table
from bench.world import environment_of, paths_of
from memoryd.clients.registry import ALL
from memoryd.clock import SystemClock
from memoryd.config import Anthropic, Budget, Config, Turns
from memoryd.engines.model.engine import ModelEngine
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.ingest import Ingester
from memoryd.state import model_calls
from memoryd.state.database import open_database
from tests.keeping_model import keeping_model
from tests.messages_server import MessagesServer
from tests.transcript import Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.messages_server import Request

SESSIONS = 8
SESSION_BYTES = 200_000
LEAST_BYTES = 100_000
_BYTES_PER_TOKEN = 4
_LIMIT = 0.05
"""Of a transcript, for what reads it. A review is asked about changes, however long the transcript is: it has its own."""
_REVIEW_LIMIT_TOKENS = 1_300
"""Of one review, its brief not counted: a few changes, each with the words around it."""


class Sent(NamedTuple):
    """What one series of extractions came to."""

    transcripts: int
    bytes: int
    runs: int
    requests: list[Request]
    usd: float


def run(directory: str) -> None:
    rows = []
    series = {
        "made up, each turn as it ends": _turn_by_turn(os.path.join(directory, "live")),
        "made up, all turns at once": _at_once(os.path.join(directory, "past"), _made_up()),
    }
    if real := _real():
        series["real, all turns at once"] = _at_once(os.path.join(directory, "real"), real)
    for name, sent in series.items():
        transcript = sent.bytes // _BYTES_PER_TOKEN
        reviews = [request for request in sent.requests if "tools" not in request.body]
        reading = [request for request in sent.requests if "tools" in request.body]
        rows.append(
            (
                f"{name} ({sent.transcripts} of {sent.bytes // sent.transcripts // 1000:,} kB)",
                f"{sent.runs}",
                f"{len(sent.requests) / sent.runs:.1f}",
                f"{transcript:,}",
                f"{sum(request.usage['cache_read_input_tokens'] for request in sent.requests):,}",
                f"{_uncached(sent.requests) // sent.runs:,}",
                f"{_uncached(reading) / transcript:.1%}",
                f"{sum(request.usage['input_tokens'] for request in reviews) // max(1, len(reviews)):,}",
                f"{_prefix_share(reading):.0%}",
                f"{_prefix_share(reviews):.0%}" if reviews else "",
                f"{sent.usd:.4f}",
            )
        )
    table.show(
        f"A model reads transcripts of {LEAST_BYTES // 1000} kB or more (tokens = bytes / {_BYTES_PER_TOKEN}; limits: reading sends"
        f" {_LIMIT:.0%} of the transcript uncached, a review {_REVIEW_LIMIT_TOKENS:,} tokens behind its brief; prefix: what"
        " begins every request of a kind, read from the cache from the second run on)",
        (
            "transcripts",
            "runs",
            "requests a run",
            "their tokens",
            "read from cache",
            "uncached a run",
            "reading",
            "a review",
            "prefix",
            "of reviews",
            "USD",
        ),
        rows,
    )


def _uncached(requests: list[Request]) -> int:
    return sum(request.usage["input_tokens"] + request.usage["cache_creation_input_tokens"] for request in requests)


def _turn_by_turn(home: str) -> Sent:
    """As the daemon does it: each turn is worked on when it has ended."""
    turns = [(session, turn) for session, all_turns in _made_up() for turn in all_turns]
    return _extract(home, [[said] for said in turns])


def _at_once(home: str, sessions: Iterable[tuple[str, list[bytes]]]) -> Sent:
    """As `backfill` does it: one session after the other, whole."""
    return _extract(home, [[(session, turn) for turn in turns] for session, turns in sessions])


def _extract(home: str, batches: list[list[tuple[str, bytes]]]) -> Sent:
    """Append each batch to its transcript, then let the model work on what waits."""
    paths = paths_of(home)
    project = os.path.join(home, "acme")
    folder = os.path.join(paths.transcripts_root, "-acme")
    os.makedirs(folder)
    os.makedirs(project)
    with open(os.path.join(project, "CLAUDE.md"), "w", encoding="utf-8") as file:
        file.write("# Acme\n\n" + "- Run the linters before you commit, and keep the lines short.\n" * 30)
    clock = SystemClock()
    runs = 0
    with closing(open_database(paths)) as database, MessagesServer(keeping_model) as server:
        config = Config()._replace(
            turns=Turns(quiet_seconds=0.0),
            anthropic=Anthropic(api_key_variable="KEY", base_url=server.url),
            budget=Budget(usd_per_day=100.0),
        )
        ingester = Ingester(ALL, database, paths, config)
        ingester.ingest(clock.now())
        engine = ModelEngine(database, paths, config, environment_of(home) | {"KEY": "test-key"}, clock)
        for batch in batches:
            for session, data in batch:
                with open(os.path.join(folder, f"{session}.jsonl"), "ab") as transcript:
                    transcript.write(data.replace(b"/code/acme", project.encode()))
            while ingester.ingest(clock.now()).backlog:
                pass
            sessions = due(database, paths, config, clock.now(), at_once=True)
            runs += len(list(extract_due(database, paths, sessions, clock.now(), clock=clock, engine=engine)))
        engine.close()
        assert not server.violations, server.violations
        usd = model_calls.spent_between(database, 0.0, float("inf"))
        sizes = [os.path.getsize(path) for path in glob.glob(os.path.join(folder, "*.jsonl"))]
        found = Sent(len(sizes), sum(sizes), runs, list(server.answered), usd)
    shutil.rmtree(home)
    return found


def _prefix_share(requests: list[Request]) -> float:
    """How much of tools and brief the first requests of runs read from the cache; the very first could not."""
    first = [request for request in requests if len(request.body["messages"]) == 1]
    prefix = first[0].usage["cache_creation"]["ephemeral_1h_input_tokens"]
    read = [min(request.usage["cache_read_input_tokens"], prefix) / prefix for request in first[1:]]
    return sum(read) / len(read) if read else 0.0


def _made_up() -> list[tuple[str, list[bytes]]]:
    """Sessions of somebody who lets the agent read and run a lot, and says something worth keeping in every fifth turn."""
    dice = random.Random(20261117)
    found = []
    for number in range(SESSIONS):
        session = Session(("model", number))
        turns: list[bytes] = []
        while sum(map(len, turns)) < SESSION_BYTES:
            keeps = f" keep nonce-{number:04x}{len(turns):04x} in mind." if len(turns) % 5 == 2 else ""
            turn = session.prompt(corpus.text(dice, 10, 80) + "." + keeps)
            for step in range(dice.randrange(2, 10)):
                call = f"toolu_{len(turns)}_{step}"
                turn += session.reply(corpus.text(dice, 5, 60), stop_reason=None) + session.call(call)
                turn += session.result(call, corpus.text(dice, 50, dice.choice((200, 1500))))
            turns.append(turn + session.reply(corpus.text(dice, 40, 300)))
        found.append((session.id, turns))
    return found


def _real() -> list[tuple[str, list[bytes]]]:
    """Real sessions that are long enough, where they lie beside the project; each as one piece."""
    found = []
    for path in corpus.real_paths():
        if os.path.getsize(path) >= LEAST_BYTES:
            with open(path, "rb") as file:
                found.append((os.path.basename(path).removesuffix(".jsonl"), [file.read()]))
    return found
