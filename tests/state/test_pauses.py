"""A pause lasts as long as it was asked for, whatever the clock does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config, Features
from memoryd.errors import BusyError
from memoryd.jobs.holds import as_wait, hold_of, refuse_while_paused
from memoryd.model import Wait
from memoryd.state import engine_holds, pauses
from memoryd.state.pauses import Pause

if TYPE_CHECKING:
    from memoryd.state.database import Database

NOW = 2_000_000_000.0
HOUR = 3600.0


@pytest.mark.parametrize(
    ("until", "then", "lasts"),
    [
        (None, NOW + 365 * 24 * HOUR, True),
        (None, NOW - 365 * 24 * HOUR, True),
        (NOW + 2 * HOUR, NOW, True),
        (NOW + 2 * HOUR, NOW + 2 * HOUR - 1, True),
        (NOW + 2 * HOUR, NOW + 2 * HOUR, False),
        (NOW + 2 * HOUR, NOW - 5, True),  # a clock that was put right by seconds
        (NOW + 2 * HOUR, NOW - HOUR, False),  # set back: the end would come too late, perhaps by years
    ],
)
def test_a_pause_ends_at_its_time_and_never_lasts_for_ever_by_a_clock_that_steps(
    database: Database, until: float | None, then: float, lasts: bool
) -> None:
    pauses.begin(database, until, NOW)
    assert pauses.current_pause(database, then) == (Pause(NOW, until) if lasts else None)


def test_another_pause_replaces_the_first_and_an_end_ends_it(database: Database) -> None:
    assert pauses.current_pause(database, NOW) is None
    pauses.begin(database, None, NOW)
    pauses.begin(database, NOW + 60, NOW + 1)
    assert pauses.current_pause(database, NOW + 2) == Pause(NOW + 1, NOW + 60)
    pauses.end(database)
    pauses.end(database)
    assert pauses.current_pause(database, NOW + 2) is None


def test_everything_waits_for_it_under_one_name(database: Database) -> None:
    """With the embedded engine as with a model, whatever that one waits for itself."""
    engine_holds.stop(database, "anthropic", "No key.", "", b"", NOW)
    pause = pauses.begin(database, NOW + HOUR, NOW)
    for config in (Config(), Config(engine="anthropic")):
        hold = hold_of(database, config, NOW)
        assert as_wait(hold) == Wait(NOW + HOUR, "paused", pause.sentence.rstrip("."))
        assert hold is not None
        assert hold.fix == "memoryd resume"
    with pytest.raises(BusyError, match="paused since") as caught:
        refuse_while_paused(database, NOW)
    assert caught.value.fix == "memoryd resume"
    refuse_while_paused(database, NOW + HOUR)
    assert hold_of(database, Config(features=Features(dream=False)), NOW + HOUR) is None


def test_the_sentence_names_the_day_of_the_end_where_it_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    import time  # noqa: PLC0415 - only to make the zone count

    time.tzset()
    assert Pause(NOW, None).sentence == "memoryd is paused since 2033-05-18 03:33."
    assert Pause(NOW, NOW + HOUR).sentence == "memoryd is paused since 2033-05-18 03:33, until 04:33."
    assert Pause(NOW, NOW + 24 * HOUR).sentence == "memoryd is paused since 2033-05-18 03:33, until 2033-05-19 03:33."
    monkeypatch.undo()
    time.tzset()
