"""Prices of models, as far as memoryd knows; the config may name others."""

from __future__ import annotations

from memoryd.record import NamedTuple


class Price(NamedTuple):
    """USD for a million tokens. What reading from a cache saves counts only where the price is known."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    """For five minutes."""
    long_cache_write: float | None = None
    """For an hour."""
    above_tokens: int = 0
    """From so long a prompt on, everything costs `above_factor` times as much; 0: never."""
    above_factor: float = 1.0


PRICES = {
    "claude-haiku-5-5": Price(0.10, 0.50, 0.01, 0.125, 0.20, 100_000, 5.0),
    "claude-sonnet-5-5": Price(2.0, 10.0, 0.20, 2.50, 4.0),
    "claude-opus-5-5": Price(4.0, 20.0, 0.20, 5.0, 8.0),
    "claude-fable-5-1": Price(10.0, 50.0, 0.25, 12.50, 20.0),
    "claude-opus-5": Price(5.0, 25.0, 0.50, 6.25, 10.0),
    "claude-sonnet-5": Price(3.0, 15.0, 0.30, 3.75, 6.0),  # sources differ (2 or 3 USD): the dearer one
    "claude-haiku-4-5": Price(1.0, 5.0, 0.10, 1.25, 2.0),
}
NEWEST = {"haiku": "claude-haiku-5-5", "sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5"}
"""By the names that `claude` takes for the newest of a kind."""
