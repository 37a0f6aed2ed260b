"""Jobs in the database: leases and their neighbours, what a failure costs, when a breaker opens, which turns trail."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.backoff import SESSION
from memoryd.config import Config, Extraction
from memoryd.jobs.due import due
from memoryd.jobs.gates import extraction
from memoryd.memory import tiers
from memoryd.memory.commit import commit_together
from memoryd.model import Due, Wait
from memoryd.state import history, jobs, waiting
from memoryd.state.jobs import WaitingTurn
from tests.jobs.workspace import NOW, TABS, TABS_MD, Workspace
from tests.transcript import Session

if TYPE_CHECKING:
    from memoryd.model import WaitingSession
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.jobs import Job

MORNING = 1_792_314_000.0  # 2026-10-18T09:00:00Z, when the sessions of tests.transcript begin


@pytest.fixture
def workspace(database: Database, paths: Paths, config: Config) -> Workspace:
    return Workspace(database, paths, config)


def claim(workspace: Workspace, session: Session, now: float = NOW, *, with_history: bool = False) -> Job:
    (row,) = workspace.database.query("SELECT id FROM transcripts WHERE session_id = ?", (session.id,))
    job = jobs.claim(workspace.database, str(workspace.memory), row["id"], session.id, now, history=with_history)
    assert job is not None
    return job


def the_session(workspace: Workspace) -> WaitingSession:
    (session,) = waiting.waiting_sessions(workspace.database)
    return session


def open_again(workspace: Workspace, turn_id: int) -> None:
    """The workspace's time is so late that every turn has timed out."""
    workspace.database.execute("UPDATE turns SET end_reason = NULL, ended_at = NULL WHERE id = ?", (turn_id,))


# --- claiming ---------------------------------------------------------------------------------------------------------


def test_a_lease_knows_where_its_turns_stand_and_who_their_neighbours_are(workspace: Workspace) -> None:
    session = Session()
    one, two, three = session.turn("one"), session.turn("two"), session.turn("three")
    workspace.append(session, one + two + three)
    rows = workspace.database.query("SELECT prompt_id FROM turns ORDER BY id")
    ids = [row["prompt_id"] for row in rows]
    starts = [0, len(one), len(one) + len(two), len(one) + len(two) + len(three)]
    assert claim(workspace, session).turns == (
        WaitingTurn(1, ids[0], starts[0], starts[1], MORNING + 1, None, MORNING + 3),
        WaitingTurn(2, ids[1], starts[1], starts[2], MORNING + 3, starts[0], MORNING + 5, (ids[0],)),
        WaitingTurn(3, ids[2], starts[2], starts[3], MORNING + 5, starts[1], None, (ids[1], ids[0])),
    )


def test_neighbours_count_also_if_they_are_done_or_still_open(workspace: Workspace) -> None:
    session = workspace.say("one")
    workspace.work()
    workspace.append(session, session.turn("two") + session.prompt("three, not answered yet"))
    open_again(workspace, 3)
    (turn,) = claim(workspace, session).turns
    assert (turn.before, turn.next_said_at) == (0, MORNING + 5)


def test_turns_of_an_older_version_of_the_transcript_are_no_neighbours(workspace: Workspace) -> None:
    session = workspace.say("one", "two", "three")
    path = workspace.transcript(session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[2:]))
    workspace.ingester.ingest(NOW)
    turns = claim(workspace, session).turns
    assert [(turn.start, turn.before, turn.next_said_at) for turn in turns] == [
        (0, None, MORNING + 5),
        (len(lines[2]) + len(lines[3]), 0, None),
    ]


def test_turns_of_other_sessions_are_no_neighbours(workspace: Workspace) -> None:
    one, two = workspace.say("one"), workspace.say("two", session=Session("two"))
    assert [turn.before for session in (one, two) for turn in claim(workspace, session).turns] == [None, None]


def test_without_a_waiting_turn_there_is_no_job(workspace: Workspace) -> None:
    session = Session()
    workspace.append(session, session.prompt("not answered yet"))
    open_again(workspace, 1)
    assert jobs.claim(workspace.database, str(workspace.memory), 1, session.id, NOW) is None
    assert workspace.jobs() == []


# --- ending -----------------------------------------------------------------------------------------------------------


def test_turns_that_are_passed_over_keep_their_outcome_and_the_job_its_detail(workspace: Workspace) -> None:
    job = claim(workspace, workspace.say("one", "two"))
    jobs.pass_over(workspace.database, job, {1: "skipped(client_saved)"}, "left to the client")
    assert (workspace.outcomes(), workspace.jobs()) == (["skipped(client_saved)", None], [(None, "left to the client")])
    assert jobs.finish(workspace.database, job, "succeeded_no_output", NOW, turns=(1, 2))
    assert workspace.outcomes() == ["skipped(client_saved)", "succeeded_no_output"]
    assert workspace.jobs() == [("succeeded_no_output", "left to the client")]


