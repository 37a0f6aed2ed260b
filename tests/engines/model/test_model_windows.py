"""The window of a model is what its endpoint says, asked once a day, and nobody waits for an endpoint that does not say."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.engines.model import model_windows
from memoryd.engines.model.client import Client
from memoryd.engines.model.credentials import Account
from memoryd.engines.model.model_windows import answered_window, window_among
from tests.jobs.model_workspace import ToldClock
from tests.messages_server import MessagesServer, Reply, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.engines.model.client import ListedModel
    from memoryd.state.database import Database

DAY = 86_400.0


class Asked:
    """A client of a server that lists these models, and how often it was asked for them."""

    def __init__(self, server: MessagesServer, clock: ToldClock, key: str = "test-key") -> None:
        self._client = Client(lambda: Account(server.url, key), clock.now)
        self.times = 0
        self.url = server.url

    def models(self, deadline: float) -> tuple[ListedModel, ...] | None:
        self.times += 1
        return self._client.models(deadline)

    def close(self) -> None:
        self._client.close()


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to load the SDK than a person is made to wait."""
    monkeypatch.setattr(model_windows, "_ANSWER_SECONDS", 300.0)


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    models: list[dict[str, Any]] = [
        {"id": "small", "max_input_tokens": 32_000},
        {"id": "served-by-vllm", "max_model_len": 16_384},
        {"id": "dated-20261001", "max_input_tokens": 500_000},
        {"id": "silent"},
        {"id": "odd", "max_input_tokens": "many"},
        {"id": "negative", "max_input_tokens": -1},
    ]
    with MessagesServer(lambda _: Reply(text("ok")), models=models) as opened:
        yield opened


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("small", 32_000),
        ("small[1m]", 32_000),
        ("served-by-vllm", 16_384),
        ("dated", 500_000),
        ("dated-20261001", 500_000),
        ("silent", 0),
        ("odd", 0),
        ("negative", 0),
        ("smaller", 0),
        ("sma", 0),
    ],
)
def test_the_window_is_what_the_endpoint_lists(
    database: Database, server: MessagesServer, model: str, window: int
) -> None:
    clock = ToldClock()
    with closing(Asked(server, clock)) as client:
        assert answered_window(database, client, client.url, model, clock.now()) == window  # type: ignore[arg-type]


def test_it_is_asked_once_a_day_for_all_models(database: Database, server: MessagesServer) -> None:
    clock = ToldClock()
    with closing(Asked(server, clock)) as client:
        for model, window in (("small", 32_000), ("silent", 0), ("small", 32_000)):
            assert answered_window(database, client, client.url, model, clock.now()) == window  # type: ignore[arg-type]
        assert client.times == 1
        clock.at += DAY
        assert answered_window(database, client, client.url, "small", clock.now()) == 32_000  # type: ignore[arg-type]
        assert client.times == 2


def test_another_endpoint_is_asked_itself(database: Database, server: MessagesServer) -> None:
    clock = ToldClock()
    with closing(Asked(server, clock)) as client:
        answered_window(database, client, client.url, "small", clock.now())  # type: ignore[arg-type]
    models = [{"id": "small", "max_input_tokens": 9_000}]
    with (
        MessagesServer(lambda _: Reply(text("ok")), models=models) as other,
        closing(Asked(other, clock)) as client,
    ):
        assert answered_window(database, client, client.url, "small", clock.now()) == 9_000  # type: ignore[arg-type]


def test_an_endpoint_without_a_list_is_not_asked_again_that_day(database: Database) -> None:
    clock = ToldClock()
    with MessagesServer(lambda _: Reply(text("ok"))) as server, closing(Asked(server, clock)) as client:
        assert answered_window(database, client, client.url, "small", clock.now()) == 0  # type: ignore[arg-type]
        assert answered_window(database, client, client.url, "small", clock.now()) == 0  # type: ignore[arg-type]
        assert client.times == 1


def test_one_that_cannot_be_reached_says_nothing_and_is_asked_again(database: Database) -> None:
    clock = ToldClock()
    with MessagesServer(lambda _: Reply(text("ok"))) as server, closing(Asked(server, clock)) as client:
        server.stop()
        assert answered_window(database, client, client.url, "small", clock.now()) == 0  # type: ignore[arg-type]
        assert answered_window(database, client, client.url, "small", clock.now()) == 0  # type: ignore[arg-type]
        assert client.times == 2


def test_of_several_dated_models_the_smallest_window_counts() -> None:
    assert window_among({"m-20260101": 200_000, "m-20260901": 100_000, "m-2-20260901": 5}, "m") == 100_000


@pytest.mark.parametrize(("model", "beta"), [("m", None), ("m[1m]", "context-1m-2025-08-07")])
def test_a_long_window_is_asked_for_by_its_header_and_not_by_name(model: str, beta: str | None) -> None:
    with MessagesServer(lambda _: Reply(text("ok"))) as server:
        client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
        try:
            client.send({"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}, 60.0)
        finally:
            client.close()
        (request,) = server.requests
    assert (request.body["model"], request.headers.get("anthropic-beta")) == ("m", beta)
