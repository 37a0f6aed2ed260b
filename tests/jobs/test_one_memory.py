"""One project has one memory, whichever client its words were said to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.registry import ALL
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.ingest import Ingester
from memoryd.projects import project_at
from memoryd.state.projects import all_projects
from tests.clients.homes import CWD, SCRIBES, Codex, Pi
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.clients.homes import Scribe

NOW = 2_000_000_000.0
RULE = "Never push to main without asking, because every push deploys."


def memories(database: Database, paths: Paths, config: Config) -> list[str]:
    """The directories in which something was kept."""
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(NOW + 1)
    sessions = due(database, paths, config, NOW + 9_999, at_once=True, with_history=True)
    engine = OfflineEngine()
    done = list(extract_due(database, paths, sessions, NOW + 9_999, engine=engine, with_history=True))
    return [worked.memory_dir for worked in done for _ in worked.outcome.saved]


@pytest.mark.parametrize("scribe_of", SCRIBES, ids=[scribe.client for scribe in SCRIBES])
def test_what_is_said_elsewhere_is_kept_where_claude_code_reads(
    scribe_of: type[Scribe], database: Database, paths: Paths, config: Config
) -> None:
    session, scribe = Session(cwd=CWD), scribe_of()
    write(paths.transcripts_root, session, session.turn("hello"), "-code-acme")
    scribe.write(Path(paths.home), scribe.head() + scribe.prompt(RULE) + scribe.reply("ok"))
    assert memories(database, paths, config) == [f"{paths.transcripts_root}/-code-acme/memory"]
    assert [project.root for project in all_projects(database)] == [CWD]


def test_without_claude_code_it_is_kept_in_the_data_directory_and_stays_there(
    database: Database, paths: Paths, config: Config
) -> None:
    scribe, other = Codex(), Pi()
    scribe.write(Path(paths.home), scribe.head() + scribe.prompt(RULE) + scribe.reply("ok"))
    other.write(
        Path(paths.home), other.head() + other.prompt("Answer in German, I read it faster.") + other.reply("ok")
    )
    place = f"{paths.home}/.local/share/memoryd/memory/-code-acme"
    assert set(memories(database, paths, config)) == {place}
    os.makedirs(paths.transcripts_root)
    assert project_at(CWD, paths, config).memory_dir == place
    assert project_at("/code/new", paths, config).memory_dir == f"{paths.transcripts_root}/-code-new/memory"


def test_no_clients_own_folder_is_written(database: Database, paths: Paths, config: Config) -> None:
    home = Path(paths.home)
    for scribe_of in SCRIBES:
        scribe = scribe_of()
        scribe.write(home, scribe.head() + scribe.prompt(RULE) + scribe.reply("ok"))
    before = {path: path.stat() for path in home.rglob("*") if ".local" not in path.parts}
    memories(database, paths, config)
    after = {path: path.stat() for path in home.rglob("*") if ".local" not in path.parts}
    assert {path: (status.st_mtime_ns, status.st_ino) for path, status in after.items()} == {
        path: (status.st_mtime_ns, status.st_ino) for path, status in before.items()
    }
