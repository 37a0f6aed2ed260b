"""A pause as a user sees it: the real command, a real daemon."""

from __future__ import annotations

import os
import re
import signal
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from memoryd.cli.times import moment_in, seconds_in
from memoryd.clients.registry import ALL
from memoryd.clock import SystemClock
from memoryd.config import Config
from memoryd.jobs.ingest import Ingester
from memoryd.state import pauses
from memoryd.state.database import open_database
from tests.acceptance.command import Daemon, as_json, memoryd
from tests.acceptance.model import hire, memories, say
from tests.keeping_model import keeping_model
from tests.messages_server import MessagesServer
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.messages_server import Answer, Request

PAUSED = r"memoryd is paused since \d{4}-\d\d-\d\d \d\d:\d\d"
WISH = "from now on, keep commits small"
SAVED = "-code-acme/memory/feedback_keep_commits_small.md"


@pytest.fixture
def quick(paths: Paths, environment: dict[str, str]) -> dict[str, str]:
    """An environment whose daemon looks ten times a second and waits for no silence."""
    os.makedirs(os.path.dirname(paths.config_file))
    with open(paths.config_file, "w", encoding="utf-8") as file:
        file.write("[scan]\ninterval_seconds = 0.1\n[turns]\nquiet_seconds = 0.2\n")
    return environment


def test_what_is_said_during_a_pause_is_followed_and_read_afterwards(quick: dict[str, str], paths: Paths) -> None:
    os.makedirs(paths.transcripts_root)
    done = memoryd(quick, "pause")
    assert done.returncode == 0
    assert re.fullmatch(rf"{PAUSED}\.\n", done.stdout)
    assert "No daemon runs; one that is started meanwhile keeps to it." in done.stderr
    session = Session()
    with Daemon(quick) as daemon:
        daemon.says("memoryd is paused since")
        daemon.says("fix: memoryd resume")
        write(paths.transcripts_root, session, session.turn(WISH))
        daemon.says("1 turn ended")
        (waiting,) = as_json(quick, "status")["waiting"]
        assert (waiting["decision"], waiting["reason"], waiting["until"]) == ("wait", "paused", None)
        assert not os.path.exists(os.path.join(paths.transcripts_root, SAVED))
        assert memoryd(quick, "resume").stdout == "The pause is over.\n"
        daemon.says("The pause is over.")
        daemon.says(f"saved ~/.claude/projects/{SAVED}")
        assert daemon.stop(signal.SIGTERM) == 0
    assert memoryd(quick, "resume").stdout == "memoryd was not paused.\n"


def test_commands_that_work_by_themselves_are_refused_and_the_others_are_not(
    environment: dict[str, str], paths: Paths
) -> None:
    session = Session(cwd=environment["HOME"])
    write(paths.transcripts_root, session, session.turn(WISH))
    assert memoryd(environment, "pause", "--for", "2h").returncode == 0
    for command in (["extract-now"], ["backfill", "--yes"], ["dream-now", "--project", environment["HOME"]]):
        refused = memoryd(environment, *command)
        assert refused.returncode == 75
        assert re.fullmatch(
            rf"memoryd: {PAUSED}, until (\d{{4}}-\d\d-\d\d )?\d\d:\d\d\.\n  fix: memoryd resume\n", refused.stderr
        )
    here = ("--project", environment["HOME"])
    assert (
        memoryd(environment, "remember", "the release is frozen until Friday because QA is out", *here).returncode == 0
    )
    assert memoryd(environment, "undo", *here).returncode == 0
    retried = memoryd(environment, "retry")
    assert retried.returncode == 0
    assert "To go on: memoryd resume" in retried.stderr
    assert memoryd(environment, "resume").returncode == 0
    assert memoryd(environment, "backfill", "--yes").returncode == 0


