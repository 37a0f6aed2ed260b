"""Estimate of what a model would cost for sessions: rendered as they would be sent, and nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.registry import instructions_at
from memoryd.engines.model import credentials, extraction_brief
from memoryd.engines.model.context_window import tokens_in
from memoryd.engines.model.cost import usd_of
from memoryd.engines.model.reply import Usage
from memoryd.jobs.extract import exchanges_of
from memoryd.sources.session import NotATranscriptError
from memoryd.state import jobs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoryd.config import Config
    from memoryd.model import WaitingSession
    from memoryd.paths import Paths
    from memoryd.state.database import Database

_REQUESTS = 2
"""Requests of a run, on average: most find nothing and end with the first, the others end with the next."""
_OUTPUT_TOKENS = 400
"""Output of a run, on average."""


class Estimate(NamedTuple):
    tokens: int
    """What is sent for the first time; what is read from the cache comes on top."""
    usd: float


def estimate(
    database: Database, paths: Paths, config: Config, sessions: Iterable[WaitingSession], *, again: bool = False
) -> Estimate:
    """Tokens that would be sent, and what they would cost. Raises EngineStoppedError where the price is unknown.

    The memories that exist by then are not known, and not counted. `again`: with the turns that were worked on already.
    """
    config = credentials.with_models(config)
    model = config.anthropic.extraction_model
    price = credentials.price_of(config, model)
    cap = None if config.engine == credentials.CLAUDE else price
    limits = extraction_brief.limits_of(config, model, cap, 0.0)
    static = extraction_brief.static_tokens()
    fresh = cached = runs = 0
    seen: set[tuple[str, ...]] = set()
    for session in sessions:
        number = session.transcript_id
        turns = jobs.ended_turns(database, number) if again else jobs.waiting_turns(database, number, history=True)
        try:
            exchanges = list(exchanges_of(session.client, session.path, turns, session.memory_dir).values())
        except (OSError, NotATranscriptError):
            continue
        instructions = instructions_at(exchanges[-1].said.cwd, paths) if exchanges else []
        shared = extraction_brief.shared_by_runs((), instructions, limits)
        common = tokens_in(shared)
        while exchanges:
            taken = extraction_brief.fitting(exchanges, shared, limits)
            said = tokens_in(extraction_brief.brief_of(exchanges[:taken], shared).task)
            exchanges = exchanges[taken:]
            runs += 1
            fresh += said + (0 if shared in seen else common)
            cached += (static + common) * _REQUESTS + said * (_REQUESTS - 1)
            seen.add(shared)
    if not runs:
        return Estimate(0, 0.0)
    usage = Usage(cache_read=cached, cache_created=fresh + static, output=runs * _OUTPUT_TOKENS)
    # By itself, since a price may depend on the length of a prompt, and this is many of them.
    per_run = Usage(*(count // runs for count in usage))
    return Estimate(fresh + static, usd_of(price, per_run) * runs)
