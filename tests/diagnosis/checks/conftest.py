"""The world that doctor's checks look at in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.config import Config
from memoryd.diagnosis.facts import World
from tests.diagnosis.checks.checking import NOW

if TYPE_CHECKING:
    from memoryd.paths import Paths


@pytest.fixture
def world(paths: Paths, environment: dict[str, str]) -> World:
    return World(paths, Config(), NOW, environment)
