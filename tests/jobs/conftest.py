"""Fixtures for the tests of jobs."""

from __future__ import annotations

import pytest

from memoryd.engines.model.client import Client
from memoryd.engines.model.credentials import Account
from tests.messages_server import MessagesServer, Reply, text


@pytest.fixture(scope="session")
def loaded_sdk() -> None:
    """The SDK after its first request: the seconds that it takes to load are not what a test measures."""
    with MessagesServer(lambda _: Reply(text("ok"))) as server:
        client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
        message = {"role": "user", "content": [text("hello")]}
        client.send({"model": "m", "max_tokens": 100, "messages": [message]}, 300.0)
        client.close()
        assert server.violations == []
