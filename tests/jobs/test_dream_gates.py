"""Whether it is time for a dream: every gate with its reason and its time, and which sessions count."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Features, ProjectSettings
from memoryd.errors import BusyError, MemorydError
from memoryd.jobs.dream_gates import Checks, due
from memoryd.memory.guards import RefusedError
from memoryd.memory.limits import LOCK_NAME
from memoryd.model import Due, Wait
from memoryd.state import dreams
from memoryd.state import projects as known_projects
from tests.acceptance.command import memoryd
from tests.jobs.dream_workspace import DAY, NOW, RevisingEngine
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoryd.config import Config
    from memoryd.model import Exchange, Revision
    from memoryd.paths import Paths
    from tests.jobs.dream_workspace import DreamWorkspace

HOUR = 3600.0
NOTHING = RevisingEngine(lambda _: ())


def ask(dream_workspace: DreamWorkspace, config: Config | None = None) -> Due | Wait:
    dream_workspace.ingester.ingest(dream_workspace.clock.at)
    return Checks(
        dream_workspace.database,
        dream_workspace.paths,
        config or dream_workspace.config,
        str(dream_workspace.memory),
        dream_workspace.clock.at,
    ).decision()


def reason(dream_workspace: DreamWorkspace, config: Config | None = None) -> tuple[str, float | None]:
    """Why not, and for how many seconds at most."""
    decision = ask(dream_workspace, config)
    assert isinstance(decision, Wait), decision
    return decision.reason, None if decision.until is None else decision.until - dream_workspace.clock.at


def is_time(dream_workspace: DreamWorkspace, config: Config | None = None) -> bool:
    """Asked when nobody has counted a moment ago."""
    dream_workspace.clock.at += 11 * 60
    return isinstance(ask(dream_workspace, config), Due)


def a_day_later(dream_workspace: DreamWorkspace, number: int = 5) -> None:
    """The project is known for longer than a day, and so many sessions have changed since the last dream."""
    dream_workspace.say("hello")
    dream_workspace.clock.at += DAY + 60
    dream_workspace.lock(dream_workspace.clock.at - DAY)
    for _ in range(number):
        dream_workspace.say("hello")


# --- one gate after the other -----------------------------------------------------------------------------------------


def test_each_gate_says_no_with_its_reason_and_its_time_until_all_are_open(dream_workspace: DreamWorkspace) -> None:
    off = dream_workspace.config._replace(features=Features(dream=False))
    assert reason(dream_workspace, off) == ("switched_off", None)
    dream_workspace.say("hello")
    assert reason(dream_workspace) == ("too_soon", DAY)
    dream_workspace.lock(NOW + HOUR)
    assert reason(dream_workspace) == ("too_soon", DAY + HOUR)
    dream_workspace.clock.at = NOW + HOUR + DAY
    assert reason(dream_workspace) == ("too_few_sessions", 600.0)
    dream_workspace.clock.at += 60
    assert reason(dream_workspace) == ("counted_recently", 540.0)
    for _ in range(5):
        dream_workspace.say("hello")
    dream_workspace.clock.at += 540
    dream_workspace.put(LOCK_NAME, str(os.getppid()), NOW + HOUR)
    assert ask(dream_workspace) == Due("5 sessions changed"), "a lock of yesterday is nobody's"
    assert list(
        due(dream_workspace.database, dream_workspace.paths, dream_workspace.config, dream_workspace.clock.at + 600)
    ) == [(str(dream_workspace.memory), "/code/acme")]


def test_somebody_who_consolidates_right_now_is_left_in_peace(dream_workspace: DreamWorkspace) -> None:
    """Its time is fresh, so the time gate says no before; the lock is asked where the time says nothing."""
    a_day_later(dream_workspace)
    at_once = dream_workspace.config._replace(
        dream=dream_workspace.config.dream._replace(least_hours=0, least_sessions=1)
    )
    dream_workspace.put(LOCK_NAME, str(os.getppid()), dream_workspace.clock.at - 120)
    assert reason(dream_workspace, at_once) == ("lock_held", HOUR - 120)


def test_every_gate_is_told_whatever_the_others_say_and_nothing_is_noted(dream_workspace: DreamWorkspace) -> None:
    a_day_later(dream_workspace, 2)
    checks = Checks(
        dream_workspace.database,
        dream_workspace.paths,
        dream_workspace.config,
        str(dream_workspace.memory),
        dream_workspace.clock.at,
    )
    told = [(gate.name, type(gate.decision)) for gate in checks.all()]
    assert told == [("switch", Due), ("time", Due), ("throttle", Due), ("sessions", Wait), ("lock", Due)]
    assert not dream_workspace.database.query("SELECT 1 FROM dream_checks")


# --- which sessions count ---------------------------------------------------------------------------------------------


def test_sessions_of_all_worktrees_count_together(dream_workspace: DreamWorkspace, tmp_path: Path) -> None:
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
        path = write(dream_workspace.paths.transcripts_root, session, session.turn(), folder)
        os.utime(path, (NOW + DAY, NOW + DAY))
        dream_workspace.ingester.ingest(NOW + DAY if number else NOW)  # the first one is how the project is found
    (project,) = known_projects.all_projects(dream_workspace.database)
    assert project.root == str(main)
    checks = Checks(
        dream_workspace.database, dream_workspace.paths, dream_workspace.config, project.memory_dir, NOW + 2 * DAY
    )
    assert checks.decision() == Due("5 sessions changed")


def test_the_session_that_is_being_written_does_not_count(dream_workspace: DreamWorkspace) -> None:
    a_day_later(dream_workspace, 4)
    session = Session("live")
    path = write(dream_workspace.paths.transcripts_root, session, session.turn())
    os.utime(path, (dream_workspace.clock.at, dream_workspace.clock.at))
    assert reason(dream_workspace) == ("too_few_sessions", 600.0)
    path.write_bytes(path.read_bytes() + session.prompt("and now something that takes long"))
    dream_workspace.clock.at += 600
    os.utime(path, (dream_workspace.clock.at - 21, dream_workspace.clock.at - 21))
    assert reason(dream_workspace) == ("too_few_sessions", 600.0), "silent, but nobody has answered yet"
    assert is_time(dream_workspace), "nobody ever answered"


@pytest.mark.parametrize("why", ["opted out", "excluded", "own", "gone", "older than the last dream"])
def test_sessions_that_are_left_alone_do_not_count(dream_workspace: DreamWorkspace, why: str) -> None:
    a_day_later(dream_workspace, 4)
    state_dir = dream_workspace.paths.state_dir
    cwd = {"excluded": "/code/acme/secret", "own": f"{state_dir}/work"}.get(why, "/code/acme")
    session = Session(why, cwd=cwd)
    said = "<memoryd-off> please" if why == "opted out" else "please"
    path = write(dream_workspace.paths.transcripts_root, session, session.turn(said))
    at = dream_workspace.clock.at - (DAY + 60 if why == "older than the last dream" else 60)
    os.utime(path, (at, at))
    dream_workspace.ingester.ingest(dream_workspace.clock.at)
    dream_workspace.database.execute(  # whatever its working directory is: all of them belong to one project here
        "UPDATE transcripts SET project_id = (SELECT id FROM projects WHERE root = '/code/acme')"
    )
    if why == "gone":
        path.unlink()
    config = dream_workspace.config._replace(projects=ProjectSettings(exclude=("/code/acme/secret",)))
    assert reason(dream_workspace, config) == ("too_few_sessions", 600.0)
    dream_workspace.say("hello")
    assert is_time(dream_workspace, config)


def test_a_session_from_the_future_counts_once_and_not_after_every_dream(dream_workspace: DreamWorkspace) -> None:
    """A clock that was a year ahead wrote them, or a server whose clock is."""
    a_day_later(dream_workspace)
    for path in Path(dream_workspace.paths.transcripts_root).rglob("*.jsonl"):
        os.utime(path, (NOW + 365 * DAY, NOW + 365 * DAY))
    dream_workspace.ingester.ingest(dream_workspace.clock.at)
    assert is_time(dream_workspace)
    dream_workspace.dream(NOTHING)
    dream_workspace.clock.at += DAY + 60
    assert reason(dream_workspace) == ("too_few_sessions", 600.0)


# --- clocks -----------------------------------------------------------------------------------------------------------


def test_a_project_first_seen_by_a_clock_that_was_a_year_ahead_dreams_again_and_again(
    dream_workspace: DreamWorkspace,
) -> None:
    dream_workspace.clock.at += 365 * DAY
    dream_workspace.say("hello")
    dream_workspace.clock.at -= 365 * DAY
    for _ in range(3):
        assert reason(dream_workspace) == ("too_soon", DAY)
        dream_workspace.clock.at += DAY
        for _ in range(5):
            dream_workspace.say("hello")
        assert is_time(dream_workspace)
        dream_workspace.dream(NOTHING)


def test_a_lock_from_a_clock_that_was_a_year_ahead_counts_from_when_that_was_noticed(
    dream_workspace: DreamWorkspace,
) -> None:
    a_day_later(dream_workspace)
    dream_workspace.lock(NOW + 365 * DAY)
    assert reason(dream_workspace) == ("too_soon", DAY)
    dream_workspace.clock.at += HOUR
    assert reason(dream_workspace) == ("too_soon", DAY - HOUR)
    dream_workspace.clock.at += DAY
    for _ in range(5):
        dream_workspace.say("hello")
    assert is_time(dream_workspace)
    seen: list[Exchange] = []

    def look(exchanges: Sequence[Exchange]) -> Sequence[Revision]:
        seen.extend(exchanges)
        return ()

    dream_workspace.dream(RevisingEngine(look))
    assert len(seen) == 5, "what was said since then is what it is about"
    lock = dream_workspace.lock_state()
    assert lock is not None
    assert lock == (b"", dream_workspace.clock.at)


# --- after a dream that came to no good end ---------------------------------------------------------------------------


def fail(_: Sequence[Exchange]) -> Sequence[Revision]:
    raise MemorydError("The engine is broken.")


def refuse(_: Sequence[Exchange]) -> Sequence[Revision]:
    raise RefusedError("no fact lost", "It would lose much.")


def interrupt(_: Sequence[Exchange]) -> Sequence[Revision]:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("end", "outcome"), [(fail, "failed"), (refuse, "refused(no fact lost)")])
def test_after_a_failure_or_a_refusal_it_waits_longer_each_time(
    dream_workspace: DreamWorkspace, end: Callable[[Sequence[Exchange]], Sequence[Revision]], outcome: str
) -> None:
    a_day_later(dream_workspace)
    for hours in (1, 2, 4, 8, 16, 24, 24):
        assert is_time(dream_workspace)
        with suppress(MemorydError):
            dream_workspace.dream(RevisingEngine(end))
        assert dream_workspace.jobs()[-1] == ("dream", outcome)
        assert reason(dream_workspace) == ("backing_off", hours * HOUR)
        dream_workspace.clock.at += hours * HOUR
        for _ in range(5):
            dream_workspace.say("hello")
    assert is_time(dream_workspace)
    dream_workspace.dream(NOTHING)
    assert dreams.dream_gate_state(dream_workspace.database, str(dream_workspace.memory)).failures == 0
    assert reason(dream_workspace)[0] == "too_soon"


def test_a_clock_that_steps_back_ends_the_waiting_after_a_failure(dream_workspace: DreamWorkspace) -> None:
    a_day_later(dream_workspace)
    with pytest.raises(MemorydError):
        dream_workspace.dream(RevisingEngine(fail))
    dream_workspace.clock.at -= 365 * DAY
    assert reason(dream_workspace)[0] == "too_soon"


def test_after_a_kill_it_does_not_wait(dream_workspace: DreamWorkspace) -> None:
    a_day_later(dream_workspace)
    prior = dream_workspace.lock_state()
    with pytest.raises(KeyboardInterrupt):
        dream_workspace.dream(RevisingEngine(interrupt))
    assert dream_workspace.jobs()[-1] == ("dream", "killed")
    assert dream_workspace.lock_state() == prior
    assert isinstance(ask(dream_workspace), Due)


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


def test_what_is_known_of_the_person_rests_a_day_and_one_memory_is_never_dreamt_on(
    dream_workspace: DreamWorkspace,
) -> None:
    """A model would be paid for saying that there is nothing to do."""
    person = Path(dream_workspace.paths.global_dir)
    person.mkdir(parents=True)

    def is_due(hours: float) -> bool:
        at = (person / "user_role.md").stat().st_ctime + hours * HOUR
        found = due(dream_workspace.database, dream_workspace.paths, dream_workspace.config, at)
        return str(person) in [memory_dir for memory_dir, _ in found]

    (person / "user_role.md").write_text("A nurse.")
    assert not is_due(0.1)
    assert not is_due(48)
    (person / "user_tone.md").write_text("Short answers.")
    assert not is_due(0.1)
    assert is_due(25)
