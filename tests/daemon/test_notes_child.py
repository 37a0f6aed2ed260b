"""The child that makes session notes, as a real process: begun when a turn has ended, beside all others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import structlog

from memoryd.clients.registry import ALL
from memoryd.clock import SystemClock
from memoryd.config import Config
from memoryd.daemon.children import REST_SECONDS, Children
from memoryd.jobs.ingest import Ingester
from memoryd.jobs.notes import notes_file
from tests.notes.working_session import WorkingSession
from tests.transcript import write

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database


def children_of(seen: list[psutil.Process]) -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child not in seen]


def wait_for(child: psutil.Process) -> None:
    """Wait without hearing how it ended: that is for the children."""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def test_a_child_makes_notes_once_the_turn_has_ended(
    database: Database, paths: Paths, environment: dict[str, str]
) -> None:
    others, now, config = psutil.Process().children(), SystemClock().now(), Config()
    said: list[str] = []
    children = Children(paths, said.append, structlog.get_logger(), environment)
    session, file = WorkingSession(), Path(notes_file(paths, config, WorkingSession().id))
    os.makedirs(paths.transcripts_root)
    ingester = Ingester(ALL, database, paths, config)
    ingester.ingest(now)
    turns = b"".join(session.long_turn(number) for number in range(20))
    write(paths.transcripts_root, session, turns + session.prompt("and one more"))
    ingester.ingest(now)
    children.note(database, config, now)
    assert children_of(others) == []  # the turn goes on
    write(paths.transcripts_root, session, turns + session.prompt("and one more") + session.reply("Done at last."))
    ingester.ingest(now)
    with structlog.testing.capture_logs() as logs:
        children.note(database, config, now)
        (child,) = children_of(others)
        children.note(database, config, now)
        assert children_of(others) == [child]  # one at a time
        wait_for(child)
        children.handle_ended(database, now)
        assert "Done at last." in file.read_text()
        children.note(database, config, now)
        assert children_of(others) == []  # they are current
        assert (said, logs) == ([], [])
        database.execute("UPDATE session_notes SET offset = 0")
        children.note(database, config, now)
        (child,) = children_of(others)
        child.kill()
        wait_for(child)
        children.handle_ended(database, now)
        assert "tried again" in said[0]
        assert logs[0]["event"] == "noter died"
        children.note(database, config, now)
        assert children_of(others) == []  # not at once
        children.note(database, config, now + REST_SECONDS + 1)
        (child,) = children_of(others)
        children.stop(0)
    assert not child.is_running()
