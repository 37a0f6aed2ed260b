"""kill -9 at random moments of a busy `memoryd run`: every message once, whatever was being written."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import Daemon
from tests.sample import Session, id_of

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths


class Writer(threading.Thread):
    """A client that talks in several sessions without a pause, in torn pieces."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._files = []
        for number in range(6):
            folder = root / f"-p{number % 2}"
            folder.mkdir(parents=True, exist_ok=True)
            session = Session((seed, number))
            self._files.append((session, folder / f"{session.id}.jsonl"))
        self.said: list[str] = []
        self.quit = threading.Event()

    def run(self) -> None:
        while not self.quit.wait(self._random.random() * 0.01):
            session, path = self._random.choice(self._files)
            turn = session.prompt("words " * self._random.randrange(1, 200)) + session.call("t")
            turn += session.result("t") + session.reply()
            self.said.append(id_of(turn))
            cut = self._random.randrange(len(turn))
            for piece in (turn[:cut], turn[cut:]):
                with path.open("ab") as file:
                    file.write(piece)


def delivered(paths: Paths) -> list[str]:
    connection = sqlite3.connect(f"file:{paths.database}?mode=ro", uri=True)
    try:
        return [row[0] for row in connection.execute("SELECT prompt_id FROM turns")]
    finally:
        connection.close()


@pytest.mark.torture
def test_every_message_once_after_kills_at_random_moments(
    environment: dict[str, str], paths: Paths, tmp_path: Path, torture: bool
) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write("[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0\n")
    seed = random.randrange(1 << 30) if torture else 7
    print("seed", seed)
    moments = random.Random(seed)
    writer = Writer(tmp_path / "home" / ".claude" / "projects", seed)
    writer.start()
    try:
        for _ in range(200 if torture else 8):
            with Daemon(environment) as daemon:
                daemon.says("looks at")
                writer.quit.wait(moments.random() * 0.25)  # how long it lives; then leaving the block kills it
    finally:
        writer.quit.set()
        writer.join()
    with Daemon(environment) as daemon:
        daemon.says("nothing to keep")
    found = delivered(paths)
    assert sorted(found) == sorted(writer.said)
