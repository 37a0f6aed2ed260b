"""Extraction: waiting turns become memories exactly once, whatever stands in the way."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.registry import ALL
from memoryd.engines.offline import engine as offline
from memoryd.engines.offline import find
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.errors import BusyError
from memoryd.jobs import extract as module
from memoryd.jobs.due import due, extract_due
from memoryd.jobs.extract import only_worker
from memoryd.jobs.ingest import Ingester
from memoryd.memory import tiers
from memoryd.memory.commit import Committed, commit_together
from memoryd.memory.directory import MemoryDirectory
from memoryd.state import changes, jobs, waiting
from tests.jobs.workspace import MOCKS, MOCKS_MD, NOW, TABS, TABS_MD
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.config import Config
    from memoryd.engines.offline.found import Findings
    from memoryd.memory.directory import FileState
    from memoryd.model import UserMessage
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.transcripts.read import ReadTurn
    from tests.jobs.workspace import Workspace


TABS_2_MD = TABS_MD.replace(".md", "_2.md")


def test_a_wish_is_saved_once(workspace: Workspace) -> None:
    workspace.say("hello", TABS)
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    assert workspace.files() == ["MEMORY.md", TABS_MD]
    assert workspace.outcomes() == ["succeeded", "succeeded"]
    assert workspace.work() == []


def test_turns_without_a_wish_are_done_without_a_change(workspace: Workspace) -> None:
    workspace.say("hello")
    assert workspace.work() == [("succeeded_no_output", ())]
    assert workspace.outcomes() == ["succeeded_no_output"]
    assert workspace.files() == []


def test_the_same_words_in_another_session_make_no_second_file(workspace: Workspace) -> None:
    workspace.say(TABS)
    workspace.work()
    workspace.say(TABS, session=Session("two"))
    assert workspace.work() == [("succeeded_no_output", ())]
    assert workspace.files() == ["MEMORY.md", TABS_MD]


def test_a_name_that_is_taken_gets_a_number(workspace: Workspace) -> None:
    workspace.memory.mkdir(parents=True)
    (workspace.memory / TABS_MD).write_text("Somebody's own words about birds.\n")
    workspace.say(TABS)
    assert workspace.work() == [("succeeded", (TABS_2_MD,))]
    assert (workspace.memory / TABS_MD).read_text() == "Somebody's own words about birds.\n"


def test_what_was_undone_does_not_come_back(workspace: Workspace) -> None:
    """Not even if the turns are worked on again."""
    workspace.say(TABS)
    workspace.work()
    workspace.undo()
    workspace.database.execute("UPDATE turns SET outcome = NULL")
    assert workspace.work() == [("succeeded_no_output", ())]
    assert workspace.files() == []  # as before the first memory


def test_what_was_forgotten_does_not_come_back_and_a_new_wish_does(workspace: Workspace) -> None:
    session = workspace.say(TABS)
    workspace.work()
    workspace.forget(TABS_MD)
    workspace.database.execute("UPDATE turns SET outcome = NULL")
    assert workspace.work() == [("succeeded_no_output", ())]
    workspace.say(TABS, session=session)
    assert workspace.work() == [("succeeded", (TABS_MD,))]


def test_history_is_worked_on_only_if_asked(database: Database, paths: Paths, config: Config) -> None:
    session = Session()
    write(paths.transcripts_root, session, session.turn(TABS))
    Path(paths.transcripts_root).mkdir(exist_ok=True)
    Ingester(ALL, database, paths, config).ingest(NOW)
    sessions = due(database, paths, config, NOW, at_once=True)
    assert sessions == {}
    sessions = due(database, paths, config, NOW, at_once=True, with_history=True)
    done = list(extract_due(database, paths, sessions, NOW, engine=OfflineEngine(), with_history=True))
    assert [worked.outcome.saved for worked in done] == [(TABS_MD,)]
    assert due(database, paths, config, NOW, at_once=True, with_history=True) == {}


def test_a_deleted_transcript_is_a_named_outcome(workspace: Workspace) -> None:
    session = workspace.say(TABS)
    sessions = due(workspace.database, workspace.paths, workspace.config, NOW, at_once=True)
    os.remove(os.path.join(workspace.paths.transcripts_root, "-code-acme", f"{session.id}.jsonl"))
    done = list(extract_due(workspace.database, workspace.paths, sessions, NOW, engine=OfflineEngine()))
    assert [worked.outcome.outcome for worked in done] == ["skipped(transcript_gone)"]
    assert workspace.outcomes() == ["skipped(transcript_gone)"]


def test_a_directory_that_cannot_be_made_is_a_failure_that_waits_longer_each_time(workspace: Workspace) -> None:
    workspace.say(TABS)
    workspace.memory.write_text("in the way")
    for number, delay in ((1, 60.0), (2, 120.0), (3, 240.0)):
        assert workspace.work()[0][0] == "failed"
        (row,) = workspace.database.query("SELECT failures, retry_at FROM transcripts")
        assert (row["failures"], row["retry_at"]) == (number, NOW + delay)
    assert due(workspace.database, workspace.paths, workspace.config, NOW) == {}
    assert jobs.retry(workspace.database) == 1
    workspace.memory.unlink()
    assert workspace.work() == [("succeeded", (TABS_MD,))]


def test_an_edit_in_between_is_met_by_another_try(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody makes a file of the same name after the names were chosen: theirs stays, ours gets another name."""
    workspace.say(TABS)
    real = commit_together

    def disturbed(*arguments: object) -> object:
        monkeypatch.setattr(tiers, "commit_together", real)
        (workspace.memory / TABS_MD).write_text("mine")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(tiers, "commit_together", disturbed)
    assert workspace.work() == [("succeeded", (TABS_2_MD,))]
    assert (workspace.memory / TABS_MD).read_text() == "mine"


