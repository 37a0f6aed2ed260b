"""Prompt cache: where the breakpoints of a request stand, and whether a cached prefix was lost. Pure.

Requests of one kind share their beginning to the byte: tools, then the brief, then what is the same for a whole project.
That part is used again by the next sessions, for an hour; the conversation behind it only by the next turn, minutes later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryd.engines.model.reply import Usage

LONG = {"type": "ephemeral", "ttl": "1h"}
SHORT = {"type": "ephemeral", "ttl": "5m"}
_LOST = 0.5
"""Less than this share of what was there a moment ago: something in the prefix has changed."""


def with_breakpoints(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation with its breakpoints; with the one behind the brief they are four, which is all the API takes.

    In the first message all parts but the last are shared with other runs: each gets one when they are first sent, later
    only the last of them. The others stand behind the last two messages to the model: a reply of many calls is longer
    than the API looks back from one breakpoint for the one before.
    """
    first, *rounds = messages
    *shared, task = first["content"]
    if rounds:
        shared[-1:] = [_marked(one, LONG) for one in shared[-1:]]
    else:
        shared = [_marked(one, LONG) for one in shared]
    marked = [{**first, "content": [*shared, task]}, *rounds]
    for position in (len(marked) - 1, len(marked) - 3):
        if position >= 0:
            *rest, last = marked[position]["content"]
            marked[position] = {**marked[position], "content": [*rest, _marked(last, SHORT)]}
    return marked


def _marked(block: dict[str, Any], mark: dict[str, str]) -> dict[str, Any]:
    return {**block, "cache_control": mark}


def lost_between(before: Usage, after: Usage) -> str:
    """What a log should say if the second of two requests did not find what the first had left; empty if it did."""
    expected = before.cache_read + before.cache_created
    if after.cache_read >= expected * _LOST:
        return ""
    return f"{after.cache_read:,} of {expected:,} tokens were read from the cache, and nothing announced it"