def test_a_failure_or_a_death_is_told_beside_what_was_passed_over(workspace: Workspace) -> None:
    session = workspace.say("one", "two", "three")
    job = claim(workspace, session)
    jobs.pass_over(workspace.database, job, {1: "skipped(client_saved)"}, "left to the client")
    jobs.fail(workspace.database, job, "no space", NOW)
    job = claim(workspace, session)
    assert [turn.id for turn in job.turns] == [2, 3]
    jobs.pass_over(workspace.database, job, {2: "skipped(client_saved)"}, "left to the client")
    jobs.drop_lost(workspace.database, str(workspace.memory), NOW)
    assert workspace.jobs() == [
        ("failed", "left to the client; no space"),
        ("failed", "left to the client; its process died"),
    ]


def test_who_lost_the_lease_changes_nothing(workspace: Workspace) -> None:
    job = claim(workspace, workspace.say("one"))
    stolen = job._replace(token="another")  # noqa: S106 - a lease
    jobs.pass_over(workspace.database, stolen, {1: "skipped(client_saved)"}, "x")
    assert not jobs.finish(workspace.database, stolen, "succeeded", NOW, turns=(1,))
    assert (workspace.outcomes(), workspace.jobs()) == ([None], [(None, "")])
    assert jobs.finish(workspace.database, job, "succeeded", NOW, turns=(1,))
    jobs.pass_over(workspace.database, job, {1: "skipped(client_saved)"}, "x")
    assert (workspace.outcomes(), workspace.jobs()) == (["succeeded"], [("succeeded", "")])


# --- failing ----------------------------------------------------------------------------------------------------------


def fail(workspace: Workspace, session: Session, now: float) -> None:
    jobs.fail(workspace.database, claim(workspace, session, now), "broken", now)


def test_the_delay_doubles_up_to_a_longest(workspace: Workspace) -> None:
    session = workspace.say("one")
    delays = []
    for _ in range(11):
        fail(workspace, session, NOW)
        delays.append((the_session(workspace).retry_at or 0) - NOW)
    assert delays == [60.0 * 2**number for number in range(9)] + [SESSION.longest_seconds] * 2


def test_a_session_that_failed_a_thousand_times_can_fail_once_more(workspace: Workspace) -> None:
    session = workspace.say("one")
    workspace.database.execute("UPDATE transcripts SET failures = 5000")
    fail(workspace, session, NOW)
    assert the_session(workspace).retry_at == NOW + SESSION.longest_seconds


def test_after_three_failures_a_session_is_tried_once_for_each_growth_and_delay(workspace: Workspace) -> None:
    session = workspace.say("one")
    now = NOW
    for _ in range(3):
        assert isinstance(extraction(the_session(workspace), workspace.config, "/state", now), Due)
        fail(workspace, session, now)
        now += 3600
    for delay in (480, 960):
        decision = extraction(the_session(workspace), workspace.config, "/state", now)
        assert isinstance(decision, Wait)
        assert (decision.until, decision.reason) == (None, "breaker_open")
        assert due(workspace.database, workspace.paths, workspace.config, now) == {}
        workspace.say("more", session=session)
        assert isinstance(extraction(the_session(workspace), workspace.config, "/state", now), Due)
        fail(workspace, session, now)
        decision = extraction(the_session(workspace)._replace(has_grown=True), workspace.config, "/state", now)
        assert isinstance(decision, Wait)
        assert (decision.until, decision.reason) == (now + delay, "breaker_open")
        now += 36_000


def test_a_transcript_that_was_rewritten_and_is_shorter_counts_as_grown(workspace: Workspace) -> None:
    """Otherwise its turns would wait until it is as long as it once was."""
    session = workspace.say("one", "two", "three")
    for _ in range(3):
        fail(workspace, session, NOW)
    assert not the_session(workspace).has_grown
    path = workspace.transcript(session)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[4:]))
    workspace.ingester.ingest(NOW)
    assert the_session(workspace).has_grown


def test_retry_closes_the_breaker_and_says_for_how_many(workspace: Workspace) -> None:
    one, two = workspace.say("one"), workspace.say("two", session=Session("two"))
    workspace.say("well", session=Session("three"))
    for _ in range(3):
        fail(workspace, one, NOW)
    fail(workspace, two, NOW)
    assert jobs.retry(workspace.database) == 2
    assert jobs.retry(workspace.database) == 0
    decisions = [
        extraction(session, workspace.config, "/state", NOW) for session in waiting.waiting_sessions(workspace.database)
    ]
    assert decisions == [Due("the session is quiet")] * 3


