"""Jobs in the database: leases and their neighbours, what a failure costs, when a breaker opens, which turns trail."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Config, Extraction
from memoryd.gates import extraction
from memoryd.jobs import extract
from memoryd.jobs.work import due
from memoryd.memory.commit import commit
from memoryd.model import Run, Wait
from memoryd.state import history, jobs, waiting
from memoryd.state.jobs import LONGEST_DELAY_SECONDS, WaitingTurn
from tests.jobs.desk import NOW, TABS, TABS_MD, Desk
from tests.sample import Session

if TYPE_CHECKING:
    from memoryd.model import WaitingSession
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.jobs import Job

MORNING = 1_792_314_000.0  # 2026-10-18T09:00:00Z, when the sessions of tests.sample begin


@pytest.fixture
def desk(database: Database, paths: Paths, config: Config) -> Desk:
    return Desk(database, paths, config)


def claim(desk: Desk, session: Session, now: float = NOW, *, with_history: bool = False) -> Job:
    (row,) = desk.database.query("SELECT id FROM transcripts WHERE session_id = ?", (session.id,))
    job = jobs.claim(desk.database, str(desk.memory), row["id"], session.id, now, history=with_history)
    assert job is not None
    return job


def the_session(desk: Desk) -> WaitingSession:
    (session,) = waiting.waiting_sessions(desk.database)
    return session


def open_again(desk: Desk, turn_id: int) -> None:
    """The desk's time is so late that every turn has timed out."""
    desk.database.execute("UPDATE turns SET end_reason = NULL, ended_at = NULL WHERE id = ?", (turn_id,))


# --- claiming ---------------------------------------------------------------------------------------------------------


def test_a_lease_knows_where_its_turns_stand_and_who_their_neighbours_are(desk: Desk) -> None:
    session = Session()
    one, two, three = session.turn("one"), session.turn("two"), session.turn("three")
    desk.append(session, one + two + three)
    rows = desk.database.query("SELECT prompt_id FROM turns ORDER BY id")
    ids = [row["prompt_id"] for row in rows]
    starts = [0, len(one), len(one) + len(two), len(one) + len(two) + len(three)]
    assert claim(desk, session).turns == (
        WaitingTurn(1, ids[0], starts[0], starts[1], MORNING + 1, None, MORNING + 3),
        WaitingTurn(2, ids[1], starts[1], starts[2], MORNING + 3, starts[0], MORNING + 5, (ids[0],)),
        WaitingTurn(3, ids[2], starts[2], starts[3], MORNING + 5, starts[1], None, (ids[1], ids[0])),
    )


def test_neighbours_count_also_if_they_are_done_or_still_open(desk: Desk) -> None:
    session = desk.say("one")
    desk.work()
    desk.append(session, session.turn("two") + session.prompt("three, not answered yet"))
    open_again(desk, 3)
    (turn,) = claim(desk, session).turns
    assert (turn.before, turn.next_said_at) == (0, MORNING + 5)


def test_turns_of_an_older_version_of_the_transcript_are_no_neighbours(desk: Desk) -> None:
    session = desk.say("one", "two", "three")
    path = desk.transcript(session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[2:]))
    desk.sweeper.sweep(NOW)
    turns = claim(desk, session).turns
    assert [(turn.start, turn.before, turn.next_said_at) for turn in turns] == [
        (0, None, MORNING + 5),
        (len(lines[2]) + len(lines[3]), 0, None),
    ]


def test_turns_of_other_sessions_are_no_neighbours(desk: Desk) -> None:
    one, two = desk.say("one"), desk.say("two", session=Session("two"))
    assert [turn.before for session in (one, two) for turn in claim(desk, session).turns] == [None, None]


def test_without_a_waiting_turn_there_is_no_job(desk: Desk) -> None:
    session = Session()
    desk.append(session, session.prompt("not answered yet"))
    open_again(desk, 1)
    assert jobs.claim(desk.database, str(desk.memory), 1, session.id, NOW) is None
    assert desk.jobs() == []


# --- ending -----------------------------------------------------------------------------------------------------------


def test_turns_that_are_passed_over_keep_their_outcome_and_the_job_its_detail(desk: Desk) -> None:
    job = claim(desk, desk.say("one", "two"))
    jobs.pass_over(desk.database, job, {1: "skipped(client_saved)"}, "left to the client")
    assert (desk.outcomes(), desk.jobs()) == (["skipped(client_saved)", None], [(None, "left to the client")])
    assert jobs.finish(desk.database, job, "succeeded_no_output", NOW, turns=(1, 2))
    assert desk.outcomes() == ["skipped(client_saved)", "succeeded_no_output"]
    assert desk.jobs() == [("succeeded_no_output", "left to the client")]


