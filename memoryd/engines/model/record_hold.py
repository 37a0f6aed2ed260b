"""Recording of holds: what keeps the model from working is stored, so that nobody tries in vain."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.clock import day_of
from memoryd.engines.model import credentials
from memoryd.engines.model.budget import DayCapError
from memoryd.engines.model.client import EndpointError
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.state import engine_holds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.state.database import Database


@contextmanager
def recording_holds(database: Database, config: Config, settings: bytes, clock: Clock) -> Iterator[None]:
    """Raises EngineStoppedError and EngineRestsError, each with a hold. `settings`: digest of those that hold."""
    engine = credentials.engine_name(config)
    try:
        yield
    except EngineStoppedError as error:
        engine_holds.stop(database, engine, error.sentence, error.fix, settings, clock.now())
        raise
    except DayCapError as error:
        now = clock.now()
        engine_holds.pause(database, engine, error.sentence, error.fix, settings, day_of(now)[1], now, error.reason)
        raise
    except EndpointError as error:
        text = error.sentence
        if not text:
            text = f"The model's endpoint, {config.anthropic.base_url}, has trouble: {str(error).rstrip('.')}."
        until = engine_holds.rest(
            database, engine, text, error.after, settings, clock.now(), reason=error.reason, fix=error.fix
        )
        raise EngineRestsError(text, error.fix or "memoryd retry", until=until) from error
