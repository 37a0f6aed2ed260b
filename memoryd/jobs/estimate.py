"""What it would cost to let the model read sessions: rendered as they would be sent, and nothing is sent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.anthropic import account, extraction
from memoryd.engines.anthropic.cost import usd_of
from memoryd.engines.anthropic.wire import Usage
from memoryd.jobs.extract import exchanges_of
from memoryd.state import jobs
from memoryd.transcripts.follow import NotATranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.config import Config
    from memoryd.model import WaitingSession
    from memoryd.state.database import Database

_REQUESTS = 2
"""Of a run, on average: most find nothing and end with the first, the others read or write and end with the next."""
_OUTPUT_TOKENS = 400
"""Of a run, on average."""


class Estimate(NamedTuple):
    tokens: int
    usd: float


def estimate(database: Database, config: Config, sessions: Iterable[WaitingSession]) -> Estimate:
    """Tokens that would be sent, and what they would cost. Raises EngineStoppedError where the price is unknown."""
    model = config.anthropic.extraction_model
    price = account.price_of(config, model)
    limits = extraction.limits_of(config, model, 0.0)
    tokens = 0
    usd = 0.0
    for session in sessions:
        turns = jobs.waiting_turns(database, session.transcript_id, history=True)
        try:
            exchanges = list(exchanges_of(session.path, turns, session.memory_dir).values())
        except (OSError, NotATranscriptError):
            continue
        static, said = extraction.sizes_of(exchanges)
        runs = math.ceil(said / (limits.prompt_tokens - static))
        usage = Usage(
            cache_read=runs * static * _REQUESTS + said * (_REQUESTS - 1),
            cache_created=said,
            output=runs * _OUTPUT_TOKENS,
        )
        tokens += said + runs * static
        usd += usd_of(price, usage)
    return Estimate(tokens, usd)
