"""Is it time? Every answer with its reason."""

from __future__ import annotations

import pytest

from memoryd.config import Config, Extraction, Projects
from memoryd.gates import extraction
from memoryd.model import Run, Skip, Wait, WaitingSession

SESSION = WaitingSession(
    transcript_id=1,
    session_id="s",
    path="/t/s.jsonl",
    cwd="/code/acme/src",
    project_root="/code/acme",
    active_at=1000.0,
    first_ended_at=1000.0,
    turn_ids=(1,),
)


@pytest.mark.parametrize(
    ("active_at", "now", "decision"),
    [
        (1000.0, 1019.0, Wait(1020.0, "session_active", "the session is being written")),
        (1000.0, 1020.0, Run("the session is quiet")),
        (1115.0, 1119.0, Wait(1120.0, "session_active", "the session is being written")),
        (1115.0, 1120.0, Run("its first turn has waited long enough")),
    ],
)
def test_a_session_is_due_when_it_is_quiet_or_has_waited_long(
    active_at: float, now: float, decision: Run | Wait
) -> None:
    assert extraction(SESSION._replace(active_at=active_at), Config(), "/state", now) == decision


@pytest.mark.parametrize(
    ("session", "config", "reason"),
    [
        (SESSION._replace(cwd="/state/work"), Config(), "own_session"),
        (SESSION, Config(projects=Projects(exclude=("/code/*",))), "excluded"),
        (SESSION, Config(projects=Projects(exclude=("/code/acme/src",))), "excluded"),
        (SESSION._replace(opted_out=True), Config(), "opted_out"),
        (SESSION._replace(collides_with="/code/a-c-m-e"), Config(), "slug_collision"),
        (SESSION._replace(is_gone=True), Config(), "transcript_gone"),
    ],
)
def test_a_session_that_is_left_alone_has_a_named_reason(session: WaitingSession, config: Config, reason: str) -> None:
    decision = extraction(session, config, "/state", 9e9)
    assert isinstance(decision, Skip)
    assert decision.reason == reason


FAILED_TWICE = "it failed 2 times in a row; `memoryd retry` tries at once"
FAILED_3_TIMES = "it failed 3 times in a row; `memoryd retry` tries at once"
QUIET = Run("the session is quiet")


@pytest.mark.parametrize("has_grown", [False, True])
def test_a_session_that_failed_waits_and_says_what_helps(has_grown: bool) -> None:
    """Before the breaker opens, time alone is enough."""
    session = SESSION._replace(failures=2, retry_at=5000.0, has_grown=has_grown)
    assert extraction(session, Config(), "/state", 4999.0) == Wait(5000.0, "backing_off", FAILED_TWICE)
    assert extraction(session, Config(), "/state", 5000.0) == QUIET


def test_the_breaker_is_open_until_the_transcript_grows_and_its_delay_is_over() -> None:
    session = SESSION._replace(failures=3, retry_at=5000.0, has_grown=False)
    assert extraction(session, Config(), "/state", 9e9) == Wait(None, "breaker_open", FAILED_3_TIMES)
    grown = session._replace(has_grown=True)
    assert extraction(grown, Config(), "/state", 4999.0) == Wait(5000.0, "breaker_open", FAILED_3_TIMES)
    assert extraction(grown, Config(), "/state", 5000.0) == QUIET


def test_a_breaker_that_was_closed_by_hand_is_closed() -> None:
    session = SESSION._replace(failures=0, retry_at=None, has_grown=False)
    assert extraction(session, Config(), "/state", 9e9) == QUIET


def test_a_probe_that_is_due_still_waits_for_silence() -> None:
    session = SESSION._replace(failures=3, retry_at=1000.0, active_at=5000.0, first_ended_at=5000.0)
    assert extraction(session, Config(), "/state", 5001.0) == Wait(
        5020.0, "session_active", "the session is being written"
    )


EVERY_3 = Config(extraction=Extraction(every_turns=3))
THROTTLED = Wait(1600.0, "throttled", "it is worked on every 3 turns")


@pytest.mark.parametrize(
    ("session", "now", "decision"),
    [
        (SESSION, 1021.0, THROTTLED),
        (SESSION._replace(turn_ids=(1, 2)), 1599.0, THROTTLED),
        (SESSION._replace(turn_ids=(1, 2, 3)), 1021.0, QUIET),
        (SESSION._replace(turn_ids=(1, 2, 3, 4)), 1021.0, QUIET),
        (SESSION._replace(turn_ids=(1, 2, 3)), 1019.0, Wait(1020.0, "session_active", "the session is being written")),
        (SESSION._replace(turn_ids=(1, 2)), 1600.0, QUIET),  # the session is over: what is left does not wait
        (SESSION._replace(is_trailing=True), 1021.0, QUIET),
        (
            SESSION._replace(is_trailing=True),
            1019.0,
            Wait(1020.0, "session_active", "the session is being written"),
        ),
    ],
)
def test_with_a_throttle_turns_are_worked_on_together(
    session: WaitingSession, now: float, decision: Run | Wait
) -> None:
    assert extraction(session, EVERY_3, "/state", now) == decision


def test_a_throttled_session_that_goes_on_is_not_over() -> None:
    """Its silence is counted from its last line, however long its first turn has waited."""
    session = SESSION._replace(active_at=5000.0, turn_ids=(1, 2))
    assert extraction(session, EVERY_3, "/state", 5100.0) == Wait(5600.0, "throttled", "it is worked on every 3 turns")


def test_a_failure_weighs_more_than_the_throttle_and_both_less_than_being_left_alone() -> None:
    failed = SESSION._replace(failures=1, retry_at=5000.0, turn_ids=(1, 2, 3), is_trailing=True)
    decision = extraction(failed, EVERY_3, "/state", 4000.0)
    assert isinstance(decision, Wait)
    assert (decision.until, decision.reason) == (5000.0, "backing_off")
    assert isinstance(extraction(failed._replace(opted_out=True), EVERY_3, "/state", 4000.0), Skip)


def test_a_directory_that_only_begins_like_the_state_directory_is_not_ours() -> None:
    assert extraction(SESSION._replace(cwd="/state-of-the-art"), Config(), "/state", 9e9) == Run("the session is quiet")