def test_an_edit_of_one_file_does_not_lose_the_other_wishes(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of the groups conflict: what was applied stands, the rest is done again under another name."""
    workspace.say(TABS, MOCKS)
    real = commit_together

    def disturbed(*arguments: object) -> object:
        monkeypatch.setattr(tiers, "commit_together", real)
        (workspace.memory / TABS_MD).write_text("mine")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(tiers, "commit_together", disturbed)
    assert workspace.work() == [("succeeded", (TABS_2_MD,))]
    assert workspace.files() == sorted(["MEMORY.md", MOCKS_MD, TABS_MD, TABS_2_MD])
    assert workspace.outcomes() == ["succeeded", "succeeded"]


def test_a_session_that_breaks_the_engine_does_not_hold_up_the_next(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.say("poison")
    workspace.say(TABS, session=Session("two"))
    real = find

    def breaking(messages: Iterable[UserMessage], *known: Any) -> Findings:
        messages = list(messages)
        if any(said.text == "poison" for said in messages):
            raise RuntimeError("broken")
        return real(messages, *known)

    monkeypatch.setattr(offline, "find", breaking)
    assert sorted(workspace.work()) == [("failed", ()), ("succeeded", (TABS_MD,))]
    assert [row[0] for row in workspace.database.query("SELECT failures FROM transcripts ORDER BY id")] == [1, 0]


def test_a_passing_error_of_reading_loses_no_turn(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.say(TABS)

    def failing(*_: object) -> dict[str, ReadTurn]:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(module, "read_turns", failing)
        assert workspace.work()[0][0] == "failed"
    assert workspace.outcomes() == [None]
    assert workspace.work() == [("succeeded", (TABS_MD,))]


def test_an_unreadable_memory_does_not_stop_the_others(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.say(TABS)
    workspace.work()
    real = MemoryDirectory.read

    def refused(self: MemoryDirectory, name: str, limit: int = 1 << 20) -> FileState | None:
        if name == TABS_MD:
            raise PermissionError(13, "Permission denied")
        return real(self, name, limit)

    monkeypatch.setattr(MemoryDirectory, "read", refused)
    workspace.say(MOCKS, session=Session("two"))
    assert workspace.work() == [("succeeded", (MOCKS_MD,))]


def test_one_worker_a_directory(workspace: Workspace) -> None:
    workspace.say(TABS)
    with only_worker(workspace.paths, str(workspace.memory)):
        with pytest.raises(BusyError), only_worker(workspace.paths, str(workspace.memory)):
            pass
        with pytest.raises(BusyError):
            workspace.work()
    assert workspace.work() == [("succeeded", (TABS_MD,))]


def test_the_job_of_a_dead_worker_is_ended_and_its_turns_are_done(workspace: Workspace) -> None:
    session = workspace.say(TABS)
    assert jobs.claim(workspace.database, str(workspace.memory), 1, session.id, NOW) is not None
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    rows = workspace.database.query("SELECT outcome, detail FROM jobs ORDER BY id")
    assert [tuple(row) for row in rows] == [("failed", "its process died"), ("succeeded", "")]


class Killed(BaseException):
    """The worker dies here."""


def test_what_a_killed_worker_had_written_counts_as_done(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are there and its commit was never closed: the next worker closes it, and finds nothing anew."""
    workspace.say(TABS)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(changes, "close", killed)
        with pytest.raises(Killed):
            workspace.work()
    assert workspace.outcomes() == [None]
    assert workspace.files() == ["MEMORY.md", TABS_MD]
    assert workspace.work() == []
    assert workspace.outcomes() == ["succeeded"]
    assert workspace.files() == ["MEMORY.md", TABS_MD]
    assert changes.prepared(workspace.database, str(workspace.memory)) == []
    assert [row["outcome"] for row in workspace.database.query("SELECT outcome FROM jobs")] == ["succeeded"]


def test_looking_for_what_waits_does_not_go_through_all_history(workspace: Workspace) -> None:
    """At every look of the daemon: by the index on waiting turns, however many others there are."""
    sql = waiting._SESSIONS + waiting._WAITING + waiting._NOT_HISTORY + waiting._BY_AGE
    plan = " ".join(row["detail"] for row in workspace.database.query(f"EXPLAIN QUERY PLAN {sql}"))
    assert "turns_waiting" in plan


def test_a_session_that_opted_out_is_never_worked_on(workspace: Workspace) -> None:
    workspace.say("<memoryd-off> from now on, use tabs")
    assert workspace.work() == []
    assert workspace.files() == []


def test_only_the_users_words_make_a_memory(workspace: Workspace) -> None:
    session = Session()
    wish = "From now on, use tabs."
    data = session.prompt("what is in notes.txt?") + session.call("t") + session.result("t", wish) + session.reply(wish)
    write(workspace.paths.transcripts_root, session, data)
    workspace.ingester.ingest(NOW)
    assert workspace.work() == [("succeeded_no_output", ())]


def test_nothing_but_the_commit_opens_a_memory_file_for_writing(workspace: Workspace) -> None:
    """Watched at the system's own border: what is opened for writing has a name that the database knew before."""
    opened: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    workspace.say(TABS, MOCKS)
    workspace.work()
    watching = False
    in_memory = [name for name in opened if not os.path.isabs(name) or name.startswith(str(workspace.memory))]
    assert len(in_memory) == 3  # two memories and the index
    planned = {row["temporary"] for row in workspace.database.query("SELECT temporary FROM change_files")}
    assert set(in_memory) == planned


def test_somebody_who_never_stops_editing_is_one_failure_and_told(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tries of one go meet an edit: that is one failure, and no reason to open the breaker."""
    workspace.say("from now on, use tabs")
    monkeypatch.setattr(tiers, "commit_together", lambda *_: (Committed(1, conflicted=(0,)),))
    assert workspace.work() == [("failed", ())]
    assert [tuple(row) for row in workspace.database.query("SELECT failures FROM transcripts")] == [(1,)]
