"""A memory directory, sessions and a clock, for the tests of dreams; and engines that revise as a test wants it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memoryd.clock import iso
from memoryd.jobs.dream import Dreamer
from memoryd.jobs.sweep import Sweeper
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.history import undoing
from memoryd.state import history
from tests.sample import Session, write

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from memoryd.config import Config
    from memoryd.jobs.dream import Dreamt
    from memoryd.model import Exchange, Progress, Revision
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0
DAY = 86_400.0


class FastClock:
    """Nobody waits; time passes when a test says so."""

    def __init__(self, now: float = NOW) -> None:
        self.at = now

    def now(self) -> float:
        return self.at

    def wait(self, event: threading.Event, seconds: float) -> bool:
        del seconds
        return event.is_set()


class Answer(NamedTuple):
    revisions: tuple[Revision, ...]
    taken: int


class Engine:
    """In the place of a model: what it is given, and what it makes of it."""

    def __init__(self, revise: Callable[[Sequence[Exchange]], Sequence[Revision]]) -> None:
        self._revise = revise

    def dream(
        self,
        job_id: int,
        memory_dir: str,
        project_root: str,
        exchanges: Sequence[Exchange],
        *rest: Any,
    ) -> Answer:
        del job_id, memory_dir, project_root, rest
        return Answer(tuple(self._revise(exchanges)), len(exchanges))


class Bedroom:
    def __init__(self, database: Database, paths: Paths, config: Config) -> None:
        self.database, self.paths, self.config = database, paths, config
        self.clock = FastClock()
        os.makedirs(paths.transcripts_root)
        self.sweeper = Sweeper(database, paths, config)
        self.sweeper.sweep(self.clock.at)
        self.memory = Path(paths.transcripts_root, "-code-acme", "memory")
        self.memory.mkdir(parents=True)
        self._sessions = 0

    def put(self, name: str, data: str, at: float = NOW - 5 * DAY) -> None:
        (self.memory / name).write_text(data, encoding="utf-8")
        os.utime(self.memory / name, (at, at))

    def remember(
        self, name: str, body: str, description: str = "", kind: str = "project", at: float = NOW - 5 * DAY
    ) -> None:
        title = name.removesuffix(".md").replace("_", "-")
        said = description or body.split("\n", 1)[0]
        self.put(name, f'---\nname: {title}\ndescription: "{said}"\ntype: {kind}\n---\n\n{body}\n', at)

    def lock(self, at: float) -> None:
        self.put(".consolidate-lock", "", at)

    def say(self, *texts: str) -> Session:
        """A session that just fell silent."""
        self._sessions += 1
        session = Session(f"s{self._sessions}")
        said_at = iso(self.clock.at - 60)
        data = b"".join(session.prompt(text, timestamp=said_at) + session.reply() for text in texts)
        path = write(self.paths.transcripts_root, session, data)
        os.utime(path, (self.clock.at - 60, self.clock.at - 60))
        self.sweeper.sweep(self.clock.at)
        return session

    def dream(
        self, engine: Engine | None = None, tell: Callable[[Progress], None] = lambda _: None, **options: Any
    ) -> Dreamt:
        dreamer = Dreamer(self.database, self.paths, self.config, self.clock, tell, engine)  # type: ignore[arg-type]
        return dreamer.dream(str(self.memory), "/code/acme", **options)

    def undo(self) -> bool:
        change = history.last_undoable(self.database, str(self.memory))
        if change is None:
            return False
        with open_directory(str(self.memory)) as directory:
            assert not commit(self.database, directory, undoing(self.database, change), self.clock.at).conflicted
        return True

    def state(self) -> dict[str, tuple[bytes, int]]:
        """Every file with its bytes and its time; the lock aside."""
        return {
            str(path.relative_to(self.memory)): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in sorted(self.memory.rglob("*"))
            if path.is_file() and path.name != ".consolidate-lock"
        }

    def lock_state(self) -> tuple[bytes, float] | None:
        path = self.memory / ".consolidate-lock"
        return (path.read_bytes(), path.stat().st_mtime) if path.exists() else None

    def jobs(self) -> list[tuple[str, str | None]]:
        return [(row[0], row[1]) for row in self.database.query("SELECT kind, outcome FROM jobs ORDER BY id")]

    def turns(self) -> list[str | None]:
        return [row[0] for row in self.database.query("SELECT outcome FROM turns ORDER BY id")]
