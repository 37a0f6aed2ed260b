"""A look at the folders that were reported, and at no others: it sees less, and must not forget or believe more for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.registry import ALL
from memoryd.jobs import ingest as module
from memoryd.jobs.ingest import Ingester
from memoryd.state import queries, sessions
from tests.transcript import Session, write

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0


class Workspace:
    """Two sessions in a folder each, read to their end by a ingester that saw them appear."""

    def __init__(self, database: Database, paths: Paths, config: Config) -> None:
        self.root = paths.transcripts_root
        os.makedirs(self.root)
        self.database = database
        self.ingester = Ingester(ALL, database, paths, config)
        self.ingester.ingest(NOW)
        self.here, self.there = Session("here"), Session("there")
        self.here_path = write(self.root, self.here, self.here.turn(), folder="-here")
        self.there_path = write(self.root, self.there, self.there.turn(), folder="-there")
        self.ingester.ingest(NOW + 1)

    def look(self, seconds: float, *folders: str | Path) -> frozenset[str]:
        return self.ingester.ingest(NOW + seconds, frozenset(map(str, folders))).grown

    def grow(self) -> None:
        for session, path in ((self.here, self.here_path), (self.there, self.there_path)):
            with path.open("ab") as file:
                file.write(session.turn())


@pytest.fixture
def workspace(database: Database, paths: Paths, config: Config) -> Workspace:
    return Workspace(database, paths, config)


def test_what_grew_elsewhere_waits_for_a_look_at_all(workspace: Workspace) -> None:
    workspace.grow()
    here, there = str(workspace.here_path.parent), str(workspace.there_path.parent)
    assert workspace.look(5, here) == {here}
    assert workspace.look(6, here, os.path.join(here, "a", "subagents")) == set()
    assert workspace.ingester.ingest(NOW + 7).grown == {there}


def test_a_report_of_anything_but_a_folder_of_the_root_means_all(workspace: Workspace) -> None:
    """A folder that is moved in is reported as a change of the root. A name that is not UTF-8 is none to ask for."""
    not_utf8 = os.fsdecode(os.fsencode(workspace.root) + b"/-b\xff")
    for place in (workspace.root, os.path.dirname(workspace.root), workspace.root + "-other/-here", not_utf8):
        workspace.grow()
        assert workspace.look(5, place) == {str(workspace.here_path.parent), str(workspace.there_path.parent)}


def test_the_first_look_and_one_behind_a_backlog_see_all(
    workspace: Workspace, paths: Paths, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = str(workspace.here_path.parent), str(workspace.there_path.parent)
    workspace.grow()
    workspace.ingester = Ingester(ALL, workspace.database, paths, config)
    assert workspace.look(5, here) == {here, there}
    workspace.grow()
    monkeypatch.setattr(module, "READ_BYTES", 1)
    monkeypatch.setattr(module, "BATCH_FILES", 1)
    read = workspace.look(6, here, there)
    assert len(read) == 1
    assert workspace.look(7, *read) == {here, there} - read


def test_what_was_deleted_is_missing_and_what_was_not_looked_at_is_not(workspace: Workspace) -> None:
    os.unlink(workspace.here_path)
    os.unlink(workspace.there_path)
    workspace.look(5, workspace.here_path.parent)
    assert queries.totals(workspace.database).missing == 1
    os.rmdir(workspace.there_path.parent)
    workspace.look(6, workspace.there_path.parent)
    assert queries.totals(workspace.database).missing == 2


def test_a_root_that_goes_away_takes_nothing_with_it(workspace: Workspace) -> None:
    os.rename(workspace.root, workspace.root + ".away")
    assert workspace.look(5, workspace.here_path.parent) == set()
    assert queries.totals(workspace.database).missing == 0


def test_what_nobody_looked_at_before_a_restart_is_still_new(
    workspace: Workspace, paths: Paths, config: Config
) -> None:
    """A look at one folder is not the last look at the others."""
    unseen = Session("unseen")
    os.utime(write(workspace.root, unseen, unseen.turn(), folder="-elsewhere"), (NOW + 3, NOW + 3))
    write(workspace.root, Session("new"), Session("new").turn(), folder="-here")
    workspace.look(5, workspace.here_path.parent)
    assert sessions.last_scan(workspace.database, workspace.root) == NOW + 1
    found = Ingester(ALL, workspace.database, paths, config).ingest(NOW + 9)
    assert (found.new_live, found.new_history) == (1, 0)


def test_what_a_root_hid_is_history_at_the_first_look_and_new_if_written_since_the_last(
    database: Database, paths: Paths, config: Config
) -> None:
    """Something that cannot be listed stands there instead: unlike a folder without rights, also to root."""
    ingester = Ingester(ALL, database, paths, config)
    os.makedirs(paths.claude_dir)
    away = paths.transcripts_root + ".away"
    for number, expected in enumerate([(0, 1), (1, 0)]):
        start = NOW + 10_000 * number
        if number:
            os.rename(paths.transcripts_root, away)
        with open(paths.transcripts_root, "w", encoding="ascii"):
            pass
        ingester.ingest(start)
        session = Session(number)
        os.utime(write(away, session, session.turn()), (start + 1, start + 1))
        ingester.ingest(start + 1000)  # late enough for a note of the last look
        os.unlink(paths.transcripts_root)
        os.rename(away, paths.transcripts_root)
        found = ingester.ingest(start + 1001)
        assert (found.new_live, found.new_history) == expected


def test_what_is_odd_elsewhere_stays_known(workspace: Workspace) -> None:
    odd = workspace.there_path.with_name("odd.jsonl")
    odd.mkdir()
    workspace.ingester.ingest(NOW + 2)
    write(workspace.root, Session("new"), Session("new").turn(), folder="-here")
    workspace.look(5, workspace.here_path.parent)
    assert sessions.odd_files(workspace.database, workspace.root) == {str(odd): "directory"}


def test_a_move_between_folders_keeps_the_place(workspace: Workspace) -> None:
    moved = workspace.there_path.with_name(workspace.here_path.name)
    workspace.here_path.rename(moved)
    workspace.look(5, moved.parent)
    paths = {row["path"] for row in workspace.database.query("SELECT path FROM transcripts WHERE missing_at IS NULL")}
    assert paths == {str(moved), str(workspace.there_path)}
