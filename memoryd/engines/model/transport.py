"""Transport: how a conversation with a model is driven. Briefs, tools, review, budget and progress are the same for all.

A run sends requests to an `Endpoint`, each with all messages so far. Over the Messages API every request stands for itself;
`claude` is told what has come since. Which transport it is, the config says.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from memoryd.engines.model import credentials
from memoryd.engines.model.budget import DollarCaps
from memoryd.engines.model.client import Client
from memoryd.engines.model.model_windows import answered_window
from memoryd.errors import EngineStoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from memoryd.clock import Clock
    from memoryd.config import Budget, Config
    from memoryd.engines.model.agent import RunLimits
    from memoryd.engines.model.budget import Caps, Endpoint
    from memoryd.engines.model.claude.transport import Purpose
    from memoryd.engines.model.client import BadRequestError
    from memoryd.engines.model.credentials import Account
    from memoryd.engines.model.prices import Price
    from memoryd.paths import Paths
    from memoryd.state.database import Database


class Transport(Protocol):
    """Made once a process."""

    @property
    def name(self) -> str:
        """The engine, as holds and usage know it."""

    def caps(self, budget: Budget) -> Caps:
        """What a run may take."""

    def price_of(self, model: str) -> Price | None:
        """The price that bounds a run; None: nothing is billed. Raises EngineStoppedError where nobody knows it."""

    def bounded(self, limits: RunLimits) -> RunLimits:
        """The limits of a run, with those that the transport has itself."""

    def endpoint(self, purpose: Purpose) -> AbstractContextManager[Endpoint]:
        """Who the requests of one run are sent to. Raises EngineStoppedError, EngineRestsError, EndpointError."""

    def answered_window(self, model: str) -> int:
        """Tokens that the endpoint says the model can read; 0 where the config says it, or nobody does. Within a run."""

    def refusal(self, error: BadRequestError) -> EngineStoppedError:
        """What it means where the first request ever is refused."""

    def close(self) -> None:
        """Give back connections, and end processes."""


class MessagesTransport:
    """Over the Messages API, by the SDK. `now` is what deadlines are by.

    `is_hurried`: the key is asked for within the time of the first request, since a command that prints it takes its own.
    """

    name = credentials.NAME

    def __init__(
        self,
        database: Database,
        config: Config,
        environment: Mapping[str, str],
        now: Callable[[], float],
        *,
        is_hurried: bool,
    ) -> None:
        self._database = database
        self._config = config
        self._environment = environment
        self._now = now
        self._is_hurried = is_hurried
        self._client: Client | None = None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def caps(self, budget: Budget) -> DollarCaps:
        return DollarCaps(budget)

    def price_of(self, model: str) -> Price | None:
        return credentials.price_of(self._config, model)

    def bounded(self, limits: RunLimits) -> RunLimits:
        return limits

    @contextmanager
    def endpoint(self, _purpose: Purpose) -> Iterator[Client]:
        if self._client is None:
            found = None if self._is_hurried else self._account()
            self._client = Client(lambda: found or self._account(), self._now)
        yield self._client

    def answered_window(self, model: str) -> int:
        if self._config.anthropic.context_window_tokens or self._client is None:
            return 0
        return answered_window(self._database, self._client, self._config.anthropic.base_url, model, self._now())

    def _account(self) -> Account:
        return credentials.account_of(self._config.anthropic, self._environment)

    def refusal(self, error: BadRequestError) -> EngineStoppedError:
        return EngineStoppedError(
            f"{self._config.anthropic.base_url} refuses our requests. It says: {error}",
            "change [anthropic] in the config, then: memoryd retry",
        )


def transport_for(
    database: Database,
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    *,
    hurried_now: Callable[[], float] | None = None,
) -> Transport:
    """The transport that the config names. `hurried_now`: the time, for somebody who waits for one answer."""
    now = hurried_now or clock.now
    if config.engine == credentials.CLAUDE:
        from memoryd.engines.model.claude.transport import ClaudeTransport  # noqa: PLC0415 - where it is used

        return ClaudeTransport(database, paths, config, environment, now)
    return MessagesTransport(database, config, environment, now, is_hurried=hurried_now is not None)
