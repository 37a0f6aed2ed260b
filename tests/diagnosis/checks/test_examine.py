"""The examinations of doctor as a whole: one that fails or hangs does not stop the others."""

from __future__ import annotations

import os
import re
import threading
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from memoryd.diagnosis.checks import EXAMINATIONS, examine
from memoryd.diagnosis.problems import Check, Name
from memoryd.errors import StateError
from tests.diagnosis.checks.checking import verdicts

if TYPE_CHECKING:
    import pytest

    from memoryd.diagnosis.facts import World
    from memoryd.paths import Paths

OF_THE_MACHINE = ("watches", "watch_instances", "space")
"""What tests beside this one, or a small machine, may use up."""
DOCUMENT = Path(os.path.dirname(__file__), "../../../docs/doctor.md")


def test_every_check_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), re.MULTILINE)
    assert explained == list(get_args(Name))


def test_a_fresh_home_has_one_problem_that_nothing_runs(world: World) -> None:
    problems = [check for examined in examine(world) for check in examined.checks if check.verdict == "problem"]
    assert [check.name for check in problems if check.name not in OF_THE_MACHINE] == ["daemon"]
    assert all(check.fix for check in problems)


def test_nothing_is_made_by_looking(world: World) -> None:
    examine(world)
    assert os.listdir(world.paths.home) == []


def test_an_examination_that_fails_is_a_line_and_the_others_go_on(world: World) -> None:
    def breaks(_: World) -> list[Check]:
        raise KeyError("secret words of a transcript")

    def cannot_ask(_: World) -> list[Check]:
        raise StateError("The state database is damaged.", "memoryd run")

    def cannot_look(_: World) -> list[Check]:
        raise PermissionError(13, "Permission denied", "/a b")

    well = Check("clock", "ok", "fine")
    found = examine(world, [("one", breaks), ("two", cannot_ask), ("three", cannot_look), ("four", lambda _: [well])])
    assert [examined.checks for examined in found] == [
        (
            Check(
                "examination",
                "problem",
                "this could not be looked at: a fault of memoryd's own (KeyError)",
                "pip install --upgrade memoryd",
            ),
        ),
        (Check("examination", "note", "not looked at: the database cannot be asked"),),
        (Check("examination", "problem", "/a b cannot be looked at: Permission denied", "ls -ld '/a b'"),),
        (well,),
    ]


def test_a_library_that_is_missing_is_named(world: World) -> None:
    def breaks(_: World) -> list[Check]:
        raise ModuleNotFoundError("No module named 'psutil'", name="psutil")

    (check,) = examine(world, [("one", breaks)])[0].checks
    assert (check.verdict, check.text) == ("problem", "this could not be looked at: the library psutil is missing")


def test_an_examination_that_hangs_is_left_behind(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over as soon as the other one is done."""
    over = threading.Event()
    threads: list[threading.Thread] = []
    well = Check("clock", "ok", "fine")
    times = chain([0.0], repeat(3600.0))

    def hangs(_: World) -> list[Check]:
        over.wait()
        return []

    def is_well(_: World) -> list[Check]:
        threads.append(threading.current_thread())
        return [well]

    def passing() -> float:
        at = next(times)
        if at:
            while not threads:
                threading.Event().wait(0.001)
            threads[0].join(60)
        return at

    monkeypatch.setattr("memoryd.diagnosis.checks.elapsed", passing)
    try:
        found = examine(world, [("one", hangs), ("two", is_well)])
    finally:
        over.set()
    assert verdicts(found[0].checks) == [("examination", "problem")]
    assert found[1].checks == (well,)


def test_a_damaged_database_is_told_once(world: World, paths: Paths) -> None:
    os.makedirs(paths.state_dir, mode=0o700)
    Path(paths.database).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    Path(paths.database).chmod(0o600)
    found = {examined.title: examined.checks for examined in examine(world)}
    assert verdicts(found["database"]) == [("database", "problem")]
    others = [check for title, checks in found.items() for check in checks if title != "database"]
    problems = [check.name for check in others if check.verdict == "problem"]
    assert [name for name in problems if name not in OF_THE_MACHINE] == ["daemon"]


def test_the_examinations_have_titles_of_their_own() -> None:
    titles = [title for title, _ in EXAMINATIONS]
    assert len(titles) == len(set(titles))
