"""Gates: decide from facts and the time whether a job is due, with the reason. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.backoff import DREAM
from memoryd.clock import time_of_day_after, time_of_day_before
from memoryd.formatting import count
from memoryd.model import Due, Skip, Wait
from memoryd.paths import is_below
from memoryd.projects import is_excluded
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.config import Config
    from memoryd.model import WaitingSession

_HOUR = 3600.0
_NIGHT = (3, 4)
"""Hours of the day for work that keeps the disk busy."""
BREAKER_FAILURES = 3
"""Failures in a row after which a session is tried again only when its transcript has grown."""


def extraction(
    session: WaitingSession, config: Config, state_dir: str, now: float, hold: Wait | None = None
) -> Due | Wait | Skip:
    """Whether the waiting turns of a session are to be worked on now. `hold`: why the engine cannot work now."""
    if skip := left_alone(session, config, state_dir):
        return skip
    if not config.features.extraction:
        return Wait(None, "switched_off", "`features.extraction` is off; `memoryd extract-now` works all the same")
    return hold or _after_failures(session, now) or _throttle(session, config, now) or _silence(session, config, now)


def _after_failures(session: WaitingSession, now: float) -> Wait | None:
    """Wait after a failure, doubled each time; from the third on also until the transcript has grown."""
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
    """Wait until enough turns have ended; the rest of a silent session, or turns that came during a job, do not wait."""
    every = config.extraction.every_turns
    left_over_at = session.active_at + config.turns.give_up_seconds
    if session.is_trailing or len(session.turn_ids) >= every or now >= left_over_at:
        return None
    return Wait(left_over_at, "throttled", f"it is worked on every {every} turns")


def _silence(session: WaitingSession, config: Config, now: float) -> Due | Wait:
    if config.engine == "claude":
        return _long_silence(session, config, now)
    quiet_at = session.active_at + config.turns.quiet_seconds
    latest_at = session.first_ended_at + config.turns.longest_wait_seconds
    if now >= quiet_at:
        return Due("the session is quiet")
    if now >= latest_at:
        return Due("its first turn has waited long enough")
    return Wait(min(quiet_at, latest_at), "session_active", "the session is being written")


def _long_silence(session: WaitingSession, config: Config, now: float) -> Due | Wait:
    """The limit of `claude` is that of the user's own work: a session is read once, when nobody is at it."""
    if session.is_released:
        return Due("the session has ended or is compacted")
    quiet_at = session.active_at + config.claude.quiet_minutes * 60
    if now >= quiet_at:
        return Due("the session is quiet")
    return Wait(
        quiet_at, "session_active", f"claude reads it when it was quiet for {config.claude.quiet_minutes:g} min"
    )


def place_left_alone(cwd: str, project_root: str, config: Config, state_dir: str) -> Skip | None:
    """Reason why no session at this place is read; None if those are."""
    if cwd and is_below(cwd, state_dir):
        return Skip("own_session", "memoryd does not read its own sessions")
    patterns = config.projects.exclude
    if is_excluded(project_root, patterns) or (cwd and is_excluded(cwd, patterns)):
        return Skip("excluded", "the config excludes this project")
    return None


def left_alone(session: WaitingSession, config: Config, state_dir: str) -> Skip | None:
    """Reason why a session is never worked on; None if it is."""
    if skip := place_left_alone(session.cwd, session.project_root, config, state_dir):
        return skip
    if session.opted_out:
        return Skip("opted_out", "a prompt in this session opted it out")
    if session.collides_with:
        return Skip("slug_collision", f"its memory directory belongs to {session.collides_with}")
    if session.is_gone:
        return Skip("transcript_gone", "its transcript is no longer there")
    return None


# --- consolidation: cheapest first, the first no ends the check -------------------------------------------------------


class LastDream(NamedTuple):
    """Time of the last dream, corrected for a clock that was set."""

    since: float
    """Time from which a day and changed sessions are counted."""
    is_ahead: bool = False
    """The lock's time is too far ahead of the clock to be believed; the time at which that was noticed counts."""


def last_dreamt(
    lock_at: float | None, first_seen_at: float, noticed_at: float | None, least_seconds: float, now: float
) -> LastDream:
    """The later of the lock's time and the first sight of the project, corrected for clocks that were set.

    A first sight in the future counts as now. A lock time that is ahead by less than the waiting time is believed: it was
    a small step back, and a day more does no harm. Beyond that the clock was wrong when the lock was written; then the
    time at which that was noticed counts, also when the clock comes nearer to it. `noticed_at` is None, or itself ahead,
    where it is noticed now.
    """
    seen_at = min(first_seen_at, now)
    if lock_at is None:
        return LastDream(seen_at)
    is_ahead = lock_at - now > least_seconds or (noticed_at is not None and lock_at > now)
    if is_ahead:
        lock_at = noticed_at if noticed_at is not None and noticed_at <= now else now
    return LastDream(max(lock_at, seen_at), is_ahead)


