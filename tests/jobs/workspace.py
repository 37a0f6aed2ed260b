"""A user's transcripts and the memory directory that they lead to, for the tests of jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryd.clients.registry import ALL
from memoryd.engines import offline
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.ingest import Ingester
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.document import body_of
from memoryd.memory.history import undoing
from memoryd.model import Changeset, FileChange, Group, UserMessage
from memoryd.state import history, inbox
from tests.transcript import Session, line, write

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.jobs.extract import Outcome
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0


def file_of(wish: str) -> str:
    """The file that the engine's words for a wish lead to; what they are is not the job's business."""
    (finding,) = offline.find([UserMessage("s", "m", None, wish)]).written
    assert finding.reason == "learnt"
    return f"{finding.type}_{finding.name.replace('-', '_')}.md"


TABS, MOCKS = "from now on, use tabs", "never use mocks"
TABS_MD, MOCKS_MD = file_of(TABS), file_of(MOCKS)


class Workspace:
    def __init__(self, database: Database, paths: Paths, config: Config) -> None:
        self.database, self.paths, self.config = database, paths, config
        os.makedirs(paths.transcripts_root)
        self.ingester = Ingester(ALL, database, paths, config)
        self.ingester.ingest(NOW)
        self.memory = Path(paths.transcripts_root, "-code-acme", "memory")

    # --- the client ---------------------------------------------------------------------------------------------------

    def say(self, *texts: str, session: Session | None = None) -> Session:
        session = session or Session()
        return self.append(session, b"".join(session.turn(text) for text in texts))

    def append(self, session: Session, data: bytes) -> Session:
        path = self.transcript(session)
        before = path.read_bytes() if path.exists() else b""
        write(self.paths.transcripts_root, session, before + data)
        self.ingester.ingest(NOW)
        return session

    def transcript(self, session: Session) -> Path:
        return Path(self.paths.transcripts_root, "-code-acme", f"{session.id}.jsonl")

    def saving_turn(self, session: Session, text: str, tool: str, **asked: Any) -> bytes:
        """A turn in which the main agent uses a tool, and the tool's answer."""
        block = {"type": "tool_use", "id": "t", "name": tool, "input": asked}
        message = {"role": "assistant", "content": [block], "stop_reason": "tool_use"}
        call = line(session.entry("assistant", message=message))
        return session.prompt(text) + call + session.result("t", "ok") + session.reply("Done.")

    # --- memoryd ------------------------------------------------------------------------------------------------------

    def work(self, *, history_too: bool = False) -> list[tuple[str, tuple[str, ...]]]:
        return [(outcome.outcome, outcome.saved) for outcome in self.run(history_too=history_too)]

    def run(self, *, history_too: bool = False) -> list[Outcome]:
        sessions = due(self.database, self.paths, self.config, NOW, at_once=True, with_history=history_too)
        done = extract_due(
            self.database,
            self.paths,
            sessions,
            NOW,
            engine=OfflineEngine(),
            review_mode=self.config.review,
            has_daily_log=self.config.has_daily_log,
            with_history=history_too,
        )
        return [worked.outcome for worked in done]

    def undo(self) -> None:
        change = history.last_undoable(self.database, str(self.memory))
        assert change is not None
        with open_directory(str(self.memory)) as directory:
            commit(self.database, directory, undoing(self.database, change), NOW)

    def forget(self, name: str) -> None:
        with open_directory(str(self.memory)) as directory:
            state = directory.read(name)
            assert state is not None
            gone = FileChange(name, state.data, None, state.mtime_ns)
            commit(self.database, directory, Changeset("forget", "", (Group((gone,), ""),)), NOW)

    # --- what came of it ----------------------------------------------------------------------------------------------

    def files(self) -> list[str]:
        return sorted(os.listdir(self.memory)) if self.memory.exists() else []

    def memories(self) -> dict[str, bytes]:
        return {name: (self.memory / name).read_bytes() for name in self.files() if name != "MEMORY.md"}

    def bodies(self) -> list[str]:
        return sorted(body_of(data).strip() for data in self.memories().values())

    def waiting(self) -> list[str]:
        """What the memories would say that wait in the inbox."""
        rows = inbox.waiting(self.database, str(self.memory))
        changes = [change for row in rows for change in row.group.changes]
        return sorted(body_of(change.after or b"").strip() for change in changes)

    def outcomes(self) -> list[str | None]:
        return [row["outcome"] for row in self.database.query("SELECT outcome FROM turns ORDER BY id")]

    def jobs(self) -> list[tuple[str | None, str]]:
        return [(row[0], row[1]) for row in self.database.query("SELECT outcome, detail FROM jobs ORDER BY id")]
