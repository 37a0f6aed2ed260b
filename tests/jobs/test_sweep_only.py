"""A look at the folders that were reported, and at no others: it sees less, and must not forget or believe more for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.jobs import sweep as module
from memoryd.jobs.sweep import Sweeper
from memoryd.state import ledger, report
from tests.sample import Session, write

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0


class Desk:
    """Two sessions in a folder each, read to their end by a sweeper that saw them appear."""

    def __init__(self, database: Database, paths: Paths, config: Config) -> None:
        self.root = paths.transcripts_root
        os.makedirs(self.root)
        self.database = database
        self.sweeper = Sweeper(database, paths, config)
        self.sweeper.sweep(NOW)
        self.here, self.there = Session("here"), Session("there")
        self.here_path = write(self.root, self.here, self.here.turn(), folder="-here")
        self.there_path = write(self.root, self.there, self.there.turn(), folder="-there")
        self.sweeper.sweep(NOW + 1)

    def look(self, seconds: float, *folders: str | Path) -> frozenset[str]:
        return self.sweeper.sweep(NOW + seconds, frozenset(map(str, folders))).grown

    def grow(self) -> None:
        for session, path in ((self.here, self.here_path), (self.there, self.there_path)):
            with path.open("ab") as file:
                file.write(session.turn())


@pytest.fixture
def desk(database: Database, paths: Paths, config: Config) -> Desk:
    return Desk(database, paths, config)


def test_what_grew_elsewhere_waits_for_a_look_at_all(desk: Desk) -> None:
    desk.grow()
    here, there = str(desk.here_path.parent), str(desk.there_path.parent)
    assert desk.look(5, here) == {here}
    assert desk.look(6, here, os.path.join(here, "a", "subagents")) == set()
    assert desk.sweeper.sweep(NOW + 7).grown == {there}


def test_a_report_of_anything_but_a_folder_of_the_root_means_all(desk: Desk) -> None:
    """A folder that is moved in is reported as a change of the root. A name that is not UTF-8 is none to ask for."""
    not_utf8 = os.fsdecode(os.fsencode(desk.root) + b"/-b\xff")
    for place in (desk.root, os.path.dirname(desk.root), desk.root + "-other/-here", not_utf8):
        desk.grow()
        assert desk.look(5, place) == {str(desk.here_path.parent), str(desk.there_path.parent)}


def test_the_first_look_and_one_behind_a_backlog_see_all(
    desk: Desk, paths: Paths, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = str(desk.here_path.parent), str(desk.there_path.parent)
    desk.grow()
    desk.sweeper = Sweeper(desk.database, paths, config)
    assert desk.look(5, here) == {here, there}
    desk.grow()
    monkeypatch.setattr(module, "READ_BYTES", 1)
    monkeypatch.setattr(module, "BATCH_FILES", 1)
    read = desk.look(6, here, there)
    assert len(read) == 1
    assert desk.look(7, *read) == {here, there} - read


def test_what_was_deleted_is_missing_and_what_was_not_looked_at_is_not(desk: Desk) -> None:
    os.unlink(desk.here_path)
    os.unlink(desk.there_path)
    desk.look(5, desk.here_path.parent)
    assert report.totals(desk.database).missing == 1
    os.rmdir(desk.there_path.parent)
    desk.look(6, desk.there_path.parent)
    assert report.totals(desk.database).missing == 2


def test_a_root_that_goes_away_takes_nothing_with_it(desk: Desk) -> None:
    os.rename(desk.root, desk.root + ".away")
    assert desk.look(5, desk.here_path.parent) == set()
    assert report.totals(desk.database).missing == 0


def test_what_nobody_looked_at_before_a_restart_is_still_new(desk: Desk, paths: Paths, config: Config) -> None:
    """A look at one folder is not the last look at the others."""
    unseen = Session("unseen")
    os.utime(write(desk.root, unseen, unseen.turn(), folder="-elsewhere"), (NOW + 3, NOW + 3))
    write(desk.root, Session("new"), Session("new").turn(), folder="-here")
    desk.look(5, desk.here_path.parent)
    assert ledger.last_scan(desk.database, desk.root) == NOW + 1
    found = Sweeper(desk.database, paths, config).sweep(NOW + 9)
    assert (found.new_live, found.new_history) == (1, 0)


def test_what_a_root_hid_is_history_at_the_first_look_and_new_if_written_since_the_last(
    database: Database, paths: Paths, config: Config
) -> None:
    """Something that cannot be listed stands there instead: unlike a folder without rights, also to root."""
    sweeper = Sweeper(database, paths, config)
    os.makedirs(paths.claude_dir)
    away = paths.transcripts_root + ".away"
    for number, expected in enumerate([(0, 1), (1, 0)]):
        start = NOW + 10_000 * number
        if number:
            os.rename(paths.transcripts_root, away)
        with open(paths.transcripts_root, "w", encoding="ascii"):
            pass
        sweeper.sweep(start)
        session = Session(number)
        os.utime(write(away, session, session.turn()), (start + 1, start + 1))
        sweeper.sweep(start + 1000)  # late enough for a note of the last look
        os.unlink(paths.transcripts_root)
        os.rename(away, paths.transcripts_root)
        found = sweeper.sweep(start + 1001)
        assert (found.new_live, found.new_history) == expected


def test_what_is_odd_elsewhere_stays_known(desk: Desk) -> None:
    odd = desk.there_path.with_name("odd.jsonl")
    odd.mkdir()
    desk.sweeper.sweep(NOW + 2)
    write(desk.root, Session("new"), Session("new").turn(), folder="-here")
    desk.look(5, desk.here_path.parent)
    assert ledger.odd_files(desk.database, desk.root) == {str(odd): "directory"}


def test_a_move_between_folders_keeps_the_place(desk: Desk) -> None:
    moved = desk.there_path.with_name(desk.here_path.name)
    desk.here_path.rename(moved)
    desk.look(5, moved.parent)
    paths = {row["path"] for row in desk.database.query("SELECT path FROM transcripts WHERE missing_at IS NULL")}
    assert paths == {str(moved), str(desk.there_path)}
