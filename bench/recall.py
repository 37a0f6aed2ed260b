"""What recall costs whoever waits for it: whole processes, ranking beside two others, and hundreds of hooks at once."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from bench import table
from bench.measure import best, seconds
from bench.world import environment_of, paths_of
from memoryd.clients.claude_code.folders import slug_of
from memoryd.memory.quick_parse import quick_parse
from memoryd.recall.index import up_to_date_index
from memoryd.recall.rank import candidates, query_of
from memoryd.recall.store import open_store
from memoryd.recall.terms import terms_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.recall.store import Directory, Store

NUMBERS = (200, 10_000)
ROUNDS = 15
HOOKS = 500
"""At once."""
MOST_TIMES = 5
"""A hook should take no more than so many times `python -c pass`."""
MOST_WAIT_SECONDS = 0.05
PROMPTS = (
    "why does the deploy of the staging database fail since Tuesday, should I open a ticket for it",
    "add a test for the parser, the fixtures are slow",
    "write the release notes for the mobile app in the tone that marketing likes",
    "rename this variable",
)
_SETS = os.path.join(os.path.dirname(__file__), "..", "training", "recall")


def run(directory: str) -> None:
    _processes(directory)
    _ranking(directory)
    _crowd(directory)


def fill(home: str, number: int) -> str:
    """A project with so many memories, made of the labelled ones and of words of others; returns its root."""
    project = os.path.join(home, "project")
    os.makedirs(os.path.join(project, ".git"))
    memory_dir = os.path.join(paths_of(home).transcripts_root, slug_of(os.path.realpath(project)), "memory")
    os.makedirs(memory_dir)
    known: list[dict[str, Any]] = []
    for name in sorted(os.listdir(_SETS)):
        with open(os.path.join(_SETS, name), encoding="utf-8") as file:
            known += json.load(file)["memories"]
    words = [word for memory in known for word in memory["body"].split()]
    words += [f"{part}{count}" for part in ("svc", "app", "lib", "core", "edge", "auth") for count in range(500)]
    chance = random.Random(7)
    for index in range(number):
        memory, other = chance.choice(known), chance.choice(known)
        body = f"{memory['body']} {' '.join(chance.choices(words, k=25))}"
        head = (
            f"name: {memory['name']}-{index}\ndescription: {json.dumps(other['description'])}\ntype: {memory['type']}"
        )
        with open(os.path.join(memory_dir, f"{memory['type']}_{index:05}.md"), "w", encoding="utf-8") as file:
            file.write(f"---\n{head}\n---\n{body}\n")
    with open(os.path.join(memory_dir, "MEMORY.md"), "w", encoding="utf-8") as file:
        file.write("# Memories\n")
    return project


def _process(home: str, arguments: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
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
    return done


def _call(home: str, prompt: str, session: str) -> bytes:
    project = os.path.join(home, "project")
    return json.dumps({"session_id": session, "cwd": project, "prompt": prompt, "transcript_path": ""}).encode()


def _processes(directory: str) -> None:
    rows = []
    for number in NUMBERS:
        home = os.path.join(directory, f"processes-{number}")
        fill(home, number)
        limit = seconds(partial(_read_into_fts5, home))
        first = seconds(partial(_process, home, ("-m", "memoryd", "recall", "--json", PROMPTS[0])))
        taken: dict[str, list[float]] = {"python -c pass": [], "memoryd hook": [], "memoryd recall": []}
        for index in range(ROUNDS):
            prompt = PROMPTS[index % len(PROMPTS)]
            call = _call(home, prompt, f"s{index}")
            for name, arguments, given in (
                ("python -c pass", ("-c", "pass"), b""),
                ("memoryd hook", ("-m", "memoryd", "hook", "user-prompt-submit"), call),
                ("memoryd recall", ("-m", "memoryd", "recall", "--json", prompt), b""),
            ):
                taken[name].append(seconds(partial(_process, home, arguments, given)))
        bare = min(taken["python -c pass"])
        rows += [
            (
                f"{name}{f', {number:,} memories' if name != 'python -c pass' else ''}",
                table.milliseconds(min(them)),
                table.milliseconds(median(them)),
                table.times(min(them), bare),
            )
            for name, them in taken.items()
        ]
        told = f"memoryd recall for the first time, {number:,} to be read: {first / limit:.1f}x of FTS5"
        rows += [
            (f"SQLite FTS5 reads and indexes {number:,}", table.milliseconds(limit), "", table.times(limit, bare)),
            (told, table.milliseconds(first), "", table.times(first, bare)),
        ]
    table.show(
        f"recall: whole processes from start to exit; the limit of a hook is {MOST_TIMES}x.",
        ("", "best", "median", "to pass"),
        rows,
    )


def _read_into_fts5(home: str) -> None:
    """What reading all memories and indexing their words takes at least, in a file of its own."""
    folder = os.path.join(paths_of(home).transcripts_root, slug_of(os.path.realpath(os.path.join(home, "project"))))
    with closing(sqlite3.connect(os.path.join(home, "fts5.sqlite3"))) as connection, connection:
        connection.execute("CREATE VIRTUAL TABLE memory USING fts5(text, tokenize = 'porter unicode61')")
        texts = _texts(os.path.join(folder, "memory"))
        connection.executemany("INSERT INTO memory VALUES (?)", ((text,) for text in texts))


def _ranking(directory: str) -> None:
    rows = []
    for number in NUMBERS:
        home = os.path.join(directory, f"ranking-{number}")
        project = fill(home, number)
        paths = paths_of(home)
        memory_dir = os.path.join(paths.transcripts_root, slug_of(os.path.realpath(project)), "memory")
        with closing(open_store(paths)) as store:
            place = up_to_date_index(store, memory_dir, time.time())
            assert place is not None
            texts = _texts(memory_dir)
            contestants: dict[str, Callable[[], object]] = {
                "SQLite FTS5, bm25": _fts5(texts),
                "memoryd: candidates": partial(_candidates, store, place),
            }
            if (other := _bm25s(texts)) is not None:
                contestants["bm25s"] = other
            taken = best(ROUNDS, contestants)
        fts = taken["SQLite FTS5, bm25"]
        rows += [
            (f"{name}, {number:,} memories", table.milliseconds(value / len(PROMPTS)), table.times(value, fts))
            for name, value in taken.items()
        ]
    table.show(
        "ranking alone: one prompt, best of several rounds, processor time. FTS5 and bm25s rank whole words; memoryd ranks"
        " pieces of words and concepts too, and judges its twenty best.",
        ("", "a prompt", "to FTS5"),
        rows,
    )
    if "bm25s" not in " ".join(row[0] for row in rows):
        print("  bm25s is not here: pip install bm25s")


def _candidates(store: Store, place: Directory) -> None:
    for prompt in PROMPTS:
        candidates(store, place, query_of(prompt))


def _texts(memory_dir: str) -> list[str]:
    texts = []
    for name in sorted(os.listdir(memory_dir)):
        with open(os.path.join(memory_dir, name), "rb") as file:
            glance = quick_parse(file.read())
        texts.append(f"{glance.name} {glance.description} {glance.body}")
    return texts


def _fts5(texts: list[str]) -> Callable[[], object]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE memory USING fts5(text, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO memory VALUES (?)", ((text,) for text in texts))
    queries = [" OR ".join(f'"{word}"' for word in terms_of(prompt)) for prompt in PROMPTS]

    def search() -> None:
        for query in queries:
            connection.execute(
                "SELECT rowid FROM memory WHERE memory MATCH ? ORDER BY rank LIMIT 20", (query,)
            ).fetchall()

    return search


def _bm25s(texts: list[str]) -> Callable[[], object] | None:
    try:
        import bm25s  # noqa: PLC0415 - who has it sees it measured
    except ImportError:
        return None
    index = bm25s.BM25()
    index.index([list(terms_of(text)) for text in texts], show_progress=False)
    queries = [[list(terms_of(prompt))] for prompt in PROMPTS]

    def search() -> None:
        for query in queries:
            index.retrieve(query, k=20, show_progress=False)

    return search


def _crowd(directory: str) -> None:
    """Hooks all at once, while dreams and commits go on in the same project."""
    home = os.path.join(directory, "crowd")
    project = fill(home, NUMBERS[0])
    _process(home, ("-m", "memoryd", "recall", "--json", PROMPTS[0]))
    alone = min(_waits(home, 1))
    writer = subprocess.Popen(
        [
            "nice",
            "-n",
            "-15",
            sys.executable,
            "-m",
            "bench.writer",
            project,
        ],  # as root it gets its share among hundreds
        env={**environment_of(home), "PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert writer.stdout is not None
    writer.stdout.readline()  # it is at work
    try:
        began = time.monotonic()
        waits = _waits(home, HOOKS)
        taken = time.monotonic() - began
    finally:
        writer.terminate()
        written = (writer.communicate()[0] or b"").decode().strip().splitlines()
    log = paths_of(home).log_file
    errors = open(log, encoding="utf-8").read().count('"event": "hook"') if os.path.exists(log) else 0  # noqa: SIM115
    table.show(
        f"{HOOKS} hooks at once ({taken:.0f} s), while {len(written)} dreams and commits were made in their project:"
        f" how long each waited for the database; the limit is {MOST_WAIT_SECONDS * 1e3:.0f} ms.",
        ("", "figure"),
        [
            ("one alone", table.milliseconds(alone)),
            ("median", table.milliseconds(median(waits))),
            ("longest", table.milliseconds(max(waits))),
            ("answered", f"{len(waits)} of {HOOKS}"),
            ("failed, by the log", str(errors)),
        ],
    )


def _waits(home: str, number: int) -> list[float]:
    """What each of so many hooks waited for the locks of the database."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.waiting"],
            env={**environment_of(home), "PYTHONPATH": os.getcwd()},
            cwd=os.path.join(home, "project"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        for _ in range(number)
    ]
    for index, process in enumerate(processes):
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has died, which is counted below
            process.stdin.write(_call(home, PROMPTS[index % 3], f"crowd-{index}"))
            process.stdin.close()
    waits = []
    for process in processes:
        assert process.stderr is not None
        said = process.stderr.read()
        if process.wait() == 0 and said:
            waits.append(float(said))
        process.stderr.close()
    return waits