def test_a_success_closes_the_breaker(workspace: Workspace) -> None:
    session = workspace.say(TABS)
    for _ in range(3):
        fail(workspace, session, NOW)
    assert workspace.work() == [("succeeded", (TABS_MD,))]
    (row,) = workspace.database.query("SELECT failures, retry_at FROM transcripts")
    assert tuple(row) == (0, None)


def test_a_worker_that_dies_right_behind_its_commit_leaves_the_session_well(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a commit closes is all there is to close: nothing is left to be done by a process that may be gone."""
    session = workspace.say(TABS)
    for _ in range(3):
        fail(workspace, session, NOW)

    def fatal(*arguments: Any) -> None:
        commit_together(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(tiers, "commit_together", fatal)
    with pytest.raises(KeyboardInterrupt):
        workspace.work()
    (row,) = workspace.database.query("SELECT failures, retry_at FROM transcripts")
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
    workspace: Workspace, started: float, ended: float | None, turn_ended: float, is_trailing: bool
) -> None:
    session = workspace.say("one")
    job = claim(workspace, session, started)
    if ended is not None:
        jobs.finish(workspace.database, job, "succeeded_no_output", ended, turns=(1,))
    workspace.say("two", session=session)
    workspace.database.execute("UPDATE turns SET ended_at = ? WHERE id = 2", (turn_ended,))
    workspace.database.execute("UPDATE turns SET outcome = 'succeeded' WHERE id = 1")
    assert the_session(workspace).is_trailing == is_trailing


def test_a_job_on_another_session_makes_no_turn_trail(workspace: Workspace) -> None:
    job = claim(workspace, workspace.say("one"), 100.0)
    jobs.finish(workspace.database, job, "succeeded_no_output", 110.0, turns=(1,))
    workspace.say("two", session=Session("two"))
    workspace.database.execute("UPDATE turns SET ended_at = 105.0")
    assert not the_session(workspace).is_trailing


def test_the_throttle_counts_waiting_turns_and_lets_what_is_left_go_in_the_end(workspace: Workspace) -> None:
    config = Config(extraction=Extraction(every_turns=3))
    session = workspace.say("one", "two")
    os.utime(workspace.transcript(session), (NOW, NOW))
    workspace.ingester.ingest(NOW)
    decision = extraction(the_session(workspace), config, "/state", NOW + 30)
    assert decision == Wait(NOW + 600, "throttled", "it is worked on every 3 turns")
    assert due(workspace.database, workspace.paths, config, NOW + 30) == {}
    assert list(due(workspace.database, workspace.paths, config, NOW + 30, at_once=True)) == [str(workspace.memory)]
    assert list(due(workspace.database, workspace.paths, config, NOW + 600)) == [str(workspace.memory)]
    workspace.say("three", session=session)
    assert list(due(workspace.database, workspace.paths, config, NOW + 30)) == [str(workspace.memory)]


# --- what history knows -----------------------------------------------------------------------------------------------


def test_history_knows_what_memoryd_made_and_wrote(workspace: Workspace) -> None:
    place = str(workspace.memory)
    assert (history.made(workspace.database, place), (TABS_MD in history.names_written(workspace.database, place))) == (
        set(),
        False,
    )
    workspace.say(TABS)
    workspace.work()
    ((name, _),) = history.made(workspace.database, place)
    assert name == TABS_MD
    assert TABS_MD in history.names_written(workspace.database, place)
    assert "another.md" not in history.names_written(workspace.database, place)
    assert TABS_MD not in history.names_written(workspace.database, "/elsewhere")
    assert history.made(workspace.database, "/elsewhere") == set()


def test_a_file_that_memoryd_only_took_away_was_never_written_by_it(workspace: Workspace) -> None:
    workspace.memory.mkdir(parents=True)
    (workspace.memory / "theirs.md").write_text("x\n")
    workspace.forget("theirs.md")
    assert "theirs.md" not in history.names_written(workspace.database, str(workspace.memory))


def test_evidence_is_given_by_file_and_without_what_was_undone(workspace: Workspace) -> None:
    place = str(workspace.memory)
    workspace.say(TABS)
    workspace.work()
    whole = history.evidence_in(workspace.database, place)
    assert list(whole) == [TABS_MD]
    assert history.evidence_of(workspace.database, place, TABS_MD) == whole[TABS_MD]
    assert history.evidence_in(workspace.database, place, "another.md") == {}
    workspace.undo()
    assert history.evidence_in(workspace.database, place) == {}
