"""Session notes: kept current at the cost of what is new, whole or absent whatever happens, handed back once."""

from __future__ import annotations

import os
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.registry import ALL
from memoryd.config import Config, NotesSettings, ProjectSettings
from memoryd.jobs import notes as notes_job
from memoryd.jobs.notes import hand_back, notes_file, remove_old, update, update_before_compaction, update_due
from memoryd.jobs.notes_due import due
from memoryd.notes.sections import TITLES
from memoryd.recall.surface import HOOK_CHARACTERS
from memoryd.state import notes as kept_notes
from memoryd.state.database import open_database
from memoryd.state.notes import NotedSession
from tests.jobs.workspace import NOW
from tests.notes.working_session import SECRET, WorkingSession
from tests.transcript import write

if TYPE_CHECKING:
    from collections import Counter

    from memoryd.clients.base import Decoder
    from memoryd.model import Entry
    from memoryd.paths import Paths
    from tests.jobs.workspace import Workspace

DAY = 86_400.0
TURNS = 20


@pytest.fixture
def session() -> WorkingSession:
    return WorkingSession()


def work(workspace: Workspace, session: WorkingSession, first: int = 1, last: int = TURNS) -> None:
    """So many turns; twenty are more than 10,000 tokens."""
    append(workspace, session, b"".join(session.long_turn(number) for number in range(first, last + 1)))


def append(workspace: Workspace, session: WorkingSession, data: bytes) -> None:
    path = workspace.transcript(session)
    write(workspace.paths.transcripts_root, session, (path.read_bytes() if path.exists() else b"") + data)
    os.utime(path, (NOW, NOW))
    workspace.ingester.ingest(NOW)


def look(workspace: Workspace, now: float = NOW) -> list[Any]:
    return update_due(workspace.database, workspace.paths, workspace.config, now)


def file_of(workspace: Workspace, session: WorkingSession) -> Path:
    return Path(notes_file(workspace.paths, workspace.config, session.id))


def place_of(workspace: Workspace, session: WorkingSession) -> NotedSession:
    return NotedSession(session.id, ALL[0].name, str(workspace.transcript(session)), session.cwd)


def is_whole(text: str) -> bool:
    return [line[2:] for line in text.splitlines() if line.startswith("# ")] == list(TITLES) and text.endswith("\n")


def test_notes_begin_at_ten_thousand_tokens_and_are_private(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session, 1, 10)
    assert look(workspace) == []
    assert not file_of(workspace, session).exists()
    work(workspace, session, 11, TURNS)
    look(workspace)
    file = file_of(workspace, session)
    assert is_whole(file.read_text())
    assert "step 20: please make part 20" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert due(workspace.database, workspace.paths, workspace.config, NOW) == []


