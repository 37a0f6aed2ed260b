"""What is the matter, gathered from lock, database and memories, and what a person sees of it."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.cli.screen import Rows, Screen
from memoryd.cli.status_screen import blocks
from memoryd.clients.registry import ALL
from memoryd.config import Config, Features
from memoryd.config.schema import ProjectSettings
from memoryd.daemon import last_failure
from memoryd.daemon.last_failure import Failure
from memoryd.daemon.single_instance import Trouble, only_instance
from memoryd.diagnosis import status
from memoryd.diagnosis.facts import ChosenEngine
from memoryd.diagnosis.problems import Problem
from memoryd.jobs.ingest import Ingester
from memoryd.model import Due, Wait
from memoryd.recall.shown import Shown, record
from memoryd.service.units import AGENT, UNIT
from memoryd.state import dreams, jobs, pauses, queries
from memoryd.state.waiting import waiting_sessions
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.diagnosis.status import Status
    from memoryd.paths import Paths
    from memoryd.state.database import Database

NOW = 2_000_000_000.0
HOUR = 3600.0


@pytest.fixture
def ingester(database: Database, paths: Paths) -> Ingester:
    """What was there when memoryd first looked is history: the rest of a test is new."""
    os.makedirs(paths.transcripts_root)
    found = Ingester(ALL, database, paths, Config())
    found.ingest(NOW - 3 * HOUR)
    return found


def say(ingester: Ingester, paths: Paths, name: str, at: float = NOW - HOUR, **fields: str) -> Path:
    """A session of a project with a turn that waits, and the project's memory directory."""
    session = Session((name, at), f"/code/{name}")
    path = write(paths.transcripts_root, session, session.turn(**fields), f"-code-{name}")
    os.utime(path, (at, at))
    ingester.ingest(at)
    return path.parent / "memory"


def look(paths: Paths, config: Config | None = None, most: int | None = 6) -> Status:
    return status.gather(paths, config or Config(), NOW, most_projects=most)


def screen(found: Status) -> str:
    stream = io.StringIO()
    Screen({}, stream).show(blocks(found))
    return stream.getvalue()


# --- the daemon -------------------------------------------------------------------------------------------------------


def test_a_daemon_tells_since_when_it_runs_and_how_it_watches(paths: Paths, ingester: Ingester) -> None:
    ingester.ingest(NOW)
    with only_instance(paths, NOW - 2 * HOUR) as held:
        held.write_state("events")
        shown = screen(found := look(paths))
    assert shown.startswith("● memoryd 0.1.0 running since ")
    assert f" (2 h, process {os.getpid()})\n\nwatches   ~/.claude/projects, by events\n" in shown
    assert shown.endswith("\n\nAll is well.\n")
    assert status.exit_code(found) == 0


def test_one_that_runs_for_days_tells_the_date(paths: Paths) -> None:
    with only_instance(paths, NOW - 50 * HOUR):
        assert re.search(r" running since 2033-05-1[56] \d\d:\d\d \(2 days, ", screen(look(paths)))


def test_one_that_has_not_written_who_it_is_is_about_to_start(paths: Paths) -> None:
    with only_instance(paths, NOW):
        os.truncate(paths.daemon_lock, 0)
        assert screen(look(paths)).startswith("● memoryd 0.1.0 is about to start\n")


def test_a_trouble_with_a_fix_is_a_problem_and_one_without_a_note(paths: Paths) -> None:
    troubles = [
        Trouble("watch_limit", "Too many watches.", "sudo sysctl fs.inotify.max_user_watches=524288"),
        Trouble("clock_jumped", "The clock jumped."),
    ]
    with only_instance(paths, NOW) as held:
        held.write_state("polling", troubles)
        shown = screen(found := look(paths))
    assert found.problems == (Problem("Too many watches.", "sudo sysctl fs.inotify.max_user_watches=524288"),)
    assert status.exit_code(found) == 1
    assert "\nnotes\n  clock_jumped: The clock jumped.\n" in shown
    assert shown.endswith(
        "\n\nproblem\n  Too many watches.\n  fix: sudo sysctl fs.inotify.max_user_watches=524288\n"
    ), "where the eye ends"


@pytest.mark.parametrize(("version", "name"), [("0.0.9", "0.0.9"), ("", "of an older version")])
def test_a_daemon_of_another_version_is_to_be_restarted(paths: Paths, version: str, name: str) -> None:
    with only_instance(paths, NOW):
        lock = Path(paths.daemon_lock)
        lock.write_text(lock.read_text().replace('"version": "0.1.0"', f'"version": "{version}"'))
        (problem,) = look(paths).problems
    assert problem == (f"memoryd {name} runs, 0.1.0 is installed.", f"kill {os.getpid()} && memoryd run")