def dream_switch(config: Config, hold: Wait | None) -> Wait | None:
    if not config.features.dream:
        return Wait(None, "switched_off", "`features.dream` is off; `memoryd dream-now` works all the same")
    return hold


def dream_time(since: float, lock_at: float | None, config: Config, now: float) -> Wait | None:
    due_at = since + config.dream.least_hours * 3600
    if now >= due_at:
        return None
    # Where the first sight is the later one, there may never have been a dream.
    what = "the last one was" if lock_at is not None and since <= lock_at else "the project was first seen"
    return Wait(due_at, "too_soon", f"{what} less than {config.dream.least_hours:g} h ago")


def dream_night(since: float, config: Config, now: float) -> Wait | None:
    """Wait for the time of day at which daily logs are distilled. Nights that were missed are made up for once.

    `since`: the last dream, or when the logs were last found to have nothing new.
    """
    if since < time_of_day_before(config.dream.night, now):
        return None
    return Wait(time_of_day_after(config.dream.night, now), "too_soon", f"it comes at {config.dream.night}")


def dream_lines(lines: int, config: Config, now: float) -> Due | Wait:
    if lines:
        return Due(f"{count(lines, 'line')} of daily logs to be distilled")
    return Wait(time_of_day_after(config.dream.night, now), "no_new_lines", "the daily logs have no new line")


def dream_retry(retry_at: float | None, failures: int, now: float) -> Wait | None:
    """Wait after a dream that failed; a clock that was set back ends it."""
    if retry_at is None or not 0 < retry_at - now <= DREAM.longest_seconds:
        return None
    times = "once" if failures == 1 else f"{failures} times in a row"
    return Wait(retry_at, "backing_off", f"it failed {times}; `memoryd dream-now` tries at once")


def dream_throttle(counted_at: float | None, config: Config, now: float) -> Wait | None:
    every = config.dream.scan_minutes * 60
    if counted_at is None or not 0 <= now - counted_at < every:
        return None
    return Wait(counted_at + every, "counted_recently", f"sessions are counted every {config.dream.scan_minutes:g} min")


def dream_sessions(number: int, config: Config, now: float) -> Due | Wait:
    least = config.dream.least_sessions
    if number >= least:
        return Due(f"{count(number, 'session')} changed")
    until = now + config.dream.scan_minutes * 60
    return Wait(until, "too_few_sessions", f"{number} of {least} sessions changed since the last one")


def dream_changes(memories: int, changed: int) -> Due | Wait:
    """For a directory without sessions: the memories about the person, those of a sub-agent."""
    if memories <= 1:  # nothing to set in order, and a model would be paid for saying so
        return Wait(None, "too_few_sessions", "there are fewer than two memories")
    if changed:
        return Due(f"{count(changed, 'memory')} changed")
    return Wait(None, "too_few_sessions", "no memory has changed since the last one")


def dream_after_extraction(sessions: int) -> Wait | None:
    """`claude` reads what was said before it dreams of it. `sessions`: how many are to be read."""
    if not sessions:
        return None
    return Wait(None, "extraction_waits", f"claude reads {count(sessions, 'session')} first")


def dream_lock(held_by: int | None, until: float) -> Wait | None:
    if held_by is None:
        return None
    return Wait(until, "lock_held", f"process {held_by} is consolidating")


def is_being_written(active_at: float, config: Config, now: float, *, has_open_turn: bool) -> bool:
    """Whether a session was active a moment ago, so that it does not count yet."""
    silence = config.turns.give_up_seconds if has_open_turn else config.turns.quiet_seconds
    return abs(now - active_at) < silence


def counted(sessions: Iterable[tuple[WaitingSession, bool]], config: Config, state_dir: str, now: float) -> int:
    """Number of sessions that count; each comes with whether it has an open turn."""
    return sum(
        left_alone(session, config, state_dir) is None
        and not is_being_written(session.active_at, config, now, has_open_turn=is_open)
        for session, is_open in sessions
    )


# --- upkeep -----------------------------------------------------------------------------------------------------------


def upkeep(last_at: float, tried_at: float | None, now: float, hour: int) -> Due | Wait:
    """Whether upkeep is due: once a night, or after a day and a half where a machine sleeps at night.

    `last_at`: time of the last one, or when the first could have been. `tried_at`: when one was last begun, also one that
    failed. `hour`: of the local day. The wait has the latest time at which it ends.
    """
    if tried_at is not None and 0 <= now - tried_at < _HOUR:
        return Wait(tried_at + _HOUR, "backing_off", "it was begun less than an hour ago")
    passed = now - last_at
    if passed < -_HOUR:
        return Due("the clock was set back since the last one")
    if passed >= 36 * _HOUR:
        return Due("the last one was long ago")
    if passed >= 20 * _HOUR and hour in _NIGHT:
        return Due("it is night")
    return Wait(last_at + 36 * _HOUR, "too_soon", "it comes at night")
