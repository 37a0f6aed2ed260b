"""Sessions that are not appended lines: how fast they become turns, and what a client that writes notices of it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import table
from bench.measure import best
from bench.world import has_room
from memoryd.clients.aider import AiderClient
from memoryd.clients.goose import GooseClient
from memoryd.clients.opencode import OpencodeClient
from memoryd.model import Cursor
from memoryd.sources.database import ForeignDatabase
from memoryd.sources.scan import SessionPlace
from memoryd.transcripts.tail import read_new_turns
from tests.clients.databases import GooseDatabase, OpencodeDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.clients.base import CodingClient

SIZE = 1_000_000_000
PARSED_BYTES = 50_000_000
ROUNDS = 3
PHASE_SECONDS = 8.0
PHASES = 5
SESSIONS = 400
TURN_BYTES = 17_500
"""What a turn takes in the database."""
_OUTPUT = "def parse(line):\n    return line.split(',')  # what a tool has read of a file\n" * 60
_QUESTION = "Please look at the parser, and say why the third column is lost when a field holds a comma."
_ANSWER = "The third column is lost because the line is split before quotes are looked at. I have changed that. " * 4


def run(directory: str) -> None:
    home = Path(directory)
    _measure_reading(home)
    if has_room(directory, 2 * SIZE):
        _measure_writer(home)


# --- how fast ---------------------------------------------------------------------------------------------------------


def _measure_reading(home: Path) -> None:
    rows = []
    for client, path, raw in _sessions(home):
        size = sum(map(len, raw()))
        contestants: dict[str, Callable[[], object]] = {
            "memoryd": partial(read_new_turns, client, path, Cursor(), (), budget_bytes=1 << 60),
            "json": partial(_parse_json, raw) if client.name != "aider" else partial(_split, raw),
        }
        taken = best(ROUNDS, contestants)
        turns = len(read_new_turns(client, path, Cursor(), (), budget_bytes=1 << 60).turns)
        by_json = f"{size / taken['json'] / 1e6:,.0f}"
        ratio = table.times(taken["json"], taken["memoryd"])
        rows.append((client.name, f"{size / taken['memoryd'] / 1e6:,.0f}", by_json, ratio, f"{turns:,}"))
    table.show(
        f"databases: MB of a session ({PARSED_BYTES / 1e6:.0f} MB) per processor second, from the client's files to turns;"
        " beside json.loads of the same rows, or for aider, which writes Markdown, the same lines split in Python",
        ("", "MB/s", "json", "memoryd to it", "turns"),
        rows,
    )


def _sessions(home: Path) -> Iterator[tuple[CodingClient, str, Callable[[], list[bytes]]]]:
    opencode = OpencodeDatabase(home / "read")
    opencode.writer.execute("BEGIN")
    opencode.session()
    while opencode.count * 1500 < PARSED_BYTES:
        _opencode_turn(opencode, "ses_one")
    opencode.writer.execute("COMMIT")
    sql = "SELECT CAST(data AS BLOB) FROM message UNION ALL SELECT CAST(data AS BLOB) FROM part"
    yield OpencodeClient(), opencode.session_path("ses_one"), partial(_cells, opencode.path, sql)
    opencode.close()
    goose = GooseDatabase(home / "read")
    goose.writer.execute("BEGIN")
    goose.session()
    while goose.count * 1900 < PARSED_BYTES:
        goose.prompt(_QUESTION)
        goose.call("/code/acme/a.py")
        value = {"content": [{"type": "text", "text": _OUTPUT}], "isError": False}
        goose.row("user", [{"type": "toolResponse", "id": "c2", "toolResult": {"status": "success", "value": value}}])
        goose.reply(_ANSWER)
    goose.writer.execute("COMMIT")
    sql = "SELECT CAST(content_json AS BLOB) FROM messages"
    yield GooseClient(), goose.session_path("20261018_1"), partial(_cells, goose.path, sql)
    goose.close()
    history = home / "read" / ".aider.chat.history.md"
    turn = f"\n#### {_QUESTION}  \n\n{_ANSWER}\n\na.py\n```\n{_OUTPUT}```\n\n> Tokens: 2.4k sent, 40 received.  \n"
    chat = "\n# aider chat started at 2026-10-18 09:00:{:02}\n\n> Aider v0.86.2  \n" + turn * 20
    history.write_text("".join(map(chat.format, range(min(60, PARSED_BYTES // len(chat))))))
    yield AiderClient(), str(history), lambda: [history.read_bytes()]


def _opencode_turn(opencode: OpencodeDatabase, session_id: str) -> None:
    opencode.prompt(_QUESTION, session_id)
    reply = opencode.begin_reply(session_id)
    state = {"status": "completed", "input": {"filePath": "/code/acme/a.py"}, "output": _OUTPUT, "title": "a.py"}
    for number in range(3):
        opencode.part(reply, session_id, type="tool", tool="read", callID=f"c{number}", state=state)
    opencode.end_reply(reply, "tool-calls")
    opencode.reply(_ANSWER, session_id)


def _cells(path: Path, sql: str) -> list[bytes]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return [row[0] for row in connection.execute(sql)]
    finally:
        connection.close()


def _parse_json(raw: Callable[[], list[bytes]]) -> int:
    return sum(1 for data in raw() if json.loads(data))


def _split(raw: Callable[[], list[bytes]]) -> int:
    return sum(line.startswith(b"#### ") for data in raw() for line in data.splitlines())


# --- what the writer notices ------------------------------------------------------------------------------------------


def _measure_writer(home: Path) -> None:
    opencode = OpencodeDatabase(home)
    opencode.writer.execute("PRAGMA synchronous = OFF")
    for number in range(SESSIONS):
        opencode.writer.execute("BEGIN")
        session_id = opencode.session(f"ses_{number:04}")
        for _ in range(SIZE // SESSIONS // TURN_BYTES):
            _opencode_turn(opencode, session_id)
        opencode.writer.execute("COMMIT")
    opencode.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    opencode.close()
    size = os.path.getsize(opencode.path)
    waits: dict[bool, list[float]] = {False: [], True: []}
    held: list[float] = []
    read = 0
    for _ in range(PHASES):
        for with_reader in (False, True):
            reader = _start("reader", home) if with_reader else None
            waits[with_reader] += json.loads(_start("writer", home).communicate()[0])
            if reader is not None:
                told = json.loads(reader.communicate("stop\n")[0])
                held += told["held"]
                read += told["passes"]
    rows = []
    for with_reader, name in ((False, "alone"), (True, "while memoryd reads")):
        taken = sorted(waits[with_reader])
        at = [taken[int(len(taken) * share)] for share in (0.5, 0.99, 0.999)]
        rows.append((name, f"{len(taken):,}", *map(table.milliseconds, at)))
    p99 = [sorted(waits[is_read])[int(len(waits[is_read]) * 0.99)] for is_read in (True, False)]
    beside = sorted(name for name in os.listdir(opencode.path.parent) if name != opencode.path.name)
    table.show(
        f"databases: transactions of a writer into an opencode database of {size / 1e6:,.0f} MB, by the clock. memoryd reads"
        f" all of it from the first row, and then again; {PHASES} phases of {PHASE_SECONDS:.0f} s each, in turns",
        ("writer", "transactions", "median", "p99", "p99.9"),
        rows,
    )
    print(f"  p99 with memoryd to alone: {table.times(*p99)}; {read} passes over all sessions")
    held = sorted(held) or [0.0]
    most, longest = held[int(len(held) * 0.9999)], held[-1]
    print(
        f"  memoryd's read transactions: {len(held):,}, 9,999 of 10,000 within {most * 1e3:.1f} ms, the longest"
        f" {longest * 1e3:.1f} ms, {sum(one > 0.05 for one in held)} over 50 ms; beside the database: {', '.join(beside)}"
    )


def _start(role: str, home: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.database_worker", role, str(home), str(PHASE_SECONDS)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def write(home: str, seconds: float) -> list[float]:
    """Stream answers as opencode does: a part is inserted, and then updated as it grows; the seconds that each took."""
    opencode = OpencodeDatabase(Path(home))
    opencode.count = time.time_ns() // 1_000_000 % 1_000_000_000
    opencode.writer.execute("PRAGMA synchronous = NORMAL")
    taken: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        opencode.prompt(_QUESTION, "ses_0000")
        reply = opencode.begin_reply("ses_0000")
        part = opencode.part(reply, "ses_0000", type="text", text="")
        for end in range(0, len(_ANSWER), 20):
            data = json.dumps({"type": "text", "text": _ANSWER[:end]})
            began = time.perf_counter()
            opencode.writer.execute(
                "UPDATE part SET data = ?, time_updated = time_updated + 1 WHERE id = ?", (data, part)
            )
            taken.append(time.perf_counter() - began)
            time.sleep(0.002)
        opencode.end_reply(reply)
    opencode.close()
    return taken


def read(home: str, is_over: Callable[[], bool]) -> dict[str, Any]:
    """Read the database as the daemon does, from the first row, again and again; how long transactions were."""
    held: list[float] = []
    fetch = ForeignDatabase._fetch  # noqa: SLF001 - there is no other place at which a transaction begins and ends

    def timed(self: ForeignDatabase, sql: str, values: tuple[Any, ...]) -> tuple[list[tuple[Any, ...]], bool]:
        began = time.perf_counter()
        try:
            return fetch(self, sql, values)
        finally:
            held.append(time.perf_counter() - began)

    ForeignDatabase._fetch = timed  # type: ignore[method-assign]  # noqa: SLF001
    client = OpencodeClient()
    place = OpencodeDatabase.file.rpartition("/")[0]
    passes = 0
    while not is_over():
        for found in client.inventory(SessionPlace(os.path.join(home, place), ())).found:
            if is_over():
                break
            read_new_turns(client, found.path, Cursor(), ())
        else:
            passes += 1
    return {"held": held, "passes": passes}
