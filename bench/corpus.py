"""Transcripts to measure with: real ones where they lie beside the project, and made-up ones everywhere."""

from __future__ import annotations

import glob
import os
import random
from functools import cache
from itertools import repeat

from memoryd.clients.registry import ALL
from tests.transcript import Session, line

_SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared")
_REAL = (
    "transcripts/obra+episodic-memory",
    "transcripts/d-kimuson+claude-code-viewer",
    "transcripts/DRMacIver+claude-reliability",
    "real-client/transcripts",
)
_VOCABULARY = """the parser keeps a cursor behind each newline and forgets nothing that was said before lunch while seven
small tests wait for a slow disk to answer; naïve café Übung 你好 → \\d+ {"key": [1, 2]} /usr/lib/python \t\"quoted\""""

TURNS = 250
"""Turns in the made-up block."""


@cache
def real() -> bytes:
    """Every line of the real sessions, or nothing where there are none."""
    return b"".join(map(_lines_of, real_paths()))


def real_paths() -> list[str]:
    paths = [path for name in _REAL for path in glob.glob(os.path.join(_SHARED, name, "**", "*.jsonl"), recursive=True)]
    return sorted(path for path in paths if ALL[0].is_session(os.path.basename(path)))


@cache
def made_up() -> bytes:
    """A working day of TURNS turns: prompts, replies, tool calls with results from small to large, and bulk."""
    dice = random.Random(20261018)
    session = Session("bench", cwd="/nowhere/acme")
    lines = []
    for turn in range(TURNS):
        lines.append(session.prompt(text(dice, 10, 200)))
        lines.append(session.bulk(dice.randrange(200, 30_000)))
        for step in range(dice.randrange(6)):
            call = f"toolu_{turn}_{step}"
            lines += [session.reply(text(dice, 5, 80), stop_reason=None), session.call(call)]
            lines.append(session.result(call, text(dice, 5, dice.choice((50, 500, 5000)))))
        lines.append(session.reply(text(dice, 20, 400)))
        lines.append(line({"type": "file-history-snapshot", "snapshot": {"files": [text(dice, 1, 300)]}}))
    return b"".join(lines)


def some() -> bytes:
    """The real lines if there are any."""
    return real() or made_up()


def write_repeated(path: str, block: bytes, size: int) -> int:
    """Write `block` again and again, up to about `size` bytes, and return how often."""
    count = max(1, size // len(block))
    with open(path, "ab") as file:
        file.writelines(repeat(block, count))
    return count


def write_long_line(path: str, session: Session, size: int) -> None:
    """Write a prompt of this many bytes, without having it in memory."""
    before, after = session.prompt("%").split(b"%")
    with open(path, "ab") as file:
        file.write(before)
        file.writelines(repeat(b"x" * 1_000_000, size // 1_000_000))
        file.write(after)


def text(dice: random.Random, least: int, most: int) -> str:
    return " ".join(dice.choices(_VOCABULARY.split(" "), k=dice.randint(least, most)))


def _lines_of(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read()
    return data if data.endswith(b"\n") else data + b"\n"
