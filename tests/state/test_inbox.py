"""The inbox in the database: what comes in, what is not stored twice, and how it leaves."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from memoryd.model import FileChange
from memoryd.state import changes, dreams, history, inbox, jobs
from memoryd.state.database import open_database
from memoryd.state.inbox import AnsweredError
from memoryd.state.inbox_intake import MOST_WAITING
from memoryd.state.schema import MIGRATIONS
from tests.inbox_rows import DOUBT, changeset, held, memory, numbered, store, words

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database

PLACE = "/memory"
NOW = 2_000_000_000.0
DAY = 86_400.0


def states(database: Database) -> list[tuple[int, str, str | None]]:
    rows = database.query("SELECT id, state, outcome FROM inbox ORDER BY id")
    return [(row[0], row[1], row[2]) for row in rows]


def begin_job(database: Database) -> jobs.Job:
    database.execute(
        "INSERT INTO transcripts (id, client, root, path, session_id, first_seen_at, history_bytes, device, inode,"
        " mtime_ns, active_at) VALUES (1, 'c', '/r', '/r/t', 's1', 1, 0, 1, 1, 1, 1)"
    )
    database.execute(
        "INSERT INTO turns (id, transcript_id, generation, prompt_id, start, end, is_history, pending_calls,"
        " answered, end_reason) VALUES (1, 1, 0, 'm1', 0, 1, 0, '[]', 1, 'end_turn')"
    )
    job = jobs.claim(database, PLACE, 1, "s1", NOW)
    assert job is not None
    return job


def test_a_row_comes_back_as_it_went_in(database: Database) -> None:
    group = held(before=memory("Under 400 lines."))
    also = FileChange("feedback_old.md", memory("Old."), None, mode=0o640)
    group = group._replace(
        group=group.group._replace(
            changes=(*group.group.changes, also), reason="merged", from_index=("a passage\n", "- another\n")
        )
    )
    (row,) = store(database, PLACE, group, now=NOW)
    assert row.held == group
    assert (row.memory_dir, row.project, row.session_id, row.at) == (PLACE, PLACE, "s1", NOW)
    assert row.newest_words == words()
    assert inbox.find(database, row.id) == row
    assert inbox.number_waiting(database) == 1


def test_nothing_is_seen_before_its_commit_is_closed(database: Database) -> None:
    change = changes.prepare(database, [changes.Part(PLACE, changeset(held()), ())], NOW)[0]
    assert inbox.waiting(database) == []
    assert inbox.number_waiting(database) == 0
    assert inbox.find(database, 1) is None
    changes.close(database, {change: set()}, NOW + 5)
    (row,) = inbox.waiting(database, PLACE)
    assert row.at == NOW + 5


@pytest.mark.parametrize(
    ("kind", "is_failed", "number"), [("extract", False, 0), ("dream", False, 1), ("dream", True, 0)]
)
def test_rows_of_a_commit_that_is_to_be_done_again_come_with_the_next(
    database: Database, kind: str, is_failed: bool, number: int
) -> None:
    """An extraction that met an edit reads its turns again; of a dream only what met the edit waits."""
    wanted = changeset(held(), kind=kind)
    change = changes.prepare(database, [changes.Part(PLACE, wanted, ())], NOW)[0]
    changes.close(database, {change: {0}}, NOW, is_failed=is_failed)
    assert inbox.number_waiting(database) == number
    assert len(states(database)) == number


def test_a_job_without_output_stores_them_with_its_end(database: Database) -> None:
    job = begin_job(database)
    assert jobs.finish(database, job, "succeeded_no_output", NOW, turns=(1,), held={PLACE: (held(),)})
    (row,) = inbox.waiting(database)
    assert (row.memory_dir, row.session_id) == (PLACE, "s1")
    assert not jobs.finish(database, job, "succeeded_no_output", NOW, turns=(1,), held={PLACE: (numbered(2),)}), (
        "its lease is gone"
    )
    assert inbox.number_waiting(database) == 1


def test_a_dream_without_output_stores_them_with_its_end(database: Database) -> None:
    job = dreams.begin(database, PLACE, "/project", "offline", NOW)
    assert dreams.end(database, job, "succeeded_no_output", NOW, held=(held(),))
    assert not dreams.end(database, job, "succeeded_no_output", NOW, held=(numbered(2),))
    (row,) = inbox.waiting(database)
    assert row.session_id == "s1", "where its words were said"


def test_what_is_refused_or_dropped_never_waits_and_is_listed(database: Database) -> None:
    secret = "sk-ant-api03-" + "a1B2c3D4" * 11 + "AA"
    refused = held("a.md", after=memory(f"The key is {secret}."), state="refused", reason="It would hold a secret.")
    assert store(database, PLACE, refused, held("b.md", state="dropped", said=(words("b"),)), now=NOW) == []
    listed = inbox.closed(database, PLACE)
    assert [(row.outcome, row.reason, row.names) for row in listed] == [
        ("dropped", DOUBT, ("b.md",)),
        ("refused", "It would hold a secret.", ("a.md",)),
    ]
    assert secret not in "\n".join(database._connection.iterdump())


# --- not twice --------------------------------------------------------------------------------------------------------


def test_the_same_group_is_stored_once_whenever_its_text_was_made(database: Database) -> None:
    store(database, PLACE, held(), now=NOW)
    again = held(after=memory("Under 300 lines.", modified="2026-10-19T11:00:00Z"))
    assert len(store(database, PLACE, again, held(), now=NOW + 1)) == 1
    others = [held("other.md"), held(after=memory("Under 200 lines.")), held(said=(words("other words"),))]
    assert len(store(database, PLACE, *others, now=NOW + 2)) == 4
    assert len(store(database, "/elsewhere", held(), now=NOW + 2)) == 1


def test_what_was_refused_is_told_once_and_may_be_held_later(database: Database) -> None:
    dropped = held(state="dropped")
    store(database, PLACE, dropped, now=NOW)
    store(database, PLACE, dropped, now=NOW)
    assert len(inbox.closed(database)) == 1
    assert len(store(database, PLACE, held(), now=NOW)) == 1


def test_what_expired_may_come_again(database: Database) -> None:
    store(database, PLACE, held(), now=NOW)
    assert inbox.expire(database, NOW + 1, NOW + 31 * DAY) == 1
    assert len(store(database, PLACE, held(), now=NOW + 31 * DAY)) == 1


def test_a_no_is_refused_evidence_and_what_rests_on_it_alone_does_not_come_again(database: Database) -> None:
    (row,) = store(database, PLACE, held(), now=NOW)
    inbox.reject(database, row.id, NOW + 1)
    assert history.is_refused(database, PLACE, words())
    assert not history.is_refused(database, "/elsewhere", words())
    assert history.refused_quotes(database, PLACE, "m1") == [words().quote]
    reworded = held(after=memory("At most 300 lines."))
    assert store(database, PLACE, held(), reworded, now=NOW + 2) == []
    assert len(inbox.closed(database)) == 1
    said_again = held(said=(words(), words("300 lines, I decided", "m2")))
    assert len(store(database, PLACE, said_again, now=NOW + 3)) == 1
    with pytest.raises(AnsweredError, match="rejected"):
        inbox.reject(database, row.id, NOW + 4)


def test_a_no_takes_no_words_from_a_memory_that_stands(database: Database) -> None:
    """A merge rests on what its sources rest on: who refuses the merge keeps the sources."""
    written = changeset(groups=(held("source.md").group,))
    change = changes.prepare(database, [changes.Part(PLACE, written, ())], NOW)[0]
    changes.close(database, {change: set()}, NOW)
    merge = held("target.md", said=(words(), words("more words", "m2")))
    (row,) = store(database, PLACE, merge, now=NOW)
    inbox.reject(database, row.id, NOW)
    assert not history.is_refused(database, PLACE, words())
    assert history.evidence_of(database, PLACE, "source.md") == [words()]
    assert history.is_refused(database, PLACE, words("more words", "m2"))
    assert store(database, PLACE, merge, now=NOW) == []


# --- leaving ----------------------------------------------------------------------------------------------------------


def test_beyond_its_room_the_oldest_unconfirmed_leave_first_then_the_oldest_held(database: Database) -> None:
    rows = [numbered(1), numbered(2, "unconfirmed"), numbered(3), numbered(4, "unconfirmed")]
    rows += [numbered(number) for number in range(5, MOST_WAITING + 1)]
    assert len(store(database, PLACE, *rows, now=NOW)) == MOST_WAITING
    left = []
    for number in range(MOST_WAITING + 1, MOST_WAITING + 5):
        waiting = store(database, PLACE, numbered(number), now=NOW + number)
        assert len(waiting) == MOST_WAITING
        left.append(inbox.closed(database)[0].names[0])
    assert left == ["feedback_2.md", "feedback_4.md", "feedback_1.md", "feedback_3.md"]
    assert {row.outcome for row in inbox.closed(database)} == {"displaced"}
    assert len(store(database, "/elsewhere", numbered(1), now=NOW)) == 1


def test_a_row_that_a_commit_is_about_is_neither_displaced_nor_expired_nor_rejected(database: Database) -> None:
    (row,) = store(database, PLACE, held(), now=NOW)
    change = changes.prepare(database, [changes.Part(PLACE, changeset(accepts=(row.id,), kind="review"), ())], NOW)[0]
    assert inbox.expire(database, NOW + 1, NOW) == 0
    with pytest.raises(AnsweredError):
        inbox.reject(database, row.id, NOW)
    with pytest.raises(AnsweredError):
        changes.prepare(database, [changes.Part(PLACE, changeset(accepts=(row.id,), kind="review"), ())], NOW)[0]
    store(database, PLACE, *(numbered(number) for number in range(MOST_WAITING)), now=NOW)
    changes.close(database, {change: set()}, NOW)
    assert states(database)[0] == (row.id, "held", "accepted")


def test_the_texts_of_closed_rows_go_with_history_and_the_lines_stay(database: Database) -> None:
    rows = store(database, PLACE, numbered(1), numbered(2), now=NOW)
    inbox.reject(database, rows[0].id, NOW)
    inbox.drop_contents(database, NOW + 1)
    (closed,) = inbox.closed(database)
    assert closed.names == ("feedback_1.md",)
    gone = inbox.find(database, rows[0].id)
    assert gone is not None
    assert gone.first.after is None
    assert inbox.waiting(database) == [rows[1]]


def test_where_something_waits_is_known_by_project(database: Database) -> None:
    database.execute(
        "INSERT INTO projects (root, slug, memory_dir, is_shared, first_seen_at) VALUES ('/code/app', 'a', '/memory', 0, 1)"
    )
    store(database, PLACE, numbered(1), numbered(2), now=NOW)
    store(database, "/elsewhere", numbered(3), now=NOW)
    assert inbox.waiting_counts(database) == [(PLACE, "/code/app", 2), ("/elsewhere", "/elsewhere", 1)]
    assert [row.project for row in inbox.waiting(database)] == ["/code/app", "/code/app", "/elsewhere"]


def test_refused_evidence_survives_the_step_that_made_the_inbox(paths: Paths) -> None:
    before = 6
    os.makedirs(paths.state_dir)
    connection = sqlite3.connect(paths.database)
    for step in MIGRATIONS[:before]:
        connection.executescript(step)
    connection.execute("INSERT INTO changes VALUES (7, '/memory', 'undo', '', '', NULL, NULL, NULL, 1.0, 'applied')")
    connection.execute("INSERT INTO refused_evidence VALUES ('/memory', 'm1', ?, 7)", (words().hash,))
    connection.execute(f"PRAGMA user_version = {before}")
    connection.commit()
    connection.close()
    database = open_database(paths)
    try:
        assert history.is_refused(database, "/memory", words())
        assert [tuple(row) for row in database.query("SELECT change_id, inbox_id FROM refused_evidence")] == [(7, None)]
        assert database.query("PRAGMA foreign_key_check") == []
        assert store(database, "/memory", held(), now=NOW) == []
    finally:
        database.close()
