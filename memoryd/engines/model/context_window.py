"""Context window: how much of it a conversation takes, and what is left out when it grows. Pure."""

from __future__ import annotations

import json
import math
from typing import Any

WINDOW_TOKENS = 200_000
"""Of a model that nothing is known of."""
LONG_NAME = "[1m]"
"""Ends the name of a model that is to be used with its long window, as Claude Code writes it."""
_LONG_WINDOW_TOKENS = 1_000_000
OUTPUT_TOKENS = 20_000
MARGIN_TOKENS = 13_000
"""So long before the window is full something is done about it."""
BYTES_PER_TOKEN = 4
JSON_BYTES_PER_TOKEN = 2
MEDIA_TOKENS = 2_000
"""Of an image or a document, whatever its size in bytes."""
KEPT_RESULTS = 5
IDLE_SECONDS = 3600.0
"""After so long a pause nothing of a conversation is cached any more, so clearing old results costs nothing."""
CLEARED = "[The result of this call has been cleared: it was used before.]"
_UNKNOWN_GAP = 0.2
_MEDIA = ("image", "document")
_THOUGHTS = ("thinking", "redacted_thinking")

Messages = list[dict[str, Any]]


def window_of(model: str, configured_tokens: int, answered_tokens: int = 0) -> int:
    """Tokens that a model can read at once: as the config says, else the model's own answer, else its name; 0 is none."""
    named = _LONG_WINDOW_TOKENS if model.endswith(LONG_NAME) else WINDOW_TOKENS
    return configured_tokens or answered_tokens or named


def prompt_limit(window_tokens: int) -> int:
    """Tokens that a prompt may have. A small window keeps a share for the output, since the usual one would be all."""
    return window_tokens - min(OUTPUT_TOKENS, window_tokens // 4) - min(MARGIN_TOKENS, window_tokens // 8)


def text_tokens(text: str) -> int:
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def tokens_in(value: Any) -> int:
    """An estimate: text by its bytes, tool inputs as JSON, images and documents by the piece."""
    if isinstance(value, str):
        return text_tokens(value)
    if isinstance(value, list | tuple):
        return sum(map(tokens_in, value))
    if not isinstance(value, dict):
        return 1
    if value.get("type") == "tool_use":
        return math.ceil(len(json.dumps(value)) / JSON_BYTES_PER_TOKEN)
    if value.get("type") in _MEDIA:
        return MEDIA_TOKENS
    return sum(tokens_in(item) for key, item in value.items() if key not in ("type", "cache_control"))


def without_old_results(messages: Messages, kept: int = KEPT_RESULTS) -> Messages:
    """The same conversation with all but the last few results of tools cleared."""
    ids = [
        block["tool_use_id"]
        for message in messages
        for block in _blocks(message)
        if block["type"] == "tool_result" and block["content"] != CLEARED
    ]
    old = set(ids[:-kept])
    if not old:
        return messages
    return [
        message
        | {
            "content": [
                block | {"content": CLEARED} if block.get("tool_use_id") in old else block for block in _blocks(message)
            ]
        }
        for message in messages
    ]


def without_old_thoughts(messages: Messages) -> Messages:
    """The same conversation with the thoughts of its last reply only: an endpoint wants those back with their calls."""
    last = max((position for position, message in enumerate(messages) if message["role"] == "assistant"), default=0)
    shorter = [message if position == last else _without_thoughts(message) for position, message in enumerate(messages)]
    return messages if shorter == messages else shorter


def _without_thoughts(message: dict[str, Any]) -> dict[str, Any]:
    said = [block for block in _blocks(message) if block["type"] not in _THOUGHTS]
    return message | {"content": said} if said else message  # which may not be empty


def without_oldest_rounds(messages: Messages, tokens: int | None, limit: int | None) -> Messages | None:
    """The conversation without its oldest rounds, so that what is too much is gone; None where there is none to drop.

    The first message is the task. A round is what the model said and what the tools answered: they go together.
    """
    rounds = [messages[position : position + 2] for position in range(1, len(messages) - 1, 2)]
    size = tokens_in(messages)
    gap = size * _UNKNOWN_GAP
    if tokens and limit and tokens > limit:
        # Brief and tools are in the endpoint's count and stay, so it is not enough to drop their share of these messages.
        gap = max(tokens - limit, size * (1 - limit / tokens))
    dropped = 0.0
    while rounds and dropped < gap:
        dropped += tokens_in(rounds.pop(0))
    if not dropped:
        return None
    return [messages[0], *(message for one in rounds for message in one)]


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