def test_a_failure_or_a_death_is_told_beside_what_was_passed_over(desk: Desk) -> None:
    session = desk.say("one", "two", "three")
    job = claim(desk, session)
    jobs.pass_over(desk.database, job, {1: "skipped(client_saved)"}, "left to the client")
    jobs.fail(desk.database, job, "no space", NOW)
    job = claim(desk, session)
    assert [turn.id for turn in job.turns] == [2, 3]
    jobs.pass_over(desk.database, job, {2: "skipped(client_saved)"}, "left to the client")
    jobs.drop_lost(desk.database, str(desk.memory), NOW)
    assert desk.jobs() == [
        ("failed", "left to the client; no space"),
        ("failed", "left to the client; its process died"),
    ]


def test_who_lost_the_lease_changes_nothing(desk: Desk) -> None:
    job = claim(desk, desk.say("one"))
    stolen = job._replace(token="another")  # noqa: S106 - a lease
    jobs.pass_over(desk.database, stolen, {1: "skipped(client_saved)"}, "x")
    assert not jobs.finish(desk.database, stolen, "succeeded", NOW, turns=(1,))
    assert (desk.outcomes(), desk.jobs()) == ([None], [(None, "")])
    assert jobs.finish(desk.database, job, "succeeded", NOW, turns=(1,))
    jobs.pass_over(desk.database, job, {1: "skipped(client_saved)"}, "x")
    assert (desk.outcomes(), desk.jobs()) == (["succeeded"], [("succeeded", "")])


# --- failing ----------------------------------------------------------------------------------------------------------


def fail(desk: Desk, session: Session, now: float) -> None:
    jobs.fail(desk.database, claim(desk, session, now), "broken", now)


def test_the_delay_doubles_up_to_a_longest(desk: Desk) -> None:
    session = desk.say("one")
    delays = []
    for _ in range(11):
        fail(desk, session, NOW)
        delays.append((the_session(desk).retry_at or 0) - NOW)
    assert delays == [60.0 * 2**number for number in range(9)] + [LONGEST_DELAY_SECONDS] * 2


def test_a_session_that_failed_a_thousand_times_can_fail_once_more(desk: Desk) -> None:
    session = desk.say("one")
    desk.database.execute("UPDATE transcripts SET failures = 5000")
    fail(desk, session, NOW)
    assert the_session(desk).retry_at == NOW + LONGEST_DELAY_SECONDS


def test_after_three_failures_a_session_is_tried_once_for_each_growth_and_delay(desk: Desk) -> None:
    session = desk.say("one")
    now = NOW
    for _ in range(3):
        assert isinstance(extraction(the_session(desk), desk.config, "/state", now), Run)
        fail(desk, session, now)
        now += 3600
    for delay in (480, 960):
        decision = extraction(the_session(desk), desk.config, "/state", now)
        assert isinstance(decision, Wait)
        assert (decision.until, decision.reason) == (None, "breaker_open")
        assert due(desk.database, desk.paths, desk.config, now) == {}
        desk.say("more", session=session)
        assert isinstance(extraction(the_session(desk), desk.config, "/state", now), Run)
        fail(desk, session, now)
        decision = extraction(the_session(desk)._replace(has_grown=True), desk.config, "/state", now)
        assert isinstance(decision, Wait)
        assert (decision.until, decision.reason) == (now + delay, "breaker_open")
        now += 36_000


def test_a_transcript_that_was_rewritten_and_is_shorter_counts_as_grown(desk: Desk) -> None:
    """Otherwise its turns would wait until it is as long as it once was."""
    session = desk.say("one", "two", "three")
    for _ in range(3):
        fail(desk, session, NOW)
    assert not the_session(desk).has_grown
    path = desk.transcript(session)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[4:]))
    desk.sweeper.sweep(NOW)
    assert the_session(desk).has_grown


def test_retry_closes_the_breaker_and_says_for_how_many(desk: Desk) -> None:
    one, two = desk.say("one"), desk.say("two", session=Session("two"))
    desk.say("well", session=Session("three"))
    for _ in range(3):
        fail(desk, one, NOW)
    fail(desk, two, NOW)
    assert jobs.retry(desk.database) == 2
    assert jobs.retry(desk.database) == 0
    decisions = [extraction(session, desk.config, "/state", NOW) for session in waiting.waiting_sessions(desk.database)]
    assert decisions == [Run("the session is quiet")] * 3


