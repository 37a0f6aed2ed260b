"""`python -m tests.crash.daily_logger HOME ACTION`: a real process in daily-log mode, to be killed by strace anywhere in it.

It appends what was said around midnight to two logs, takes the last line away again, or distils them at night.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients.registry import ALL
from memoryd.clock import iso
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.dream import DreamRunner
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.ingest import Ingester
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.history import undoing
from memoryd.paths import paths_from
from memoryd.state import history
from memoryd.state.database import open_database
from tests.jobs.daily_log_workspace import DAILY, ROOT, facts
from tests.jobs.dream_workspace import FastClock
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database

MIDNIGHT = 1_792_454_400.0  # of 2026-10-20, in UTC
NIGHT = MIDNIGHT + 3.5 * 3600
FACTS = facts(4, seed=5)


def paths_of(home: str) -> Paths:
    return paths_from({"HOME": home})


def memory_of(paths: Paths) -> Path:
    return Path(paths.transcripts_root, "-code-acme", "memory")


def make_world(home: str) -> None:
    """A session that has said four things around midnight."""
    paths = paths_of(home)
    session = Session()
    transcript = Path(paths.transcripts_root, "-code-acme", f"{session.id}.jsonl")
    transcript.parent.mkdir(parents=True)
    with closing(open_database(paths)) as database:
        ingester = Ingester(ALL, database, paths, DAILY)
        ingester.ingest(MIDNIGHT - 9_000)
        said = b""
        for number, fact in enumerate(FACTS):
            at = iso(MIDNIGHT - 90 + 60 * number)
            said += session.prompt(f"Remember that {fact}.", timestamp=at) + session.reply(timestamp=at)
        transcript.write_bytes(said)
        os.utime(transcript, (MIDNIGHT + 100, MIDNIGHT + 100))
        ingester.ingest(MIDNIGHT + 100)


def append(database: Database, paths: Paths) -> None:
    now = MIDNIGHT + 3_600
    sessions = due(database, paths, DAILY, now, at_once=True)
    list(extract_due(database, paths, sessions, now, engine=OfflineEngine(), has_daily_log=DAILY.has_daily_log))


def undo(database: Database, paths: Paths) -> None:
    change = history.last_undoable(database, str(memory_of(paths)))
    if change is not None:
        with open_directory(str(memory_of(paths))) as directory:
            commit(database, directory, undoing(database, change), MIDNIGHT + 3_700)


def night(database: Database, paths: Paths) -> None:
    DreamRunner(database, paths, DAILY, FastClock(NIGHT), OfflineEngine()).dream(str(memory_of(paths)), ROOT)


ACTIONS = {"append": append, "undo": undo, "night": night}


def _mark(home: str, name: str) -> None:
    with suppress(OSError):
        os.close(os.open(os.path.join(home, f"mark-{name}"), os.O_RDONLY))


def main(home: str, action: str) -> int:
    paths = paths_of(home)
    with closing(open_database(paths)) as database:
        _mark(home, "begin")
        ACTIONS[action](database, paths)
        _mark(home, "end")
    return 0


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]))
