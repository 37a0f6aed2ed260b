"""What keeps the model from working on anything is put down, so that nobody tries in vain."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.clock import day_of
from memoryd.engines.anthropic import account
from memoryd.engines.anthropic.client import EndpointError
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.jobs.calls import DayCapError
from memoryd.state import holds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.state.database import Database


@contextmanager
def recorded(database: Database, config: Config, settings: bytes, clock: Clock) -> Iterator[None]:
    """Raises EngineStoppedError and EngineRestsError, each with a hold. `settings`: digest of those that hold."""
    try:
        yield
    except EngineStoppedError as error:
        holds.stop(database, account.NAME, error.sentence, error.fix, settings, clock.now())
        raise
    except DayCapError as error:
        now = clock.now()
        holds.pause(database, account.NAME, error.sentence, error.fix, settings, day_of(now)[1], now)
        raise
    except EndpointError as error:
        text = f"The model's endpoint, {config.anthropic.base_url}, has trouble: {str(error).rstrip('.')}."
        until = holds.rest(database, account.NAME, text, error.after, settings, clock.now())
        raise EngineRestsError(text, "memoryd retry", until=until) from error
