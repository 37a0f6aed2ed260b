"""Cost of requests: at most before they are sent, exactly afterwards. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memoryd.engines.model.context_window import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from memoryd.engines.model.prices import Price
    from memoryd.engines.model.reply import Usage

_MILLION = 1_000_000
_WRITE = 1.25
_LONG_WRITE = 2.0
_LEAST_BYTES_PER_TOKEN = 2.5
"""Models count differently, and Chinese takes more tokens than English: what reserves money is on the safe side."""


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
    prompt = _most_prompt_tokens(request)
    usd = prompt * _dearest(price) + float(request["max_tokens"]) * price.output
    return usd * _factor(price, prompt) / _MILLION


def most_tokens(request: dict[str, Any]) -> int:
    """Tokens that a request and its reply may have at most."""
    return int(_most_prompt_tokens(request)) + int(request["max_tokens"])


def _most_prompt_tokens(request: dict[str, Any]) -> float:
    sent = json.dumps([request["system"], request.get("tools", []), request["messages"]], ensure_ascii=False)
    return len(sent.encode("utf-8", "replace")) / _LEAST_BYTES_PER_TOKEN


def prompt_tokens_for(price: Price | None, usd: float, output_tokens: int) -> float:
    """How long a prompt may be, by our usual estimate, so that a request with it may cost no more than this."""
    if price is None or not _dearest(price):
        return float("inf")
    room = usd * _MILLION - output_tokens * price.output
    return max(0.0, room / _dearest(price) * _LEAST_BYTES_PER_TOKEN / BYTES_PER_TOKEN)


def _dearest(price: Price) -> float:
    return max(
        price.input,
        _or(price.cache_read, price.input),
        _or(price.cache_write, price.input * _WRITE),
        _or(price.long_cache_write, price.input * _LONG_WRITE),
    )


def _factor(price: Price, prompt_tokens: float) -> float:
    return price.above_factor if price.above_tokens and prompt_tokens > price.above_tokens else 1.0


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
