"""What requests cost, before they are sent at most, and afterwards exactly. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoryd.engines.anthropic.context import tokens_in

if TYPE_CHECKING:
    from memoryd.config import Price
    from memoryd.engines.anthropic.wire import Usage

_MILLION = 1_000_000
_WRITE = 1.25
_LONG_WRITE = 2.0
_ESTIMATE = 1.4
"""Models count differently; an estimate that reserves money is on the safe side."""


def usd_of(price: Price | None, usage: Usage) -> float:
    """What an answer cost; nothing at a model that has no price."""
    if price is None:
        return 0.0
    long_write = _or(price.long_cache_write, price.input * _LONG_WRITE)
    usd = (
        usage.input * price.input
        + usage.cache_read * _or(price.cache_read, price.input)
        + (usage.cache_created - usage.long_cache_created) * _or(price.cache_write, price.input * _WRITE)
        + usage.long_cache_created * long_write
        + usage.output * price.output
    )
    return usd * _factor(price, usage.prompt) / _MILLION


def most_usd(price: Price | None, request: dict[str, Any]) -> float:
    """What a request may cost at most: nothing of it cached, all of it to be cached, and the longest reply."""
    if price is None:
        return 0.0
    prompt = tokens_in([request["system"], request["tools"], request["messages"]]) * _ESTIMATE
    dearest = max(
        price.input,
        _or(price.cache_read, price.input),
        _or(price.cache_write, price.input * _WRITE),
        _or(price.long_cache_write, price.input * _LONG_WRITE),
    )
    usd = prompt * dearest + float(request["max_tokens"]) * price.output
    return usd * _factor(price, prompt) / _MILLION


def _factor(price: Price, prompt_tokens: float) -> float:
    return price.above_factor if price.above_tokens and prompt_tokens > price.above_tokens else 1.0


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
