"""A project in daily-log mode with a clock that a test moves: somebody talks all day, and nights come and go."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients.registry import ALL
from memoryd.clock import iso
from memoryd.config import Config
from memoryd.config.schema import ProjectOptions
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.dream import DreamRunner
from memoryd.jobs.dream_gates import Checks
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.ingest import Ingester
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.document import body_of
from memoryd.memory.history import undoing
from memoryd.model import Due
from memoryd.state import history
from tests.jobs.dream_workspace import FastClock
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.engines.base import Engine
    from memoryd.jobs.dream import DreamOutcome
    from memoryd.jobs.extract import Outcome
    from memoryd.model import Wait
    from memoryd.paths import Paths
    from memoryd.state.database import Database

ROOT = "/code/acme"
DAILY = Config(project={ROOT: ProjectOptions(daily_log=True)})
_THINGS = "kiln crane sluice hangar boiler winch turbine lathe furnace conveyor silo press gantry mixer loom dryer"
_PLACES = "Aarhus Bergen Cork Delft Evora Faro Gdansk Hasselt Imola Jena Kiel Lecce Metz Narvik Oulu Porto Riga Split"
_FACTS = (
    "the {thing} in {place} is rated at {number} bar",
    "the {thing} in {place} is number {number} on the plan",
    "the code of the {thing} in {place} is {thing}-{number}",
)


def facts(number: int, seed: int) -> list[str]:
    """So many things that are worth keeping, no two about the same."""
    chance = random.Random(seed)
    about = [(thing, place) for thing in _THINGS.split() for place in _PLACES.split()]
    found = [
        kind.format(thing=thing, place=place, number=chance.randint(100, 999))
        for kind in _FACTS
        for thing, place in about
    ]
    chance.shuffle(found)
    return found[:number]


class DailyLogWorkspace:
    def __init__(self, database: Database, paths: Paths, config: Config = DAILY, *, at: float) -> None:
        self.database, self.paths, self.config = database, paths, config
        self.clock = FastClock(at)
        self.memory = Path(paths.transcripts_root, "-code-acme", "memory")
        self.session = Session()
        self._transcript = Path(paths.transcripts_root, "-code-acme", f"{self.session.id}.jsonl")
        self._transcript.parent.mkdir(parents=True, exist_ok=True)
        self._ingester = Ingester(ALL, database, paths, config)
        self._ingester.ingest(self.clock.at)

    def say(self, *texts: str) -> list[Outcome]:
        """One turn for each, in the session that never ends; then they are extracted."""
        at = iso(self.clock.at)
        with self._transcript.open("ab") as file:
            for text in texts:
                file.write(self.session.prompt(text, timestamp=at) + self.session.reply(timestamp=at))
        os.utime(self._transcript, (self.clock.at, self.clock.at))
        self._ingester.ingest(self.clock.at)
        sessions = due(self.database, self.paths, self.config, self.clock.at, at_once=True)
        done = extract_due(
            self.database,
            self.paths,
            sessions,
            self.clock.at,
            engine=OfflineEngine(),
            has_daily_log=self.config.has_daily_log,
        )
        return [worked.outcome for worked in done]

    def decision(self) -> Due | Wait:
        return Checks(self.database, self.paths, self.config, str(self.memory), self.clock.at).decision()

    def dream(self, engine: Engine | None = None) -> DreamOutcome:
        runner = DreamRunner(self.database, self.paths, self.config, self.clock, engine or OfflineEngine())
        return runner.dream(str(self.memory), ROOT)

    def night(self) -> int:
        """What the daemon does at a check; returns how many dreams there were."""
        dreams = 0
        while isinstance(self.decision(), Due):
            assert self.dream().outcome.startswith("succeeded")
            dreams += 1
        return dreams

    def undo(self, change_id: int | None = None) -> None:
        change = (
            history.find(self.database, change_id)
            if change_id is not None
            else history.last_undoable(self.database, str(self.memory))
        )
        assert change is not None
        with open_directory(str(self.memory)) as directory:
            commit(self.database, directory, undoing(self.database, change), self.clock.at)

    def logs(self) -> dict[str, str]:
        """The logs by their day."""
        return {path.stem: path.read_text() for path in sorted(self.memory.rglob("logs/*/*/*.md"))}

    def bodies(self) -> list[str]:
        """What the memories say."""
        found = (path for path in sorted(self.memory.glob("*.md")) if path.name != "MEMORY.md")
        return [body_of(path.read_bytes()).strip() for path in found]