def test_a_session_that_is_being_worked_on_comes_to_its_end_and_the_others_wait(
    environment: dict[str, str], paths: Paths
) -> None:
    """The pause comes in the middle of the first of two sessions that one child works on."""
    paused: list[int] = []

    def pausing(request: Request) -> Answer:
        if not paused:
            paused.append(memoryd(environment, "pause").returncode)
        return keeping_model(request)

    sessions = [Session("one"), Session("two")]
    with MessagesServer(pausing) as server:
        hire(paths, server, more="[turns]\nquiet_seconds = 0\n")
        for session in sessions:
            say(paths, session, "let us begin")
        assert as_json(environment, "extract-now") == []
        for number, session in enumerate(sessions):
            say(paths, session, f"ok. keep nonce-0000000{number} is blue.")
        with closing(open_database(paths)) as database:
            Ingester(ALL, database, paths, Config()).ingest(SystemClock().now())
        assert memoryd(environment, "child").returncode == 0
    assert paused == [0]
    assert len([name for name in memories(paths) if name != "MEMORY.md"]) == 1
    assert [session["reason"] for session in as_json(environment, "status")["waiting"]] == ["paused"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--for", "soon"), "'soon' is no span of time"),
        (("--for", "0h"), "'0h' is no span of time"),
        (("--for", "2 weeks"), "'2 weeks' is no span of time"),
        (("--for", "500d"), "within a year"),
        (("--until", "25:00"), "'25:00' is no time"),
        (("--until", "2020-01-01"), "2020-01-01 is over"),
        (("--until", "99999-01-01"), "is no time"),
        (("--for", "1h", "--until", "14:30"), "not allowed with"),
    ],
)
def test_an_end_that_is_none_is_a_mistake_and_pauses_nothing(
    environment: dict[str, str], database: Database, arguments: tuple[str, ...], complaint: str
) -> None:
    done = memoryd(environment, "pause", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert pauses.current_pause(database, 0.0) is None


def test_extraction_switched_off_waits_by_name_and_extract_now_works_all_the_same(
    quick: dict[str, str], paths: Paths
) -> None:
    os.makedirs(paths.transcripts_root)
    off = {**quick, "MEMORYD_DISABLE_EXTRACTION": "1"}
    session = Session()
    with Daemon(off) as daemon:
        daemon.says("Found 0 sessions")
        write(paths.transcripts_root, session, session.turn(WISH))
        daemon.says("1 turn waiting (switched_off): `features.extraction` is off")
        assert not os.path.exists(os.path.join(paths.transcripts_root, SAVED))
        assert memoryd(off, "extract-now").stdout == f"saved ~/.claude/projects/{SAVED}\n"
        assert daemon.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7200), ("30min", 1800), ("30 m", 1800), ("1d", 86_400), ("1h30min", 5400), ("1.5H", 5400), ("45s", 45)]
    + [(text, None) for text in ("", "h", "2", "-2h", "2h later", "h2", "2 years", "1e9h", "nan")],
)
def test_spans_are_understood_or_refused(text: str, seconds: float | None) -> None:
    assert seconds_in(text) == seconds


@pytest.mark.parametrize(
    ("text", "ahead", "expected"),
    [
        ("10:00", True, "2026-10-18T10:00"),
        ("09:00", True, "2026-10-19T09:00"),
        ("9:30", True, "2026-10-19T09:30"),
        ("10:00", False, "2026-10-17T10:00"),
        ("09:00", False, "2026-10-18T09:00"),
        ("2026-10-20", True, "2026-10-20T00:00"),
        ("2026-10-20T08:15", False, "2026-10-20T08:15"),
        ("24:00", True, None),
        ("10:60", True, None),
        ("tomorrow", True, None),
        ("9999-12-31", True, None),
    ],
)
def test_times_are_meant_where_the_user_is(text: str, ahead: bool, expected: str | None) -> None:
    now = moment_in("2026-10-18T09:30", 0.0, ahead=True)
    assert now is not None
    found = moment_in(text, now, ahead=ahead)
    assert found == (None if expected is None else moment_in(expected, 0.0, ahead=True))


def test_a_time_with_a_zone_is_meant_there() -> None:
    assert moment_in("1970-01-02T01:00+01:00", 0.0, ahead=True) == 86_400
