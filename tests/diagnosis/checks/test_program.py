"""Versions, libraries, the file system and the clock."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.diagnosis.checks import program
from memoryd.diagnosis.problems import Check
from tests.diagnosis.checks.checking import NOW, the, verdicts
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.diagnosis.facts import World
    from memoryd.paths import Paths


def a_program(**more: Any) -> program.ProgramFacts:
    libraries = (program.Library("rich", "<16,>=13.9", "14.0.0"),)
    facts = program.ProgramFacts(
        "1.0", "3.12.1", "Linux 6 x86_64", "linux", "3.45.1", libraries, "/home/me/state", "ext4", "/home/me"
    )
    return facts._replace(**more)


def test_a_program_that_is_whole() -> None:
    assert list(program.judge_program(a_program())) == [
        Check("program", "ok", "memoryd 1.0, Python 3.12.1, Linux 6 x86_64"),
        Check("sqlite", "ok", "SQLite 3.45.1"),
        Check("libraries", "ok", "libraries: rich 14.0.0"),
        Check("file_system", "ok", "~/state is on a local file system (ext4)"),
    ]


@pytest.mark.parametrize(
    ("installed", "is_well"),
    [
        ("13.9", True),
        ("13.9.4", True),
        ("15.99", True),
        ("13.8.9", False),
        ("16.0", False),
        ("16", False),
        (None, False),
    ],
)
def test_libraries_lie_within_their_bounds(installed: str | None, is_well: bool) -> None:
    facts = a_program(libraries=(program.Library("rich", "<16,>=13.9", installed),))
    check = the("libraries", program.judge_program(facts))
    assert check.verdict == ("ok" if is_well else "problem")
    assert bool(check.fix) is not is_well


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("nfs4", "problem"),
        ("9p", "problem"),
        ("fuse.sshfs", "problem"),
        ("fuse.mergerfs", "note"),
        ("apfs", "ok"),
        ("", "ok"),
    ],
)
def test_sqlite_needs_a_local_file_system(kind: str, verdict: str) -> None:
    assert the("file_system", program.judge_program(a_program(file_system=kind))).verdict == verdict


def test_an_old_sqlite_or_an_unknown_system_is_said() -> None:
    found = list(program.judge_program(a_program(sqlite="3.36.0", platform="freebsd14", libraries=None)))
    assert verdicts(found)[:3] == [("program", "note"), ("sqlite", "problem"), ("libraries", "note")]


def test_this_program_is_whole(world: World) -> None:
    assert {check.verdict for check in program.judge_program(program.read_program(world))} == {"ok"}


def test_a_clock_that_is_behind_what_was_recorded(world: World, paths: Paths) -> None:
    path = write(paths.transcripts_root, session := Session(), session.turn())
    os.utime(path, (NOW + 900, NOW + 900))
    (check,) = program.judge_clock(program.read_clock(world))
    assert check.verdict == "problem"
    assert "15 min ahead" in check.text
    assert [
        clock_check.verdict for clock_check in program.judge_clock(program.read_clock(world._replace(now=NOW + 700)))
    ] == ["ok"]
    assert [clock_check.verdict for clock_check in program.judge_clock(program.ClockFacts(0.0, (), "linux"))] == [
        "problem"
    ]
