"""Is it time? Pure: facts and the time in, a decision with its reason out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.model import Run, Skip, Wait
from memoryd.projects import is_below, is_excluded

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.model import WaitingSession

BREAKER_FAILURES = 3
"""So many failures in a row open a session's breaker: it is tried again only when its transcript has grown."""


def extraction(
    session: WaitingSession, config: Config, state_dir: str, now: float, hold: Wait | None = None
) -> Run | Wait | Skip:
    """Whether the waiting turns of a session are to be worked on now. `hold`: why nobody can work on any of them."""
    if skip := left_alone(session, config, state_dir):
        return skip
    return hold or _after_failures(session, now) or _throttle(session, config, now) or _silence(session, config, now)


def _after_failures(session: WaitingSession, now: float) -> Wait | None:
    """After a failure a delay, doubled each time; from the third on also something new in the transcript."""
    if not session.failures:
        if session.retry_at is not None and now < session.retry_at:
            return Wait(session.retry_at, "backing_off", "it could not be worked on a moment ago")
        return None
    times = "once" if session.failures == 1 else f"{session.failures} times in a row"
    failed = f"it failed {times}; `memoryd retry` tries at once"
    if session.failures >= BREAKER_FAILURES and not session.has_grown:
        return Wait(None, "breaker_open", failed)
    if session.retry_at is not None and now < session.retry_at:
        return Wait(session.retry_at, "breaker_open" if session.failures >= BREAKER_FAILURES else "backing_off", failed)
    return None


def _throttle(session: WaitingSession, config: Config, now: float) -> Wait | None:
    """Every so many turns; what is left of a session that has fallen silent, or fell due during a job, does not wait."""
    every = config.extraction.every_turns
    left_over_at = session.active_at + config.turns.give_up_seconds
    if session.is_trailing or len(session.turn_ids) >= every or now >= left_over_at:
        return None
    return Wait(left_over_at, "throttled", f"it is worked on every {every} turns")


def _silence(session: WaitingSession, config: Config, now: float) -> Run | Wait:
    quiet_at = session.active_at + config.turns.quiet_seconds
    latest_at = session.first_ended_at + config.turns.longest_wait_seconds
    if now >= quiet_at:
        return Run("the session is quiet")
    if now >= latest_at:
        return Run("its first turn has waited long enough")
    return Wait(min(quiet_at, latest_at), "session_active", "the session is being written")


def left_alone(session: WaitingSession, config: Config, state_dir: str) -> Skip | None:
    """Why a session is never worked on, if it is not."""
    if session.cwd and is_below(session.cwd, state_dir):
        return Skip("own_session", "memoryd does not read its own sessions")
    patterns = config.projects.exclude
    if is_excluded(session.project_root, patterns) or (session.cwd and is_excluded(session.cwd, patterns)):
        return Skip("excluded", "the config excludes this project")
    if session.opted_out:
        return Skip("opted_out", "a prompt in this session opted it out")
    if session.collides_with:
        return Skip("slug_collision", f"its memory directory belongs to {session.collides_with}")
    if session.is_gone:
        return Skip("transcript_gone", "its transcript is no longer there")
    return None
