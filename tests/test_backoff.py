"""Delays after failures: doubled, with a longest one, and spread where many clients fail at once."""

from __future__ import annotations

from memoryd.backoff import Backoff

EXAMPLE = Backoff(60.0, 600.0)


def test_the_delay_doubles_up_to_the_longest() -> None:
    assert [EXAMPLE.delay(failures) for failures in range(1, 7)] == [60.0, 120.0, 240.0, 480.0, 600.0, 600.0]


def test_years_of_failures_do_not_overflow() -> None:
    assert EXAMPLE.delay(1_000_000) == 600.0


def test_a_spread_delay_is_never_shorter_than_the_delay_nor_longer_than_the_longest() -> None:
    for failures in range(1, 7):
        for _ in range(100):
            assert EXAMPLE.delay(failures) <= EXAMPLE.spread_delay(failures) <= min(2 * EXAMPLE.delay(failures), 600.0)
    assert len({EXAMPLE.spread_delay(1) for _ in range(100)}) > 1
