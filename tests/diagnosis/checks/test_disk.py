"""Free space, and what memoryd takes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.diagnosis.checks import disk
from memoryd.diagnosis.problems import Check
from tests.diagnosis.checks.checking import NOW, the

if TYPE_CHECKING:
    from memoryd.diagnosis.facts import World
    from memoryd.state.database import Database


@pytest.mark.parametrize(
    ("room", "verdict", "fix"),
    [
        (disk.FreeSpace("/s", "/s", 10**9, 10**6), "ok", ""),
        (disk.FreeSpace("/s", "/s", 10**9, None), "ok", ""),
        (disk.FreeSpace("/s/t", "/s", 10**8, 10**6), "problem", "df -h /s"),
        (disk.FreeSpace("/s/t", "/s", 10**9, 10), "problem", "df -i /s"),
    ],
)
def test_a_disk_that_is_nearly_full(room: disk.FreeSpace, verdict: str, fix: str) -> None:
    (check,) = disk.judge_disk(disk.DiskFacts("/home/me", NOW, (room,), 0, None))
    assert (check.verdict, check.fix) == (verdict, fix)


def test_what_history_takes(world: World, database: Database) -> None:
    facts = disk.read_disk(world)
    assert facts.history == disk.HistorySize(0, 0, None)
    assert database.is_in_place()
    facts = facts._replace(state_bytes=5_000_000, history=disk.HistorySize(2_000_000, 1_000_000, NOW - 7200))
    text = (
        "memoryd takes 5.0 MB, 2.0 MB of it to undo changes; the next upkeep frees 1.0 MB; the last upkeep was 2 h ago"
    )
    assert the("history", disk.judge_disk(facts)) == Check("history", "ok", text)
