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
    try:
        yield
    except EngineStoppedError as error:
        engine_holds.stop(database, credentials.NAME, error.sentence, error.fix, settings, clock.now())
        raise
    except DayCapError as error:
        now = clock.now()
        engine_holds.pause(database, credentials.NAME, error.sentence, error.fix, settings, day_of(now)[1], now)
        raise
    except EndpointError as error:
        text = f"The model's endpoint, {config.anthropic.base_url}, has trouble: {str(error).rstrip('.')}."
        until = engine_holds.rest(database, credentials.NAME, text, error.after, settings, clock.now())
        raise EngineRestsError(text, "memoryd retry", until=until) from error
