"""The state database and outdated memories, as doctor sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.diagnosis.checks import database as database_checks
from memoryd.diagnosis.problems import Check
from memoryd.errors import BusyError
from memoryd.state.queries import Unfinished
from tests.diagnosis.checks.checking import NOW, the, verdicts

if TYPE_CHECKING:
    from memoryd.diagnosis.facts import World
    from memoryd.state.database import Database


def test_a_database_that_is_whole(world: World, database: Database) -> None:
    assert verdicts(database_checks.judge_database(database_checks.read_database(world))) == [
        ("database", "ok"),
        ("recovery", "ok"),
        ("jobs", "ok"),
    ]
    assert database.is_in_place()


def test_what_killed_processes_left() -> None:
    facts = database_checks.DatabaseFacts(
        "/home/me/db",
        "/home/me",
        NOW,
        1000,
        is_checked=True,
        prepared=(NOW - 5, NOW - 500),
        unfinished=(Unfinished("dream", "", NOW - 8000), Unfinished("extract", "abcdefghij", NOW - 10)),
    )
    found = list(database_checks.judge_database(facts))
    assert [(check.name, check.verdict, check.fix) for check in found[1:]] == [
        ("recovery", "problem", "memoryd run"),
        ("jobs", "problem", "memoryd dream-stop"),
    ]
    assert the("recovery", database_checks.judge_database(facts._replace(is_running=True))).verdict == "note"
    at_work = facts._replace(prepared=(NOW - 5,), unfinished=facts.unfinished[1:])
    assert verdicts(database_checks.judge_database(at_work))[1:] == [("recovery", "ok"), ("jobs", "ok")]


def test_who_holds_a_busy_database_is_named() -> None:
    error = BusyError("Another process has kept the state database locked.", "fuser -v db")
    facts = database_checks.DatabaseFacts("/db", "/home/me", NOW, 1000, error, holders=((12, "backup"),))
    assert list(database_checks.judge_database(facts)) == [
        Check(
            "database",
            "problem",
            "Another process has kept the state database locked; it is open in backup (12)",
            "fuser -v db",
        )
    ]


@pytest.mark.parametrize(
    ("outdated", "verdict", "words", "fix"),
    [
        ({}, "ok", "no memory is known", ""),
        (
            {"/home/me/a b": 1},
            "note",
            "1 memory names what ~/a b no longer has",
            "memoryd verify --project '/home/me/a b'",
        ),
        ({"/srv/x": 2}, "note", "2 memories name what /srv/x no longer has", "memoryd verify --project /srv/x"),
    ],
)
def test_memories_that_the_code_has_left(outdated: dict[str, int], verdict: str, words: str, fix: str) -> None:
    check = the(
        "rot",
        database_checks.judge_memories(
            database_checks.MemoryFacts("/home/me", is_switched_off=False, outdated=outdated, asking=())
        ),
    )
    assert (check.verdict, check.fix) == (verdict, fix)
    assert words in check.text


def test_what_is_switched_off_is_not_called_sound() -> None:
    check = the(
        "rot",
        database_checks.judge_memories(
            database_checks.MemoryFacts("/home/me", is_switched_off=True, outdated={"/srv/x": 2}, asking=())
        ),
    )
    assert (check.verdict, check.text) == ("note", "memories are not compared with the code: features.rot_check is off")
