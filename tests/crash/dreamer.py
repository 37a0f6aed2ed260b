"""`python -m tests.crash.dreamer HOME`: a real process that dreams a whole dream, to be killed by strace anywhere in it.

Where the dream begins and ends is marked by files that do not exist, as `victim` does it.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memoryd.clients.registry import ALL
from memoryd.config import Config
from memoryd.jobs.dream import DreamRunner
from memoryd.jobs.ingest import Ingester
from memoryd.language.evidence import find_quote
from memoryd.memory.document import new_document
from memoryd.model import Revision
from memoryd.paths import paths_from
from memoryd.state.database import open_database
from tests.jobs.dream_workspace import DAY, NOW, FastClock, RevisingEngine
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.clock import Clock
    from memoryd.jobs.dream import DreamOutcome
    from memoryd.model import Exchange
    from memoryd.paths import Paths
    from memoryd.state.database import Database

PRIOR_NS = int((NOW - 2 * DAY) * 1e9) + 123_456_789
OLD_NS = 1_767_000_000_123_456_789  # before anything was said
SAID = "The valve of the kiln is rated at 7 bar from now on"
SAID_TOO = "The crane of the quay carries 40 tons from now on"
MEMORIES = {
    "project_pump.md": "The pump of the dock is rated at 3 bar.",
    "project_pump_again.md": "The sluice of the dock is rated at 4 bar.",
    "project_valve.md": "The valve of the kiln is rated at 5 bar.",
    "project_freeze.md": "The code freeze ends on 2026-03-05.",
    "project_kept.md": "The hangar of the harbour has 12 gates.",
}
INDEX = "# By hand\n\n- [My own words](project_kept.md) — stay\n- [Gone long ago](nowhere.md) — wrong\n\nfree text\n"


def paths_of(home: str) -> Paths:
    return paths_from({"HOME": home})


def memory_of(paths: Paths) -> Path:
    return Path(paths.transcripts_root, "-code-acme", "memory")


def make_world(home: str) -> None:
    """Memories, a lock of two days ago, and six sessions that nobody has worked on."""
    paths = paths_of(home)
    memory = memory_of(paths)
    memory.mkdir(parents=True)
    for name, text in MEMORIES.items():
        put(memory / name, _memory(name, text))
    put(memory / "MEMORY.md", INDEX.encode())
    put(memory / "notes.txt", b"no memory\n")
    put(memory / ".consolidate-lock", b"", PRIOR_NS)
    with closing(open_database(paths)) as database:
        ingester = Ingester(ALL, database, paths, Config())
        ingester.ingest(NOW - 3 * DAY)
        for number, text in enumerate((SAID, SAID_TOO, *("please look at the parser",) * 4)):
            session = Session(number)
            path = write(paths.transcripts_root, session, session.turn(text))
            os.utime(path, (NOW - DAY, NOW - DAY))
        ingester.ingest(NOW - DAY + 60)
        database.execute("UPDATE projects SET first_seen_at = ?", (NOW - 3 * DAY,))


def put(path: Path, data: bytes, mtime_ns: int = OLD_NS) -> None:
    path.write_bytes(data)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def _memory(name: str, text: str) -> bytes:
    title = name.removesuffix(".md").replace("_", "-")
    return new_document(
        name=title, description=text, kind="project", body=text, session_id="s", evidence="e", modified="2026-01-01"
    ).render()


def revise(exchanges: Sequence[Exchange]) -> list[Revision]:
    """A merge, an update, an archived one, a new one."""
    both = f"{MEMORIES['project_pump.md']}\n{MEMORIES['project_pump_again.md']}\n"
    pumps = ("project_pump.md", "project_pump_again.md")
    revisions = [
        Revision("merged", "Merging two pump notes", pumps, "project", "", MEMORIES["project_pump.md"], both),
        Revision("expired", "Archiving the freeze", ("project_freeze.md",)),
    ]
    said = [exchange.said for exchange in exchanges]
    if valve := find_quote(SAID, said):
        new = MEMORIES["project_valve.md"].replace("5", "7")
        files = ("project_valve.md",)
        revisions.append(Revision("updated", "Updating the valve", files, "project", "", new, new, (valve,)))
    if crane := find_quote(SAID_TOO, said):
        revisions.append(
            Revision("learnt", "Learning of a crane", (), "project", "crane-load", SAID_TOO, f"{SAID_TOO}.\n", (crane,))
        )
    return revisions


def dream(database: Database, paths: Paths, clock: Clock, engine: RevisingEngine | None = None) -> DreamOutcome:
    """With the engine of this scenario, if no other is named."""
    chosen = engine or RevisingEngine(revise)
    return DreamRunner(database, paths, Config(), clock, chosen).dream(str(memory_of(paths)), "/code/acme")


def _mark(home: str, name: str) -> None:
    with suppress(OSError):
        os.close(os.open(os.path.join(home, f"mark-{name}"), os.O_RDONLY))


def main(home: str) -> int:
    paths = paths_of(home)
    with closing(open_database(paths)) as database:
        _mark(home, "begin")
        dreamt = dream(database, paths, FastClock())
        _mark(home, "end")
    return 0 if dreamt.outcome == "succeeded" else 1


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]))
