"""The brief for extraction: finished turns of one session, beside the memories and instruction files that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.engines.model import briefs
from memoryd.engines.model.agent import Brief, RunLimits
from memoryd.engines.model.context_window import prompt_limit, tokens_in, window_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.config import Config
    from memoryd.engines.model.prices import Price
    from memoryd.model import Exchange

TURNS = 5
OUTPUT_TOKENS = 8_000
_JOB = "extract"
_RUN_PROMPTS = 5
_CHEAP_TOKENS = 80_000
"""Above 100,000 tokens a prompt costs five times as much at the model that is meant for this; our estimate may be wrong."""
_OF_THE_CAP = 0.4
"""The first request is the dearest, since nothing of it is cached; the others of the run want their share."""
_FOR_RESULTS = 0.3
"""The part of a prompt that is left free for what the agent reads."""


def prompt_name() -> str:
    return briefs.static(_JOB)[0]


def static_tokens() -> int:
    """What every run begins with."""
    return briefs.static_tokens(_JOB)


def limits_of(config: Config, model: str, price: Price | None, deadline: float, answered_tokens: int = 0) -> RunLimits:
    """What a run may take, where the model's endpoint says that it can read so many tokens.

    Raises EngineStoppedError where window or cap leave no room for anything.
    """
    window = window_of(model, config.anthropic.context_window_tokens, answered_tokens)
    tokens = min(prompt_limit(window), _CHEAP_TOKENS)
    output = min(OUTPUT_TOKENS, tokens // 2)
    tokens = briefs.affordable_tokens(config, model, price, _JOB, window, tokens, output, _OF_THE_CAP)
    results = briefs.result_bytes(config.agent, tokens)
    return RunLimits(TURNS, output, tokens, tokens * _RUN_PROMPTS, deadline, results)


def shared_by_runs(manifest: Sequence[str], instructions: Sequence[str], limits: RunLimits) -> tuple[str, ...]:
    """What the runs of a project share: its instruction files and its memories. In a small window each has its share."""
    memories = briefs.memories_part(manifest, limits)
    return (briefs.instructions_part(instructions, limits), memories) if any(instructions) else (memories,)


def brief_of(exchanges: Sequence[Exchange], shared: tuple[str, ...]) -> Brief:
    """What the agent is told. Without a date or a path of its own: only what was said has a time."""
    return Brief(briefs.static(_JOB)[1], shared, briefs.conversation_part(exchanges))


def fitting(exchanges: Sequence[Exchange], shared: tuple[str, ...], limits: RunLimits) -> int:
    """How many of the turns, from the first on, a run can take; one at least."""
    return briefs.fitting(exchanges, (limits.prompt_tokens - static_tokens() - tokens_in(shared)) * (1 - _FOR_RESULTS))
