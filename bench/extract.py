"""What extraction costs: from the transcript's bytes to memories, with the embedded engine, and how much memory it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from bench import corpus, table
from bench.measure import best
from bench.world import environment_of
from memoryd.clients.registry import ALL
from memoryd.engines.offline import find
from memoryd.model import Cursor, UserMessage
from memoryd.transcripts.read import TurnPlace, read_turns
from memoryd.transcripts.tail import read_new_turns
from training.labels import sessions_in

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
_SIZES = (10_000_000, 100_000_000)


def run(directory: str) -> None:
    _cpu_of_a_transcript(directory)
    _cpu_of_words()
    _memory(directory)


def _cpu_of_a_transcript(directory: str) -> None:
    path = os.path.join(directory, "session.jsonl")
    corpus.write_repeated(path, corpus.some(), 20_000_000)
    size = os.path.getsize(path)
    turns = read_new_turns(ALL[0], path, Cursor(), ()).turns
    places = [
        TurnPlace(turn.prompt_id, turn.start, turn.end, turns[number - 1].start if number else None)
        for number, turn in enumerate(turns)
    ]
    memory_dir = os.path.join(directory, "memory")

    def plain() -> None:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass

    def read() -> None:
        read_turns(ALL[0], path, places, memory_dir)

    def everything() -> None:
        find([heard.said for heard in read_turns(ALL[0], path, places, memory_dir).values()])

    contestants: dict[str, Callable[[], object]] = {
        "reading the bytes": plain,
        "memoryd: following the transcript": lambda: read_new_turns(ALL[0], path, Cursor(), ()),
        "memoryd: the words of its turns": read,
        "memoryd: words, then the engine": everything,
    }
    taken = best(ROUNDS, contestants)
    follows = taken["memoryd: following the transcript"]
    table.show(
        f"extraction: {table.megabytes(size)} of transcripts with {len(turns):,} turns. Limit: following the same bytes.",
        ("", "CPU", "CPU per MB", "to following"),
        [
            (name, table.milliseconds(spent), table.milliseconds(spent / size * 1e6), table.times(spent, follows))
            for name, spent in taken.items()
        ],
    )


def _cpu_of_words() -> None:
    """The engine alone, on nothing but words of users."""
    sessions = sessions_in("heldout")
    said = [
        [
            UserMessage(session["id"], str(number), 1.7e9, turn["user"], session["turns"][number - 1]["assistant"])
            for number, turn in enumerate(session["turns"])
        ]
        for session in sessions
    ]
    size = sum(len(message.text.encode()) for messages in said for message in messages)
    number = sum(map(len, said))
    taken = best(3, {"splitting at spaces": lambda: [message.text.split() for them in said for message in them],
                     "memoryd: the engine": lambda: [find(messages) for messages in said]})  # fmt: skip
    table.show(
        f"the engine alone: {number} messages of users, {size / 1e3:.0f} kB.",
        ("", "CPU", "a message"),
        [(name, table.milliseconds(spent), table.milliseconds(spent / number)) for name, spent in taken.items()],
    )


_WORK = """
import sys
from memoryd.cli import main
sys.argv = ["memoryd", "backfill", "--yes"]
code = main()
from bench.measure import peak_resident_bytes
print(peak_resident_bytes())
sys.exit(code)
"""


def _memory(directory: str) -> None:
    """`backfill` over one session of growing size: its memory must not grow with it."""
    rows = []
    for size in _SIZES:
        home = os.path.join(directory, f"home-{size}")
        folder = os.path.join(home, ".claude", "projects", "-nowhere-acme")
        os.makedirs(folder)
        path = os.path.join(folder, "session.jsonl")
        corpus.write_repeated(path, corpus.made_up(), size)
        done = subprocess.run(
            [sys.executable, "-c", _WORK], env=environment_of(home), capture_output=True, text=True, check=True
        )
        rows.append((table.megabytes(os.path.getsize(path)), table.megabytes(int(done.stdout.split()[-1]))))
    table.show("memory of `backfill`, from start to end, by the size of the session.", ("session", "peak"), rows)
