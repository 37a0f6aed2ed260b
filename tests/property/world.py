"""A user's transcripts and the processes that read them, with everything that can go wrong between two looks."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from memoryd.clients.registry import ALL
from memoryd.config import Config
from memoryd.jobs.ingest import Ingester
from memoryd.paths import paths_from
from memoryd.state.database import Database, state_file
from tests.transcript import Session


class Crash(BaseException):
    """The process is killed here."""


class FlakyDatabase(Database):
    """A real database whose process can be killed, or interrupted by another one, at its n-th call."""

    calls_left: int | None = None
    meanwhile: Any = None

    def execute(self, sql: str, values: Any = ()) -> Any:
        self._count()
        return super().execute(sql, values)

    def query(self, sql: str, values: Any = ()) -> Any:
        self._count()
        return super().query(sql, values)

    def execute_many(self, sql: str, rows: Any) -> None:
        self._count()
        super().execute_many(sql, rows)

    def _count(self) -> None:
        if self.calls_left is None:
            return
        self.calls_left -= 1
        if self.calls_left > 0:
            return
        if self.meanwhile is None:
            self.calls_left = None
            raise Crash
        if not self._connection.in_transaction:  # inside one, the other process would wait for us
            self.calls_left = None
            self.meanwhile()


class Process:
    """One memoryd: a connection and a ingester, until it crashes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.start()

    def start(self) -> None:
        self.database = FlakyDatabase.open(state_file(self._world.paths))
        self._ingester = Ingester(ALL, self.database, self._world.paths, Config())

    def ingest(self) -> None:
        for _ in range(50):
            if not self._ingester.ingest(self._world.now).backlog:
                return
        raise AssertionError("the backlog does not shrink")

    def sweep_and_crash(self, after_calls: int) -> bool:
        """Sweep and be killed at the n-th call, if there are so many."""
        self.database.calls_left = after_calls
        try:
            self.ingest()
        except Crash:
            self.stop()
            self.start()
            return True
        self.database.calls_left = None
        return False

    def sweep_interrupted_by(self, other: Process, after_calls: int) -> None:
        self.database.meanwhile = other.ingest
        self.database.calls_left = after_calls
        self.ingest()
        self.database.meanwhile = self.database.calls_left = None

    def stop(self) -> None:
        self.database.close()


class World:
    """Files, a clock, and what every user message that was ever whole in a file must have led to."""

    def __init__(self) -> None:
        self.home = tempfile.mkdtemp(prefix="memoryd-world-")
        self.paths = paths_from({"HOME": self.home})
        self.root = Path(self.paths.transcripts_root)
        (self.root / "-a").mkdir(parents=True)
        (self.root / "-b").mkdir()
        self.now = 2_000_000_000.0
        self._tick = 0
        self.sessions: dict[int, Session] = {}
        self.streams: dict[str, bytes] = {}  # what a client has decided to write and has not written yet
        self.written: set[str] = set()
        self.one = Process(self)
        self.two = Process(self)
        self.one.ingest()
        self.two.ingest()

    def close(self) -> None:
        self.one.stop()
        self.two.stop()
        shutil.rmtree(self.home)

    # --- the client ---------------------------------------------------------------------------------------------------

    def paths_now(self) -> list[Path]:
        return sorted(self.root.glob("*/*.jsonl"))

    def say(self, number: int) -> None:
        session = self.sessions.setdefault(number, Session(number))
        prompt = session.prompt(f'words of {number} }}{{ with "quotes" and émoji 🙂')
        self.written.add(json.loads(prompt)["uuid"])
        begun = self.streams.get(session.id, b"")
        self.streams[session.id] = begun + prompt + session.call("t") + session.result("t") + session.reply()

    def flush(self, session: Session, length: int) -> None:
        """Write the next bytes of a stream, wherever they end."""
        data = self.streams.get(session.id, b"")
        path = next(
            (path for path in self.paths_now() if path.stem == session.id), self.root / "-a" / f"{session.id}.jsonl"
        )
        with path.open("ab") as file:
            file.write(data[:length])
        self.streams[session.id] = data[length:]
        self.touch(path)

    def rewrite(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        self.touch(path)

    def touch(self, path: Path) -> None:
        """Give the file the time of this world, and never the same twice."""
        self._tick += 1
        at = int(self.now * 1e9) + self._tick
        os.utime(path, ns=(at, at))

    # --- what must hold -----------------------------------------------------------------------------------------------

    def whole_messages(self) -> set[str]:
        """The user messages that stand whole in some file now."""
        found = set()
        for path in self.paths_now():
            *lines, _half = path.read_bytes().split(b"\n")
            for line in lines:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if entry.get("uuid") in self.written:
                    found.add(entry["uuid"])
        return found

    def check(self) -> None:
        delivered = [row["prompt_id"] for row in self.one.database.query("SELECT prompt_id FROM turns")]
        assert len(delivered) == len(set(delivered)), "a message was delivered twice"
        assert set(delivered) <= self.written, "a message was invented"
        assert self.whole_messages() <= set(delivered), "a message was lost"
