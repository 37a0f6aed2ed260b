"""Is it time? Every answer with its reason."""

from __future__ import annotations

import pytest

from memoryd.config import Config, Projects
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
        (1000.0, 1019.0, Wait(1020.0, "the session is being written")),
        (1000.0, 1020.0, Run("the session is quiet")),
        (1115.0, 1119.0, Wait(1120.0, "the session is being written")),
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


def test_a_session_that_failed_waits_and_says_what_helps() -> None:
    decision = extraction(SESSION._replace(failures=2, retry_at=5000.0), Config(), "/state", 4000.0)
    assert decision == Wait(5000.0, "it failed 2 times in a row; `memoryd retry` tries at once")
    assert extraction(SESSION._replace(failures=2, retry_at=5000.0), Config(), "/state", 5000.0) == Run(
        "the session is quiet"
    )


def test_a_directory_that_only_begins_like_the_state_directory_is_not_ours() -> None:
    assert extraction(SESSION._replace(cwd="/state-of-the-art"), Config(), "/state", 9e9) == Run("the session is quiet")
