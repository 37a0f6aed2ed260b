"""Choice of the engine that the config asks for; nobody else asks which one it is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.engines.base import Engine
    from memoryd.paths import Paths
    from memoryd.state.database import Database


@contextmanager
def chosen_engine(
    database: Database, paths: Paths, config: Config, environment: Mapping[str, str], clock: Clock
) -> Iterator[Engine]:
    """The engine, closed in the end. Each is imported only where it is used: they are the slowest imports there are."""
    from memoryd.engines.model.credentials import is_chosen  # noqa: PLC0415

    engine: Engine
    if is_chosen(config):
        from memoryd.engines.model.engine import ModelEngine  # noqa: PLC0415

        engine = ModelEngine(database, paths, config, environment, clock)
    else:
        from memoryd.engines.offline.engine import OfflineEngine  # noqa: PLC0415

        engine = OfflineEngine()
    try:
        yield engine
    finally:
        engine.close()