def test_where_nothing_runs_the_last_failure_says_why(paths: Paths) -> None:
    last_failure.record(paths, Failure(NOW - 300, 78, "The config is broken.", "vi config.toml"))
    found = look(paths)
    assert found.problems == (Problem("The last start failed 5 min ago: The config is broken.", "vi config.toml"),)
    assert status.exit_code(found) == 3
    with only_instance(paths, NOW):
        assert look(paths).problems == ()


@pytest.mark.parametrize("place", [f".config/systemd/user/{UNIT}", f"Library/LaunchAgents/{AGENT}"])
def test_a_service_that_is_installed_is_restarted_not_installed(paths: Paths, place: str) -> None:
    assert "memoryd setup\n" in screen(look(paths))
    file = Path(paths.home, place)
    file.parent.mkdir(parents=True)
    file.touch()
    assert screen(look(paths)).startswith("○ memoryd 0.1.0 is not running\n  start it: memoryd service restart\n")


def test_a_pause_stands_at_the_top_and_is_no_problem(database: Database, paths: Paths, ingester: Ingester) -> None:
    say(ingester, paths, "acme").mkdir()
    pause = pauses.begin(database, NOW + HOUR, NOW - 60)
    found = look(paths)
    assert (found.pause, found.problems) == (pause, ())
    lines = screen(found).splitlines()
    assert lines[3:5] == [f"  {pause.sentence}", "  go on: memoryd resume"]
    assert any("  once memoryd runs (paused): memoryd is paused" in line for line in lines)
    assert any("next dream: not while memoryd is paused, for 60 min" in line for line in lines)
    pauses.end(database)
    assert look(paths).pause is None


# --- projects ---------------------------------------------------------------------------------------------------------


def test_a_project_in_three_lines(database: Database, paths: Paths, ingester: Ingester) -> None:
    memory = say(ingester, paths, "acme", NOW - HOUR)
    assert "  acme  1 session, active 60 min ago, 1 turn pending\n        no memories yet\n" in screen(look(paths))
    (session,) = waiting_sessions(database)
    job = jobs.claim(database, str(memory), session.transcript_id, session.session_id, NOW - 300)
    assert job is not None
    jobs.finish(database, job, "succeeded_no_output", NOW - 240, turns=tuple(turn.id for turn in job.turns))
    memory.mkdir()
    for kind in ("user", "feedback", "feedback", "reference", "none"):
        (memory / f"{kind}{len(os.listdir(memory))}.md").write_text(f"---\ntype: {kind}\n---\n")
    (memory / "MEMORY.md").write_text("- [A](a.md) — b\n" * 5)
    assert (
        "  acme  1 session, active 60 min ago, read 4 min ago\n"
        "        5 memories: 1 user, 2 feedback, 1 reference, 1 without a type; index 5 of 200 lines, 0.1 of 25 kB\n"
        "        next dream: in 23 h at the earliest, after 5 sessions (0 so far)\n"
    ) in screen(look(paths))


def test_an_index_over_the_limit_is_over_and_not_near(paths: Paths, ingester: Ingester) -> None:
    memory = say(ingester, paths, "acme")
    memory.mkdir()
    (memory / "MEMORY.md").write_text("".join(f"- [{number}](m{number}.md)\n" for number in range(201)))
    for number in range(205):
        (memory / f"m{number}.md").write_text("x\n")
        os.utime(memory / f"m{number}.md", (number, number))
    found = look(paths)
    (full,) = found.projects.full
    assert full.fill.is_over
    told = "201 of 200 lines, 3.2 of 25 kB: over what clients load"
    assert f"index {told}\n" in screen(found)
    assert f"memory/MEMORY.md: {told}; no line for m201.md, m202.md, m203.md and 1 more\n" in screen(found)
    assert "nearly" not in screen(found)


def test_the_most_recently_active_are_named_and_the_others_counted(
    paths: Paths, ingester: Ingester, database: Database
) -> None:
    for number in range(9):
        say(ingester, paths, f"p{number}", NOW - HOUR + number)
    found = look(paths)
    assert [project.root for project in found.projects.named] == [f"/code/p{number}" for number in (8, 7, 6, 5, 4, 3)]
    assert found.projects.others == 3
    assert "\n  and 3 projects more: memoryd projects\n" in screen(found)
    assert len(look(paths, most=None).projects.named) == 9
    excluding = Config(projects=ProjectSettings(exclude=("/code/p8", "/code/p7")))
    assert look(paths, excluding).projects.named[0].root == "/code/p6"
    assert [directory.sessions for directory in queries.dream_directories(database)] == [1] * 9


def test_what_has_the_name_of_a_lock_is_a_problem_of_one_project(paths: Paths, ingester: Ingester) -> None:
    for name in ("one", "two"):
        say(ingester, paths, name).mkdir()
    (Path(paths.transcripts_root) / "-code-one" / "memory" / ".consolidate-lock").mkdir()
    found = look(paths)
    (problem,) = found.problems
    assert ".consolidate-lock" in problem.text
    assert sorted((project.root, project.dream is None) for project in found.projects.named) == [
        ("/code/one", True),
        ("/code/two", False),
    ]


