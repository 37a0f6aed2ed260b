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
from typing import TYPE_CHECKING, Any, Self

from bench import table
from bench.measure import best
from bench.world import has_room
from memoryd.clients.aider import INPUTS_NAME, AiderClient
from memoryd.clients.goose import GooseClient
from memoryd.clients.opencode import OpencodeClient
from memoryd.model import Cursor
from memoryd.sources.database import ForeignDatabase
from memoryd.sources.scan import SessionPlace
from memoryd.transcripts.tail import read_new_turns
from tests.clients.databases import GooseDatabase, OpencodeDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoryd.clients.base import CodingClient

SIZE = 1_000_000_000
PARSED_BYTES = 50_000_000
ROUNDS = 3
PHASE_SECONDS = 3.0
PHASES = 20
_KINDS = ("alone", "beside a process that computes", "beside memoryd")
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
    chats = range(min(60, PARSED_BYTES // len(chat)))
    history.write_text("".join(map(chat.format, chats)))
    typed = f"\n# 2026-10-18 09:00:{{:02}}.500000\n+{_QUESTION}\n"  # what was not typed is not the user's
    history.with_name(INPUTS_NAME).write_text(
        "".join(map(typed.format, (number for number in chats for _ in range(20))))
    )
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
    """One writer throughout, and phases in turns: alone, beside a process that only computes, and beside memoryd.

    On a machine with other work a writer's slowest transactions wait for a processor, whoever has it. The process that only
    computes tells how much of that is so; it never looks at the database.
    """
    path = _big_database(home)
    waits: dict[str, list[list[float]]] = {kind: [] for kind in _KINDS}
    held: list[tuple[float, float]] = []
    passes = 0
    with _Worker("writer", home) as writer, _Worker("computer", home) as computer, _Worker("reader", home) as reader:
        beside = {_KINDS[1]: computer, _KINDS[2]: reader}
        for number in range(PHASES):
            for kind in _KINDS if number % 2 else reversed(_KINDS):
                if kind in beside:
                    beside[kind].tell("begin")
                writer.tell(f"write {PHASE_SECONDS}")
                waits[kind].append(writer.told())
                if kind in beside:
                    beside[kind].tell("end")
                    told = beside[kind].told()
                    held += told.get("held", ())
                    passes += told.get("passes", 0)
        names = sorted(name for name in os.listdir(path.parent) if name != path.name)
    rows = []
    for kind, phases in waits.items():
        taken = [seconds for phase in phases for seconds in phase]
        at = [table.milliseconds(_at(taken, share)) for share in (0.5, 0.99)]
        rows.append((kind, f"{len(taken):,}", *at, *(_to(waits, kind, other) for other in _KINDS[:2])))
    table.show(
        f"databases: transactions of a writer into an opencode database of {os.path.getsize(path) / 1e6:,.0f} MB, by the"
        f" clock, {PHASES} phases of {PHASE_SECONDS:.0f} s for each row, in turns. p99 to that of another row: all phases, and"
        " the middle half of the rounds. memoryd, with the priority of its service, reads all of it from the first row, and"
        " then again",
        ("writer", "transactions", "median", "p99", "to alone", "to computing"),
        rows,
    )
    by_clock, by_processor = (sorted(times) for times in zip(*held, strict=True))
    print(
        f"  memoryd's read transactions: {len(held):,} in {passes} passes over all sessions, 999 of 1,000 within"
        f" {_at(by_clock, 0.999) * 1e3:.1f} ms by the clock, {sum(taken > 0.05 for taken in by_clock)} over 50 ms, the"
        f" longest {by_clock[-1] * 1e3:.1f} ms; of the processor the longest took {by_processor[-1] * 1e3:.1f} ms."
        f" Load of the machine: {os.getloadavg()[0]:.0f}. Beside the database: {', '.join(names)}"
    )


def _big_database(home: Path) -> Path:
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
    return opencode.path


def _at(taken: Sequence[float], share: float) -> float:
    return sorted(taken)[int(len(taken) * share)]


def _to(waits: dict[str, list[list[float]]], kind: str, other: str) -> str:
    """The p99 of a row to that of another."""
    if kind == other:
        return ""
    rounds = [_at(mine, 0.99) / _at(theirs, 0.99) for mine, theirs in zip(waits[kind], waits[other], strict=True)]
    all_of, beside = (_at([seconds for phase in waits[row] for seconds in phase], 0.99) for row in (kind, other))
    return f"{table.times(all_of, beside)} ({_at(rounds, 0.25):.2f}-{_at(rounds, 0.75):.2f})"


class _Worker:
    """A process that is told what to do, line by line."""

    def __init__(self, role: str, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.database_worker", role, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def told(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def write(opencode: OpencodeDatabase, seconds: float) -> list[float]:
    """Stream answers as opencode does: a part is inserted, and then updated as it grows; the seconds that each took."""
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
    return taken


def compute(is_over: Callable[[], bool]) -> dict[str, Any]:
    """Take the processor without a look at the database."""
    text = json.dumps({"output": _OUTPUT})
    while not is_over():
        json.loads(text)
    return {}


class Reader:
    """Reads the database as the daemon does, from the first row, again and again."""

    def __init__(self, home: str) -> None:
        self.held: list[tuple[float, float]] = []
        self.passes = 0
        self._sessions = self._read(SessionPlace(os.path.join(home, OpencodeDatabase.file.rpartition("/")[0]), ()))
        fetch = ForeignDatabase._fetch  # noqa: SLF001 - there is no other place at which a transaction begins and ends

        def timed(database: ForeignDatabase, sql: str, values: tuple[Any, ...]) -> tuple[list[tuple[Any, ...]], bool]:
            began, used = time.perf_counter(), time.thread_time()
            try:
                return fetch(database, sql, values)
            finally:
                self.held.append((time.perf_counter() - began, time.thread_time() - used))

        ForeignDatabase._fetch = timed  # type: ignore[method-assign, assignment]  # noqa: SLF001

    def read(self, is_over: Callable[[], bool]) -> dict[str, Any]:
        """Go on reading; how long transactions were by the clock and of the processor, and passes over all sessions."""
        self.held.clear()
        self.passes = 0
        while not is_over():
            next(self._sessions)
        return {"held": self.held, "passes": self.passes}

    def _read(self, place: SessionPlace) -> Iterator[None]:
        client = OpencodeClient()
        while True:
            for found in client.inventory(place).found:
                yield
                read_new_turns(client, found.path, Cursor(), ())
            self.passes += 1
