"""Daily-log mode: lines by day, memories by night; every fact in a memory, once, whatever the clock does."""

from __future__ import annotations

import os
import random
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from tests.jobs.daily_log_workspace import DailyLogWorkspace, facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths
    from memoryd.state.database import Database

BERLIN = ZoneInfo("Europe/Berlin")


def moment(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


@pytest.fixture(autouse=True)
def zone() -> Iterator[None]:
    """The machine is in Berlin, whose clocks change in the night of 25 October 2026 and of 28 March 2027."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.fixture
def place(database: Database, paths: Paths) -> DailyLogWorkspace:
    return DailyLogWorkspace(database, paths, at=moment("2026-10-18T09:00"))


@pytest.mark.torture
def test_a_month_of_daily_logs_is_distilled_night_by_night(place: DailyLogWorkspace, torture: bool) -> None:
    """Every fact is in one memory, once; some are told again on another day, some nights the machine is off."""
    chance = random.Random(23)
    told = facts(800 if torture else 90, seed=23)
    days: list[list[str]] = [[] for _ in range(30)]
    for fact in told:
        for day in chance.sample(range(30), chance.choice((1, 1, 1, 2, 4) if torture else (1, 1, 2))):
            days[day].append(fact)
    is_off = set(chance.sample(range(1, 29), 5))
    said = dreams = 0
    for number, today in enumerate(days):
        midnight = datetime(2026, 10, 19, tzinfo=BERLIN) + timedelta(days=number)
        place.clock.at = (midnight + timedelta(hours=7)).timestamp()
        made_up = place.night()
        assert made_up <= (number - 1 in is_off), "a missed night is made up for once, and no other comes by day"
        dreams += made_up
        minutes = sorted(chance.choice((chance.randint(8 * 60, 23 * 60), 23 * 60 + 59)) for _ in today)
        for minute, fact in zip(minutes, today, strict=True):
            place.clock.at = max(place.clock.at + 1, (midnight + timedelta(minutes=minute)).timestamp())
            (done,) = place.say(f"Remember that {fact}.")
            is_known = any(fact in body for body in place.bodies())
            assert done.outcome == ("succeeded_no_output" if is_known else "succeeded"), fact
            said += not is_known
        assert place.night() == 0, "before its time"
        if number not in is_off:
            place.clock.at = (midnight + timedelta(days=1, hours=3, minutes=30)).timestamp()
            dreams += place.night()
    lines = [line for log in place.logs().values() for line in log.splitlines()]
    bodies = place.bodies()
    print(f"{said} lines, {len(told)} facts, {dreams} dreams, {len(bodies)} memories")
    assert len(lines) == said
    assert {fact: sum(fact in body for body in bodies) for fact in told} == dict.fromkeys(told, 1)
    assert dreams <= 30
