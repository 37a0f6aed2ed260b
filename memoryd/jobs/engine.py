"""The model that the config names, at work: with a key, a purse, and a rest where its endpoint or the budget wants one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memoryd.clock import day_of
from memoryd.engines.anthropic import account, extraction
from memoryd.engines.anthropic.client import BadRequestError, Client, EndpointError
from memoryd.engines.anthropic.loop import RunFailedError
from memoryd.errors import EngineRestsError, EngineStoppedError, MemorydError
from memoryd.jobs import agent
from memoryd.jobs.calls import Calls, DayCapError, RunCapError
from memoryd.state import holds, steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.jobs.agent import Extracted
    from memoryd.model import Exchange
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.jobs import Job


class UnfinishedError(MemorydError):
    """The run came to no good end: this session is tried again later."""


class ModelEngine:
    """Made once a process; the endpoint is spoken to when the first turn needs it."""

    def __init__(
        self, database: Database, paths: Paths, config: Config, environment: Mapping[str, str], clock: Clock
    ) -> None:
        self._database = database
        self._paths = paths
        self._config = config
        self._environment = environment
        self._clock = clock
        self._client: Client | None = None
        # As they are now, before the key is read: what is mended while a request runs is another thing.
        self._settings = account.settings_digest(paths.config_file, config.anthropic)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def extract(
        self, job: Job, memory_dir: str, exchanges: Sequence[Exchange], instructions: Sequence[str]
    ) -> Extracted:
        """What the agent makes of these turns.

        Raises UnfinishedError and RefusedError, which are about this session; EngineStoppedError and EngineRestsError,
        which are about all, and are recorded.
        """
        try:
            return self._extract(job, memory_dir, exchanges, instructions)
        except EngineStoppedError as error:
            holds.stop(self._database, account.NAME, error.sentence, error.fix, self._settings, self._clock.now())
            raise
        except DayCapError as error:
            now = self._clock.now()
            holds.pause(self._database, account.NAME, error.sentence, error.fix, self._settings, day_of(now)[1], now)
            raise
        except EndpointError as error:
            text = f"The model's endpoint, {self._config.anthropic.base_url}, has trouble: {str(error).rstrip('.')}."
            until = holds.rest(self._database, account.NAME, text, error.after, self._settings, self._clock.now())
            raise EngineRestsError(text, "memoryd retry", until=until) from error

    def _extract(
        self, job: Job, memory_dir: str, exchanges: Sequence[Exchange], instructions: Sequence[str]
    ) -> Extracted:
        model = self._config.anthropic.extraction_model
        price = account.price_of(self._config, model)
        if self._client is None:
            self._client = Client(account.account_of(self._config.anthropic, self._environment), self._clock.now)
        deadline = self._clock.now() + self._config.anthropic.longest_run_seconds
        calls = Calls(
            self._database,
            job.id,
            memory_dir,
            self._client,
            price,
            self._config.budget,
            self._clock,
            deadline,
            extraction.prompt_name(),
        )
        try:
            extracted = agent.extract(
                self._database,
                memory_dir,
                self._paths.place_for(memory_dir, "staging"),
                exchanges,
                instructions,
                model=model,
                limits=extraction.limits_of(self._config, model, price, deadline),
                ask=calls.ask,
                now=self._clock.now,
                note=partial(steps.remark, self._database, job.id),
            )
        except RunFailedError as error:
            if error.is_by_reply:
                calls.forget_last()
            raise UnfinishedError(str(error)) from error
        except RunCapError as error:
            raise UnfinishedError(str(error)) from error
        except BadRequestError as error:
            calls.forget_last()  # it may be what the endpoint does not want to have back
            if not steps.has_answered(self._database, model):
                raise EngineStoppedError(
                    f"{self._config.anthropic.base_url} refuses our requests. It says: {error}",
                    "change [anthropic] in the config, then: memoryd retry",
                ) from error
            raise UnfinishedError(f"the endpoint refuses the request: {error}") from error
        holds.lift(self._database, account.NAME)
        return extracted
