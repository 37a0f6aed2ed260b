"""Is it time? Every answer with its reason."""

from __future__ import annotations

import pytest

from memoryd.config import Config, Extraction, Features, ProjectSettings
from memoryd.jobs import gates
from memoryd.jobs.gates import LastDream, extraction
from memoryd.model import Due, Skip, Wait, WaitingSession

SESSION = WaitingSession(
    transcript_id=1,
    session_id="s",
    client="claude-code",
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
        (1000.0, 1020.0, Due("the session is quiet")),
        (1115.0, 1119.0, Wait(1120.0, "session_active", "the session is being written")),
        (1115.0, 1120.0, Due("its first turn has waited long enough")),
    ],
)
def test_a_session_is_due_when_it_is_quiet_or_has_waited_long(
    active_at: float, now: float, decision: Due | Wait
) -> None:
    assert extraction(SESSION._replace(active_at=active_at), Config(), "/state", now) == decision


@pytest.mark.parametrize(
    ("session", "config", "reason"),
    [
        (SESSION._replace(cwd="/state/work"), Config(), "own_session"),
        (SESSION, Config(projects=ProjectSettings(exclude=("/code/*",))), "excluded"),
        (SESSION, Config(projects=ProjectSettings(exclude=("/code/acme/src",))), "excluded"),
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
QUIET = Due("the session is quiet")


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
    session: WaitingSession, now: float, decision: Due | Wait
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
    assert extraction(SESSION._replace(cwd="/state-of-the-art"), Config(), "/state", 9e9) == Due("the session is quiet")


# --- consolidation ----------------------------------------------------------------------------------------------------

HOUR = 3600.0
DAY, YEAR = 24 * HOUR, 365 * 24 * HOUR
NOW = 2_000_000_000.0


@pytest.mark.parametrize(
    ("lock_at", "first_seen_at", "noticed_at", "expected"),
    [
        pytest.param(NOW - 5 * DAY, NOW - 9 * DAY, None, LastDream(NOW - 5 * DAY), id="the lock is later"),
        pytest.param(NOW - 9 * DAY, NOW - 5 * DAY, None, LastDream(NOW - 5 * DAY), id="the first sight is later"),
        pytest.param(None, NOW - 5 * DAY, None, LastDream(NOW - 5 * DAY), id="no lock"),
        pytest.param(NOW + DAY, NOW - DAY, None, LastDream(NOW + DAY), id="a small step back is believed"),
        pytest.param(NOW + YEAR, NOW - DAY, None, LastDream(NOW, True), id="a lock of next year, noticed now"),
        pytest.param(NOW + YEAR, NOW - DAY, NOW - HOUR, LastDream(NOW - HOUR, True), id="noticed an hour ago"),
        pytest.param(NOW + YEAR, NOW - DAY, NOW + HOUR, LastDream(NOW, True), id="noticed in the future: noticed now"),
        pytest.param(
            NOW + YEAR, NOW - HOUR, NOW - DAY, LastDream(NOW - HOUR, True), id="first seen after it was noticed"
        ),
        pytest.param(NOW + HOUR, NOW - DAY, NOW - HOUR, LastDream(NOW - HOUR, True), id="noticed, and nearer by now"),
        pytest.param(NOW - HOUR, NOW - DAY, NOW - 2 * HOUR, LastDream(NOW - HOUR), id="noticed, and passed by now"),
        pytest.param(None, NOW + YEAR, None, LastDream(NOW), id="first seen next year: now"),
        pytest.param(NOW - DAY, NOW + YEAR, None, LastDream(NOW), id="first seen next year, beside a lock: now"),
        pytest.param(NOW + YEAR, NOW + YEAR, NOW - DAY, LastDream(NOW, True), id="both next year"),
    ],
)
def test_a_day_is_counted_from_the_last_dream_or_the_first_sight_whatever_the_clock_did(
    lock_at: float | None, first_seen_at: float, noticed_at: float | None, expected: LastDream
) -> None:
    assert gates.last_dreamt(lock_at, first_seen_at, noticed_at, DAY, NOW) == expected


def test_the_switch_keeps_dreams_away_and_says_what_works_all_the_same() -> None:
    hold = Wait(NOW + 5, "budget_reached", "the day's budget is spent")
    off = Config(features=Features(dream=False))
    assert gates.dream_switch(off, hold) == Wait(
        None, "switched_off", "`features.dream` is off; `memoryd dream-now` works all the same"
    )
    assert gates.dream_switch(Config(), hold) == hold
    assert gates.dream_switch(Config(), None) is None


def test_a_dream_is_due_a_day_after_the_last() -> None:
    waits = Wait(NOW + DAY, "too_soon", "the last one was less than 24 h ago")
    assert gates.dream_time(NOW, NOW, Config(), NOW + DAY - 1) == waits
    assert gates.dream_time(NOW, NOW, Config(), NOW - HOUR) == waits
    assert gates.dream_time(NOW, NOW, Config(), NOW + DAY) is None


@pytest.mark.parametrize("lock_at", [None, NOW - 3 * DAY])
def test_a_new_project_is_not_said_to_have_dreamt_today(lock_at: float | None) -> None:
    waits = Wait(NOW + DAY, "too_soon", "the project was first seen less than 24 h ago")
    assert gates.dream_time(NOW, lock_at, Config(), NOW + HOUR) == waits


@pytest.mark.parametrize(
    ("retry_at", "expected"),
    [
        (None, None),
        (NOW - 1, None),
        (NOW, None),
        (NOW + HOUR, Wait(NOW + HOUR, "backing_off", "it failed 2 times in a row; `memoryd dream-now` tries at once")),
        (NOW + DAY + 1, None),  # nobody waits so long: the clock was set back since
    ],
)
def test_after_failures_a_dream_waits_a_day_at_most(retry_at: float | None, expected: Wait | None) -> None:
    assert gates.dream_retry(retry_at, 2, NOW) == expected


@pytest.mark.parametrize(
    ("counted_at", "waits"), [(None, False), (NOW, True), (NOW - 599, True), (NOW - 600, False), (NOW + 1, False)]
)
def test_sessions_are_counted_every_ten_minutes(counted_at: float | None, waits: bool) -> None:
    decision = gates.dream_throttle(counted_at, Config(), NOW)
    if waits:
        assert counted_at is not None
        assert decision == Wait(counted_at + 600, "counted_recently", "sessions are counted every 10 min")
    else:
        assert decision is None


def test_five_sessions_have_to_change() -> None:
    assert gates.dream_sessions(5, Config(), NOW) == Due("5 sessions changed")
    assert gates.dream_sessions(4, Config(), NOW) == Wait(
        NOW + 600, "too_few_sessions", "4 of 5 sessions changed since the last one"
    )


def test_whoever_holds_the_lock_is_named() -> None:
    assert gates.dream_lock(None, 0.0) is None
    assert gates.dream_lock(4711, NOW + 60) == Wait(NOW + 60, "lock_held", "process 4711 is consolidating")


@pytest.mark.parametrize(
    ("silence", "is_open", "counts"),
    [(19.0, False, 0), (20.0, False, 1), (20.0, True, 0), (599.0, True, 0), (600.0, True, 1), (-19.0, False, 0)],
)
def test_the_session_that_is_being_written_does_not_count(silence: float, is_open: bool, counts: int) -> None:
    session = SESSION._replace(active_at=NOW - silence)
    assert gates.counted([(session, is_open)], Config(), "/state", NOW) == counts


@pytest.mark.parametrize(
    "session",
    [
        SESSION._replace(opted_out=True),
        SESSION._replace(is_gone=True),
        SESSION._replace(cwd="/state/work"),
        SESSION._replace(cwd="/code/secret"),
        SESSION._replace(collides_with="/code/a-c-m-e"),
    ],
)
def test_sessions_that_are_left_alone_do_not_count(session: WaitingSession) -> None:
    config = Config(projects=ProjectSettings(exclude=("/code/secret",)))
    assert gates.counted([(SESSION, False), (session, False)], config, "/state", NOW) == 1