def test_a_later_look_reads_what_is_new_and_no_more(
    workspace: Workspace, session: WorkingSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(workspace, session)
    look(workspace)
    work(workspace, session, 21, 21)
    decode = ALL[0].decoder("")
    read: list[int] = []

    def counting() -> Decoder:
        def decoded(line: bytes, damage: Counter[str]) -> tuple[Entry, ...]:
            read.append(len(line))
            return decode(line, damage)

        return decoded

    monkeypatch.setattr(type(ALL[0]), "decoder", lambda _client, _path: counting())
    look(workspace)
    assert sum(read) < workspace.transcript(session).stat().st_size / 15
    assert "step 21:" in file_of(workspace, session).read_text()


def test_an_open_turn_waits_for_its_end(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    look(workspace)
    append(workspace, session, session.prompt("one more thing"))
    assert due(workspace.database, workspace.paths, workspace.config, NOW) == []
    append(workspace, session, session.reply("Done, too."))
    look(workspace)
    assert "Done, too." in file_of(workspace, session).read_text()


def test_a_rewritten_transcript_is_read_anew(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    look(workspace)
    other = WorkingSession()
    data = b"".join(other.long_turn(number) for number in range(101, 101 + TURNS))
    workspace.transcript(session).write_bytes(data)
    os.utime(workspace.transcript(session), (NOW, NOW))
    workspace.ingester.ingest(NOW)
    look(workspace)
    text = file_of(workspace, session).read_text()
    assert "step 101:" in text
    assert "step 1:" not in text


def test_what_is_ours_and_what_is_secret_is_not_in_the_notes(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    ours = "<memoryd-recall>\nReleases are cut from stable.\n</memoryd-recall>"
    append(workspace, session, session.turn(f"{ours}\nuse the key {SECRET} for now"))
    look(workspace)
    text = file_of(workspace, session).read_text()
    assert "use the key [redacted" in text
    assert "Releases are cut" not in text
    assert SECRET not in text
    (row,) = kept_notes.all_notes(workspace.database)
    assert SECRET not in row.facts


def test_an_opt_out_takes_the_notes_away(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    look(workspace)
    append(workspace, session, session.turn("<memoryd-off> this is private"))
    update_before_compaction(workspace.database, workspace.paths, workspace.config, place_of(workspace, session), NOW)
    assert not file_of(workspace, session).exists()
    (row,) = kept_notes.all_notes(workspace.database)
    assert "step" not in row.facts


def test_excluded_projects_and_a_switch_keep_notes_away(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    for config in (
        Config(projects=ProjectSettings(exclude=("/code/*",))),
        Config(features=Config().features._replace(notes=False)),
    ):
        assert due(workspace.database, workspace.paths, config, NOW) == []
    config = Config(projects=ProjectSettings(exclude=("/code/*",)))
    place = place_of(workspace, session)
    assert update_before_compaction(workspace.database, workspace.paths, config, place, NOW) is None


def test_one_bad_transcript_does_not_keep_others_from_their_notes(
    workspace: Workspace, session: WorkingSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = WorkingSession("bad")
    work(workspace, session)
    work(workspace, bad)
    read_on = notes_job.read_on

    def failing(place: NotedSession, *others: Any) -> Any:
        if place.session_id == bad.id:
            raise ValueError("what nobody thought of")
        return read_on(place, *others)

    monkeypatch.setattr(notes_job, "read_on", failing)
    assert [(place.session_id, why) for place, why in look(workspace)] == [(bad.id, "ValueError")]
    assert file_of(workspace, session).exists()
    assert look(workspace) == []  # until it grows
    monkeypatch.undo()
    work(workspace, bad, 21, 21)
    look(workspace)
    assert file_of(workspace, bad).exists()


# --- hand back --------------------------------------------------------------------------------------------------------


def test_after_a_compaction_notes_are_handed_back_once_however_short_the_session(
    workspace: Workspace, session: WorkingSession
) -> None:
    work(workspace, session, 1, 2)
    place = place_of(workspace, session)

    def handed(now: float = NOW, *, is_compacted: bool = True) -> str:
        return hand_back(workspace.database, workspace.paths, workspace.config, place, now, is_compacted=is_compacted)

    text = handed()
    assert "step 1: please make part 1" in text
    assert text.startswith("<memoryd-recall>")
    assert len(text) <= HOOK_CHARACTERS
    assert handed() == ""  # the same compaction
    work(workspace, session, 3, 3)
    assert "step 3:" in handed()
    assert handed(NOW + DAY, is_compacted=False) == ""  # it was left for a day only
    assert handed(NOW + 3 * DAY, is_compacted=False) == ""  # it has them still
    work(workspace, session, 4, 4)
    update(workspace.database, workspace.paths, workspace.config, place, NOW)
    assert "left some days ago" in handed(NOW + 3 * DAY, is_compacted=False)


def test_a_hook_whose_time_is_over_hands_back_what_it_has_read_and_goes_on_from_there(
    workspace: Workspace, session: WorkingSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes_job, "HOOK_SECONDS", 0.0)
    monkeypatch.setattr(notes_job, "_HOOK_BATCH_BYTES", 10_000)
    work(workspace, session)
    place, size = place_of(workspace, session), workspace.transcript(session).stat().st_size
    args = (workspace.database, workspace.paths, workspace.config, place, NOW)
    assert hand_back(*args, is_compacted=True)
    first = kept_notes.notes_of(workspace.database, session.id)
    assert first is not None
    assert 0 < first.cursor.offset < size
    assert is_whole(file_of(workspace, session).read_text())
    update_before_compaction(*args)
    second = kept_notes.notes_of(workspace.database, session.id)
    assert second is not None
    assert first.cursor.offset < second.cursor.offset < size


def test_a_session_that_vanished_is_handed_what_was_noted(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    look(workspace)
    workspace.transcript(session).unlink()
    workspace.ingester.ingest(NOW)
    assert due(workspace.database, workspace.paths, workspace.config, NOW) == []
    assert is_whole(file_of(workspace, session).read_text())
    place = place_of(workspace, session)
    assert "step 20" in hand_back(workspace.database, workspace.paths, workspace.config, place, NOW, is_compacted=True)


# --- two processes, the clock, the end --------------------------------------------------------------------------------


def test_two_processes_make_the_same_notes(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    update(workspace.database, workspace.paths, workspace.config, place_of(workspace, session), NOW)
    alone = file_of(workspace, session).read_text()
    kept_notes.drop(workspace.database, session.id)
    file_of(workspace, session).unlink()
    place, failures = place_of(workspace, session), []

    def run() -> None:
        try:
            with closing(open_database(workspace.paths)) as database:
                for _ in range(5):
                    update(database, workspace.paths, workspace.config, place, NOW)
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert file_of(workspace, session).read_text() == alone


def test_who_is_late_stores_nothing(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    first = update(workspace.database, workspace.paths, workspace.config, place_of(workspace, session), NOW)
    assert first is not None
    stale = first._replace(revision=first.revision - 1, facts="{}")
    assert not kept_notes.store(workspace.database, stale, lambda: pytest.fail("written"))
    assert kept_notes.notes_of(workspace.database, session.id) == first


def test_notes_go_seven_days_after_the_session_whatever_the_clock_did(
    workspace: Workspace, session: WorkingSession, paths: Paths
) -> None:
    work(workspace, session)
    look(workspace, NOW)
    file = file_of(workspace, session)
    stranger = file.parent / "mine.md"
    stranger.write_text("my own\n")
    os.utime(stranger, (0, 0))
    assert remove_old(workspace.database, paths, NOW - 7 * DAY, NOW) == 0
    workspace.database.execute(
        "UPDATE session_notes SET active_at = ?", (NOW + 900 * DAY,)
    )  # by a clock that was ahead
    assert remove_old(workspace.database, paths, NOW - 7 * DAY, NOW) == 0
    assert remove_old(workspace.database, paths, NOW + DAY, NOW + 8 * DAY) == 1
    assert not file.exists()
    assert stranger.exists()
    assert kept_notes.all_notes(workspace.database) == []


def test_another_directory_takes_the_notes_along(workspace: Workspace, session: WorkingSession, tmp_path: Path) -> None:
    work(workspace, session)
    look(workspace)
    before = file_of(workspace, session)
    config = workspace.config._replace(notes=NotesSettings(directory=str(tmp_path / "mine")))
    update(workspace.database, workspace.paths, config, place_of(workspace, session), NOW)
    assert not before.exists()
    assert is_whole((tmp_path / "mine" / before.name).read_text())


def test_notes_that_somebody_deleted_are_made_again(workspace: Workspace, session: WorkingSession) -> None:
    work(workspace, session)
    look(workspace)
    file_of(workspace, session).unlink()
    update(workspace.database, workspace.paths, workspace.config, place_of(workspace, session), NOW)
    assert is_whole(file_of(workspace, session).read_text())