# --- sessions and jobs ------------------------------------------------------------------------------------------------


def test_skipped_sessions_are_counted_apart(paths: Paths, ingester: Ingester) -> None:
    say(ingester, paths, "acme")
    say(ingester, paths, "secret")
    found = look(paths, Config(projects=ProjectSettings(exclude=("/code/secret",))))
    assert [(session.project_root, type(decision)) for session, decision in found.waiting] == [("/code/acme", Due)]
    assert [(session.project_root, skip.reason) for session, skip in found.skipped] == [("/code/secret", "excluded")]
    shown = screen(found)
    assert "\nturns     1 waiting to be read\nskipped   1 turn of 1 session (1 excluded)\n" in shown
    assert "secret" not in shown


def test_what_is_switched_off_waits_for_nobody(paths: Paths, ingester: Ingester) -> None:
    say(ingester, paths, "acme")
    found = look(paths, Config()._replace(features=Features(extraction=False)))
    ((_, decision),) = found.waiting
    assert isinstance(decision, Wait)
    assert "  not by itself (switched_off): " in screen(found)


def test_of_many_waiting_sessions_a_few_are_named(paths: Paths, ingester: Ingester) -> None:
    for number in range(7):
        say(ingester, paths, "acme", NOW - HOUR + number)
    shown = screen(look(paths))
    assert shown.count("ready: the session is quiet") == 5
    assert "\n  and 2 more: memoryd status --json\n" in shown


def test_the_job_that_goes_on_and_the_dream_that_goes_on(database: Database, paths: Paths, ingester: Ingester) -> None:
    memory = say(ingester, paths, "acme")
    memory.mkdir()
    (session,) = waiting_sessions(database)
    jobs.claim(database, str(memory), session.transcript_id, session.session_id, NOW - 12)
    dreams.begin(database, str(memory), "/code/acme", "offline", NOW - 3)
    shown = screen(look(paths))
    assert (
        f"\n\nnow\n  acme  reading session {session.session_id[:8]} for 12 s\n  acme  dreaming for 3 s, starting\n"
        in shown
    )
    assert "\n        dream: now\n" in shown


def test_the_last_jobs_are_those_that_ended_last(database: Database, paths: Paths, ingester: Ingester) -> None:
    """Also where thousands ended before, which nobody looks at."""
    memory = say(ingester, paths, "acme")
    rows = [
        ("extract", str(memory), f"s{number}", "t", NOW - 5000 + number, NOW - 5000 + number) for number in range(1500)
    ]
    database.execute_many(
        "INSERT INTO jobs (kind, memory_dir, session_id, token, started_at, ended_at, outcome) VALUES"
        " (?, ?, ?, ?, ?, ?, 'failed')",
        rows,
    )
    assert [job.session_id for job in queries.last_jobs(database, 3)] == ["s1499", "s1498", "s1497"]
    assert queries.extractions(database) == {str(memory): (NOW - 5000 + 1499, "failed")}


# --- money ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spent", "meaning"),
    [(0.1, ""), (0.8, "warn"), (1.0, "bad"), (1.2, "bad")],
    ids=["little", "nearly", "all", "more"],
)
def test_spend_against_the_cap(paths: Paths, spent: float, meaning: str) -> None:
    engine = ChosenEngine("anthropic", "claude-haiku-5-5", "https://api.anthropic.com", spent, 1.0)
    found = look(paths)._replace(engine=engine)
    assert f"\nengine    claude-haiku-5-5 at api.anthropic.com\nspent     {spent:.2f} of 1 USD today\n" in screen(found)
    rows = dict(next(block.pairs for block in blocks(found) if isinstance(block, Rows)))
    assert getattr(rows["spent"], "meaning", "") == meaning


def test_a_model_without_a_price_is_free(paths: Paths) -> None:
    engine = ChosenEngine("anthropic", "qwen3:14b", "http://localhost:11434", has_price=False)
    assert "\nspent     nothing: this model has no price\n" in screen(look(paths)._replace(engine=engine))


# --- recall -----------------------------------------------------------------------------------------------------------


def test_what_recall_handed_over_is_told_with_its_price(paths: Paths, ingester: Ingester) -> None:
    ingester.ingest(NOW)
    assert "recall" not in screen(look(paths))
    for session, number in (("s", 40), ("t", 400), ("u", 4000)):
        record(paths, session, "/memory", [Shown("a.md", number)], NOW - HOUR)
        os.utime(paths.session_file("recalled", session, ".jsonl"), (NOW - HOUR, NOW - HOUR))
    assert (
        "recall    3 memories shown to 3 sessions in 7 days, 0 read or quoted\n"
        "          about 1,110 tokens handed over: 100 a prompt and 100 a session (median)\n"
    ) in screen(look(paths))