def test_a_success_closes_the_breaker(desk: Desk) -> None:
    session = desk.say(TABS)
    for _ in range(3):
        fail(desk, session, NOW)
    assert desk.work() == [("succeeded", (TABS_MD,))]
    (row,) = desk.database.query("SELECT failures, retry_at FROM transcripts")
    assert tuple(row) == (0, None)


def test_a_worker_that_dies_right_behind_its_commit_leaves_the_session_well(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a commit closes is all there is to close: nothing is left to be done by a process that may be gone."""
    session = desk.say(TABS)
    for _ in range(3):
        fail(desk, session, NOW)

    def fatal(*arguments: Any) -> None:
        commit(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(extract, "commit", fatal)
    with pytest.raises(KeyboardInterrupt):
        desk.work()
    (row,) = desk.database.query("SELECT failures, retry_at FROM transcripts")
    assert tuple(row) == (0, None)


# --- trailing turns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("started", "ended", "turn_ended", "is_trailing"),
    [
        (100.0, 110.0, 105.0, True),
        (100.0, 110.0, 110.0, True),
        (100.0, 110.0, 100.0, False),
        (100.0, 110.0, 111.0, False),
        (100.0, None, 105.0, False),  # the job still runs
    ],
)
def test_a_turn_that_ended_while_a_job_on_its_session_ran_trails(
    desk: Desk, started: float, ended: float | None, turn_ended: float, is_trailing: bool
) -> None:
    session = desk.say("one")
    job = claim(desk, session, started)
    if ended is not None:
        jobs.finish(desk.database, job, "succeeded_no_output", ended, turns=(1,))
    desk.say("two", session=session)
    desk.database.execute("UPDATE turns SET ended_at = ? WHERE id = 2", (turn_ended,))
    desk.database.execute("UPDATE turns SET outcome = 'succeeded' WHERE id = 1")
    assert the_session(desk).is_trailing == is_trailing


def test_a_job_on_another_session_makes_no_turn_trail(desk: Desk) -> None:
    job = claim(desk, desk.say("one"), 100.0)
    jobs.finish(desk.database, job, "succeeded_no_output", 110.0, turns=(1,))
    desk.say("two", session=Session("two"))
    desk.database.execute("UPDATE turns SET ended_at = 105.0")
    assert not the_session(desk).is_trailing


def test_the_throttle_counts_waiting_turns_and_lets_what_is_left_go_in_the_end(desk: Desk) -> None:
    config = Config(extraction=Extraction(every_turns=3))
    session = desk.say("one", "two")
    os.utime(desk.transcript(session), (NOW, NOW))
    desk.sweeper.sweep(NOW)
    decision = extraction(the_session(desk), config, "/state", NOW + 30)
    assert decision == Wait(NOW + 600, "throttled", "it is worked on every 3 turns")
    assert due(desk.database, desk.paths, config, NOW + 30) == {}
    assert list(due(desk.database, desk.paths, config, NOW + 30, at_once=True)) == [str(desk.memory)]
    assert list(due(desk.database, desk.paths, config, NOW + 600)) == [str(desk.memory)]
    desk.say("three", session=session)
    assert list(due(desk.database, desk.paths, config, NOW + 30)) == [str(desk.memory)]


# --- what history knows -----------------------------------------------------------------------------------------------


def test_history_knows_what_memoryd_made_and_wrote(desk: Desk) -> None:
    place = str(desk.memory)
    assert (history.made(desk.database, place), (TABS_MD in history.names_written(desk.database, place))) == (
        set(),
        False,
    )
    desk.say(TABS)
    desk.work()
    ((name, _),) = history.made(desk.database, place)
    assert name == TABS_MD
    assert TABS_MD in history.names_written(desk.database, place)
    assert "another.md" not in history.names_written(desk.database, place)
    assert TABS_MD not in history.names_written(desk.database, "/elsewhere")
    assert history.made(desk.database, "/elsewhere") == set()


def test_a_file_that_memoryd_only_took_away_was_never_written_by_it(desk: Desk) -> None:
    desk.memory.mkdir(parents=True)
    (desk.memory / "theirs.md").write_text("x\n")
    desk.forget("theirs.md")
    assert "theirs.md" not in history.names_written(desk.database, str(desk.memory))


def test_evidence_is_given_by_file_and_without_what_was_undone(desk: Desk) -> None:
    place = str(desk.memory)
    desk.say(TABS)
    desk.work()
    whole = history.evidence_in(desk.database, place)
    assert list(whole) == [TABS_MD]
    assert history.evidence_of(desk.database, place, TABS_MD) == whole[TABS_MD]
    assert history.evidence_in(desk.database, place, "another.md") == {}
    desk.undo()
    assert history.evidence_in(desk.database, place) == {}
