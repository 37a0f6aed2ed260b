"""A memory directory, sessions and a clock, for the tests of dreams; and engines that revise as a test wants it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryd.clients.registry import ALL
from memoryd.clock import iso
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.dream import DreamRunner
from memoryd.jobs.ingest import Ingester
from memoryd.memory.changeset import groups_of
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.history import undoing
from memoryd.model import Proposal
from memoryd.state import history, inbox
from tests.transcript import Session, write

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from memoryd.config import Config
    from memoryd.engines.base import Engine, Signal
    from memoryd.jobs.dream import DreamOutcome
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Exchange, Progress, Revision
    from memoryd.paths import Paths
    from memoryd.review.meaning import Ask, Question
    from memoryd.review.review import Review
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


class RevisingEngine:
    """In the place of a model: it proposes what a test wants of the turns, and `ask` judges the meaning."""

    name = "revising"

    def __init__(self, revise: Callable[[Sequence[Exchange]], Sequence[Revision]], ask: Ask | None = None) -> None:
        self.revise = revise
        self._ask = ask or accept_all

    def extract(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:
        raise NotImplementedError

    def dream(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:
        del review
        return Proposal(groups_of(snapshot, self.revise(signal.turns), signal.now))

    def meaning_asker(self, signal: Signal, memory_dir: str) -> Ask:
        del signal, memory_dir
        return self._ask

    def close(self) -> None:
        pass


_ANSWERS = ("meant", "carried", "newest", "nothing_else_lost", "worth_keeping")
_CHANGE = re.compile(r'<change id="\d+".*?</change>', re.DOTALL)


def rejecting(why_not: Callable[[str], str]) -> Ask:
    """A reviewer who looks at each change as it is shown, and rejects those that `why_not` gives a reason for."""

    def answer(question: Question) -> str:
        changes = []
        for number, shown in enumerate(_CHANGE.findall(question.text), 1):
            problem = why_not(shown)
            is_fine = dict.fromkeys(_ANSWERS, not problem)
            changes.append({"id": number, **is_fine, "verdict": "reject" if problem else "accept", "problem": problem})
        return json.dumps({"changes": changes})

    return answer


accept_all = rejecting(lambda _: "")
"""A reviewer who finds nothing wrong."""


class DreamWorkspace:
    def __init__(self, database: Database, paths: Paths, config: Config) -> None:
        self.database, self.paths, self.config = database, paths, config
        self.clock = FastClock()
        os.makedirs(paths.transcripts_root)
        self.ingester = Ingester(ALL, database, paths, config)
        self.ingester.ingest(self.clock.at)
        self.memory = Path(paths.transcripts_root, "-code-acme", "memory")
        self.memory.mkdir(parents=True)
        self._transcripts: dict[str, bytes] = {}

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
        session = Session(f"s{len(self._transcripts) + 1}")
        self.go_on(session, *texts)
        return session

    def go_on(self, session: Session, *texts: str) -> None:
        """More of a session, which falls silent again."""
        said_at = iso(self.clock.at - 60)
        data = b"".join(session.prompt(text, timestamp=said_at) + session.reply() for text in texts)
        self._transcripts[session.id] = self._transcripts.get(session.id, b"") + data
        path = write(self.paths.transcripts_root, session, self._transcripts[session.id])
        os.utime(path, (self.clock.at - 60, self.clock.at - 60))
        self.ingester.ingest(self.clock.at)

    def dream(
        self, engine: Engine | None = None, tell: Callable[[Progress], None] = lambda _: None, **options: Any
    ) -> DreamOutcome:
        dreamer = DreamRunner(self.database, self.paths, self.config, self.clock, engine or OfflineEngine(), tell)
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

    def waiting(self) -> list[tuple[tuple[str, ...], str]]:
        """What waits in the inbox, oldest first: its files and the reason."""
        rows = inbox.waiting(self.database, str(self.memory))
        return [(tuple(change.name for change in row.group.changes), row.held.reason) for row in rows]

    def jobs(self) -> list[tuple[str, str | None]]:
        return [(row[0], row[1]) for row in self.database.query("SELECT kind, outcome FROM jobs ORDER BY id")]

    def turns(self) -> list[str | None]:
        return [row[0] for row in self.database.query("SELECT outcome FROM turns ORDER BY id")]
