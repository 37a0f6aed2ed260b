"""kill -9 at random moments of a busy `memoryd run`: every message once, whatever was being written."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.acceptance.command import Daemon
from tests.acceptance.command import memoryd as run_memoryd
from tests.transcript import Session, id_of

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from tests.torture.campaign import Campaign


class Writer(threading.Thread):
    """A client that talks in several sessions without a pause, in torn pieces."""

    def __init__(self, root: Path, seed: int, wishes: float) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._files = []
        for number in range(6):
            folder = root / f"-p{number % 2}"
            folder.mkdir(parents=True, exist_ok=True)
            session = Session((seed, number))
            self._files.append((session, folder / f"{session.id}.jsonl"))
        self._wishes = wishes  # how many of the prompts wish for something
        self.said: list[str] = []
        self.wished: list[str] = []
        self.quit = threading.Event()

    def run(self) -> None:
        while not self.quit.wait(self._random.random() * 0.01):
            session, path = self._random.choice(self._files)
            words = "words " * self._random.randrange(1, 200)
            if self._random.random() < self._wishes:
                words = f"From now on, use tool number-{len(self.said)}."
                self.wished.append(words)
            turn = session.prompt(words) + session.call("t")
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
    environment: dict[str, str], paths: Paths, tmp_path: Path, torture: bool, campaign: Campaign
) -> None:
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write("[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0\n")
    seed, moments = campaign.seed, campaign.random
    writer = Writer(tmp_path / "home" / ".claude" / "projects", seed, 0.02 if torture else 0.2)
    writer.start()
    try:
        for _ in campaign.in_time(range(200 if torture else 5)):
            with Daemon(environment) as daemon:
                daemon.says("watches")
                writer.quit.wait(moments.random() * 0.6)  # how long it lives; then leaving the block kills it
                for child in psutil.Process(daemon.process.pid).children():
                    child.kill()
    finally:
        writer.quit.set()
        writer.join()
    assert run_memoryd(environment, "extract-now").returncode == 0
    assert run_memoryd(environment, "backfill", "--yes").returncode == 0
    assert sorted(delivered(paths)) == sorted(writer.said)
    memory = Path(paths.transcripts_root) / "-code-acme" / "memory"
    written = [path.read_text().split("---\n")[2].strip() for path in memory.glob("[a-z]*.md")]
    assert sorted(written) == sorted(writer.wished)
    assert not list(memory.glob(".memoryd-*"))
    campaign.tried("faults", "turn said while the daemon is killed again and again", len(writer.said))
    print(f"{len(writer.said)} turns, {len(writer.wished)} memories")
