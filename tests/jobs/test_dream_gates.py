"""Whether it is time for a dream: every gate with its reason and its time, and which sessions count."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Features, Projects
from memoryd.errors import BusyError, MemorydError
from memoryd.jobs.dream_gates import Checks, due
from memoryd.memory.guards import RefusedError
from memoryd.model import LOCK_NAME, Run, Wait
from memoryd.state import dreams
from memoryd.state import projects as known_projects
from tests.acceptance.command import memoryd
from tests.jobs.bedroom import DAY, NOW, Engine
from tests.sample import Session, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.config import Config
    from memoryd.model import Exchange, Revision
    from memoryd.paths import Paths
    from tests.jobs.bedroom import Bedroom

HOUR = 3600.0
NOTHING = Engine(lambda _: ())


def ask(bedroom: Bedroom, config: Config | None = None) -> Run | Wait:
    bedroom.sweeper.sweep(bedroom.clock.at)
    return Checks(
        bedroom.database, bedroom.paths, config or bedroom.config, str(bedroom.memory), bedroom.clock.at
    ).decision()


def reason(bedroom: Bedroom, config: Config | None = None) -> tuple[str, float | None]:
    """Why not, and for how many seconds at most."""
    decision = ask(bedroom, config)
    assert isinstance(decision, Wait), decision
    return decision.reason, None if decision.until is None else decision.until - bedroom.clock.at


def is_time(bedroom: Bedroom, config: Config | None = None) -> bool:
    """Asked when nobody has counted a moment ago."""
    bedroom.clock.at += 11 * 60
    return isinstance(ask(bedroom, config), Run)


def a_day_later(bedroom: Bedroom, number: int = 5) -> None:
    """The project is known for longer than a day, and so many sessions have changed since the last dream."""
    bedroom.say("hello")
    bedroom.clock.at += DAY + 60
    bedroom.lock(bedroom.clock.at - DAY)
    for _ in range(number):
        bedroom.say("hello")


# --- one gate after the other -----------------------------------------------------------------------------------------


def test_each_gate_says_no_with_its_reason_and_its_time_until_all_are_open(bedroom: Bedroom) -> None:
    off = bedroom.config._replace(features=Features(dream=False))
    assert reason(bedroom, off) == ("switched_off", None)
    bedroom.say("hello")
    assert reason(bedroom) == ("too_soon", DAY)
    bedroom.lock(NOW + HOUR)
    assert reason(bedroom) == ("too_soon", DAY + HOUR)
    bedroom.clock.at = NOW + HOUR + DAY
    assert reason(bedroom) == ("too_few_sessions", 600.0)
    bedroom.clock.at += 60
    assert reason(bedroom) == ("counted_recently", 540.0)
    for _ in range(5):
        bedroom.say("hello")
    bedroom.clock.at += 540
    bedroom.put(LOCK_NAME, str(os.getppid()), NOW + HOUR)
    assert ask(bedroom) == Run("5 sessions changed"), "a lock of yesterday is nobody's"
    assert list(due(bedroom.database, bedroom.paths, bedroom.config, bedroom.clock.at + 600)) == [
        (str(bedroom.memory), "/code/acme")
    ]


def test_somebody_who_consolidates_right_now_is_left_in_peace(bedroom: Bedroom) -> None:
    """Its time is fresh, so the time gate says no before; the lock is asked where the time says nothing."""
    a_day_later(bedroom)
    at_once = bedroom.config._replace(dream=bedroom.config.dream._replace(least_hours=0, least_sessions=1))
    bedroom.put(LOCK_NAME, str(os.getppid()), bedroom.clock.at - 120)
    assert reason(bedroom, at_once) == ("lock_held", HOUR - 120)


def test_every_gate_is_told_whatever_the_others_say_and_nothing_is_noted(bedroom: Bedroom) -> None:
    a_day_later(bedroom, 2)
    checks = Checks(bedroom.database, bedroom.paths, bedroom.config, str(bedroom.memory), bedroom.clock.at)
    told = [(gate.name, type(gate.decision)) for gate in checks.all()]
    assert told == [("switch", Run), ("time", Run), ("throttle", Run), ("sessions", Wait), ("lock", Run)]
    assert not bedroom.database.query("SELECT 1 FROM dream_checks")


# --- which sessions count ---------------------------------------------------------------------------------------------


def test_sessions_of_all_worktrees_count_together(bedroom: Bedroom, tmp_path: Path) -> None:
    main, worktree = (tmp_path / "main").resolve(), (tmp_path / "elsewhere").resolve()
    main.mkdir()
    for command in (
        ("init", "--quiet"),
        ("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "one"),
        ("worktree", "add", "--quiet", str(worktree)),
    ):
        subprocess.run(["git", *command], cwd=main, check=True, capture_output=True)
    for number in range(6):
        place = (main, worktree)[number % 2]
        session = Session(number, cwd=str(place))
        folder = str(place).replace("/", "-")
        path = write(bedroom.paths.transcripts_root, session, session.turn(), folder)
        os.utime(path, (NOW + DAY, NOW + DAY))
        bedroom.sweeper.sweep(NOW + DAY if number else NOW)  # the first one is how the project is found
    (project,) = known_projects.all_projects(bedroom.database)
    assert project.root == str(main)
    checks = Checks(bedroom.database, bedroom.paths, bedroom.config, project.memory_dir, NOW + 2 * DAY)
    assert checks.decision() == Run("5 sessions changed")


def test_the_session_that_is_being_written_does_not_count(bedroom: Bedroom) -> None:
    a_day_later(bedroom, 4)
    session = Session("live")
    path = write(bedroom.paths.transcripts_root, session, session.turn())
    os.utime(path, (bedroom.clock.at, bedroom.clock.at))
    assert reason(bedroom) == ("too_few_sessions", 600.0)
    path.write_bytes(path.read_bytes() + session.prompt("and now something that takes long"))
    bedroom.clock.at += 600
    os.utime(path, (bedroom.clock.at - 21, bedroom.clock.at - 21))
    assert reason(bedroom) == ("too_few_sessions", 600.0), "silent, but nobody has answered yet"
    assert is_time(bedroom), "nobody ever answered"


@pytest.mark.parametrize("why", ["opted out", "excluded", "own", "gone", "older than the last dream"])
def test_sessions_that_are_left_alone_do_not_count(bedroom: Bedroom, why: str) -> None:
    a_day_later(bedroom, 4)
    state_dir = bedroom.paths.state_dir
    cwd = {"excluded": "/code/acme/secret", "own": f"{state_dir}/work"}.get(why, "/code/acme")
    session = Session(why, cwd=cwd)
    said = "<memoryd-off> please" if why == "opted out" else "please"
    path = write(bedroom.paths.transcripts_root, session, session.turn(said))
    at = bedroom.clock.at - (DAY + 60 if why == "older than the last dream" else 60)
    os.utime(path, (at, at))
    bedroom.sweeper.sweep(bedroom.clock.at)
    bedroom.database.execute(  # whatever its working directory is: all of them belong to one project here
        "UPDATE transcripts SET project_id = (SELECT id FROM projects WHERE root = '/code/acme')"
    )
    if why == "gone":
        path.unlink()
    config = bedroom.config._replace(projects=Projects(exclude=("/code/acme/secret",)))
    assert reason(bedroom, config) == ("too_few_sessions", 600.0)
    bedroom.say("hello")
    assert is_time(bedroom, config)


def test_a_session_from_the_future_counts_once_and_not_after_every_dream(bedroom: Bedroom) -> None:
    """A clock that was a year ahead wrote them, or a server whose clock is."""
    a_day_later(bedroom)
    for path in Path(bedroom.paths.transcripts_root).rglob("*.jsonl"):
        os.utime(path, (NOW + 365 * DAY, NOW + 365 * DAY))
    bedroom.sweeper.sweep(bedroom.clock.at)
    assert is_time(bedroom)
    bedroom.dream(NOTHING)
    bedroom.clock.at += DAY + 60
    assert reason(bedroom) == ("too_few_sessions", 600.0)


# --- clocks -----------------------------------------------------------------------------------------------------------


def test_a_project_first_seen_by_a_clock_that_was_a_year_ahead_dreams_again_and_again(bedroom: Bedroom) -> None:
    bedroom.clock.at += 365 * DAY
    bedroom.say("hello")
    bedroom.clock.at -= 365 * DAY
    for _ in range(3):
        assert reason(bedroom) == ("too_soon", DAY)
        bedroom.clock.at += DAY
        for _ in range(5):
            bedroom.say("hello")
        assert is_time(bedroom)
        bedroom.dream(NOTHING)


def test_a_lock_from_a_clock_that_was_a_year_ahead_counts_from_when_that_was_noticed(bedroom: Bedroom) -> None:
    a_day_later(bedroom)
    bedroom.lock(NOW + 365 * DAY)
    assert reason(bedroom) == ("too_soon", DAY)
    bedroom.clock.at += HOUR
    assert reason(bedroom) == ("too_soon", DAY - HOUR)
    bedroom.clock.at += DAY
    for _ in range(5):
        bedroom.say("hello")
    assert is_time(bedroom)
    seen: list[Exchange] = []

    def look(exchanges: Sequence[Exchange]) -> Sequence[Revision]:
        seen.extend(exchanges)
        return ()

    bedroom.dream(Engine(look))
    assert len(seen) == 5, "what was said since then is what it is about"
    lock = bedroom.lock_state()
    assert lock is not None
    assert lock == (b"", bedroom.clock.at)


# --- after a dream that came to no good end ---------------------------------------------------------------------------


def fail(_: Sequence[Exchange]) -> Sequence[Revision]:
    raise MemorydError("The engine is broken.")


def refuse(_: Sequence[Exchange]) -> Sequence[Revision]:
    raise RefusedError("no fact lost", "It would lose much.")


def interrupt(_: Sequence[Exchange]) -> Sequence[Revision]:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("end", "outcome"), [(fail, "failed"), (refuse, "refused(no fact lost)")])
def test_after_a_failure_or_a_refusal_it_waits_longer_each_time(
    bedroom: Bedroom, end: Callable[[Sequence[Exchange]], Sequence[Revision]], outcome: str
) -> None:
    a_day_later(bedroom)
    for hours in (1, 2, 4, 8, 16, 24, 24):
        assert is_time(bedroom)
        with suppress(MemorydError):
            bedroom.dream(Engine(end))
        assert bedroom.jobs()[-1] == ("dream", outcome)
        assert reason(bedroom) == ("backing_off", hours * HOUR)
        bedroom.clock.at += hours * HOUR
        for _ in range(5):
            bedroom.say("hello")
    assert is_time(bedroom)
    bedroom.dream(NOTHING)
    assert dreams.remembered(bedroom.database, str(bedroom.memory)).failures == 0
    assert reason(bedroom)[0] == "too_soon"


def test_a_clock_that_steps_back_ends_the_waiting_after_a_failure(bedroom: Bedroom) -> None:
    a_day_later(bedroom)
    with pytest.raises(MemorydError):
        bedroom.dream(Engine(fail))
    bedroom.clock.at -= 365 * DAY
    assert reason(bedroom)[0] == "too_soon"


def test_after_a_kill_it_does_not_wait(bedroom: Bedroom) -> None:
    a_day_later(bedroom)
    prior = bedroom.lock_state()
    with pytest.raises(KeyboardInterrupt):
        bedroom.dream(Engine(interrupt))
    assert bedroom.jobs()[-1] == ("dream", "killed")
    assert bedroom.lock_state() == prior
    assert isinstance(ask(bedroom), Run)


# --- dream-now --------------------------------------------------------------------------------------------------------


def test_dream_now_skips_time_throttle_and_sessions_and_honours_the_lock(
    paths: Paths, tmp_path: Path, environment: dict[str, str]
) -> None:
    project = str((tmp_path / "acme").resolve())
    os.makedirs(project)
    memory = Path(paths.transcripts_root, project.replace("/", "-").replace("_", "-"), "memory")
    memory.mkdir(parents=True)
    lock = memory / LOCK_NAME
    lock.write_bytes(b"")  # the last dream ended this moment, and nobody has said anything
    done = memoryd(environment, "dream-now", "--project", project)
    assert done.returncode == 0, done.stderr
    assert lock.read_bytes() == b""
    lock.write_bytes(str(os.getpid()).encode())
    held = lock.stat().st_ino, lock.stat().st_mtime_ns
    done = memoryd(environment, "dream-now", "--project", project)
    assert done.returncode == BusyError.exit_code == 75
    assert f"Process {os.getpid()} is consolidating" in done.stderr
    assert (lock.stat().st_ino, lock.stat().st_mtime_ns) == held
