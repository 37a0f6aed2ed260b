"""Fixtures of the stores: clients of one place, in each kind of store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stores.places import Places, S3Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memoryd.stores.base import SharedStore

KINDS = ("git", "directory", "objects")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture(params=KINDS)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    """New stores of each kind."""
    return Places(request.param, tmp_path, lambda: request.getfixturevalue("s3_server"))


@pytest.fixture
def new_client(places: Places) -> Callable[[], SharedStore]:
    """Makes clients of one new store, as on machines of their own; for each kind of store."""
    return places.new()
