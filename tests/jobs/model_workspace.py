"""The workspace with a model: a loopback server that speaks the Messages API, and a clock that is told when to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.config import Anthropic, Config
from memoryd.engines.model.engine import ModelEngine
from memoryd.jobs.due import due, extract_due
from tests.jobs.workspace import NOW, Workspace

if TYPE_CHECKING:
    import threading

    from memoryd.jobs.extract import Outcome
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.messages_server import MessagesServer

VARIABLE = "MODEL_KEY"


class ToldClock:
    """Time passes only while somebody waits."""

    def __init__(self) -> None:
        self.at = NOW
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.at

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.pauses.append(seconds)
        self.at += seconds
        return event.is_set()


def config_with_model(server: MessagesServer, **settings: object) -> Config:
    """A config that names a key, for this server."""
    settings = {"api_key_variable": VARIABLE, "base_url": server.url, **settings}
    return Config()._replace(anthropic=Anthropic(**settings))  # type: ignore[arg-type]


class ModelWorkspace(Workspace):
    def __init__(self, database: Database, paths: Paths, config: Config, server: MessagesServer) -> None:
        super().__init__(database, paths, config)
        self.server = server
        self.clock = ToldClock()
        self.key = "test-key"
        self.environment: dict[str, str] = {}

    def with_model(self) -> ModelEngine:
        return ModelEngine(self.database, self.paths, self.config, {VARIABLE: self.key} | self.environment, self.clock)

    def run(self, *, history_too: bool = False) -> list[Outcome]:
        sessions = due(self.database, self.paths, self.config, self.clock.now(), at_once=True, with_history=history_too)
        model = self.with_model()
        try:
            done = extract_due(
                self.database,
                self.paths,
                sessions,
                self.clock.now(),
                with_history=history_too,
                clock=self.clock,
                engine=model,
                review_mode=self.config.review,
            )
            return [worked.outcome for worked in done]
        finally:
            model.close()
