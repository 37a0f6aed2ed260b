"""The desk at which the tests of jobs work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.jobs.bedroom import Bedroom
from tests.jobs.desk import Desk

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database


@pytest.fixture
def desk(database: Database, paths: Paths, config: Config) -> Desk:
    return Desk(database, paths, config)


@pytest.fixture
def bedroom(database: Database, paths: Paths, config: Config) -> Bedroom:
    return Bedroom(database, paths, config)
