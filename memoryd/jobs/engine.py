"""The model that the config names, at work: with a key, a purse, and a rest where its endpoint or the budget wants one."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.anthropic import account, dreaming, extraction
from memoryd.engines.anthropic.client import BadRequestError, Client
from memoryd.engines.anthropic.loop import RunFailedError
from memoryd.errors import EngineStoppedError, MemorydError
from memoryd.jobs import agent, dream_agent
from memoryd.jobs.calls import Calls, RunCapError
from memoryd.jobs.trouble import recorded
from memoryd.projects import is_below
from memoryd.state import holds, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Budget, Config
    from memoryd.jobs.agent import Extracted
    from memoryd.jobs.dream_agent import Dreamt
    from memoryd.model import DreamSession, Exchange, Progress
    from memoryd.paths import Paths
    from memoryd.prices import Price
    from memoryd.state.database import Database
    from memoryd.state.jobs import Job


class UnfinishedError(MemorydError):
    """The run came to no good end: this session is tried again later."""


class _Run(NamedTuple):
    """What a run of the agent is done with."""

    price: Price | None
    calls: Calls
    note: Callable[[str, str], None]


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
        self._settings = account.settings_digest(config)

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
        model = self._config.anthropic.extraction_model
        deadline = self._clock.now() + self._config.anthropic.longest_run_seconds
        budget = self._config.budget
        with self._run(job.id, memory_dir, model, extraction.prompt_name(), deadline, budget) as run:
            return agent.extract(
                self._database,
                memory_dir,
                self._paths.place_for(memory_dir, "staging"),
                exchanges,
                instructions,
                model=model,
                limits=extraction.limits_of(self._config, model, run.price, deadline),
                ask=run.calls.ask,
                now=self._clock.now,
                note=run.note,
            )

    def dream(
        self,
        job_id: int,
        memory_dir: str,
        project_root: str,
        exchanges: Sequence[Exchange],
        sessions: Sequence[DreamSession],
        changed: Sequence[str],
        instructions: Sequence[str],
        deadline: float,
        tell: Callable[[Progress], None],
    ) -> Dreamt:
        """What the agent makes of the memories, and of these turns, whose words are redacted.

        `tell` is called after each reply of the model, and may raise to stop it. Raises like `extract`.
        """
        model = self._config.anthropic.dream_model
        # Somebody's whole home is no project, even where a session was started there.
        is_home = is_below(self._paths.home, project_root)
        signal = dream_agent.Signal(exchanges, sessions, changed, instructions, "" if is_home else project_root)
        budget = self._config.budget._replace(usd_per_run=self._config.budget.usd_per_dream)
        config = self._config._replace(budget=budget)
        with self._run(job_id, memory_dir, model, dreaming.prompt_name(), deadline, budget) as run:
            return dream_agent.dream(
                self._database,
                memory_dir,
                self._paths.place_for(memory_dir, "dreams"),
                signal,
                model=model,
                limits=dreaming.limits_of(config, model, run.price, deadline),
                ask=run.calls.ask,
                purse=dream_agent.Purse(lambda: steps.spent_by(self._database, job_id).usd, budget.usd_per_run),
                now=self._clock.now,
                note=run.note,
                tell=tell,
            )

    @contextmanager
    def _run(
        self, job_id: int, memory_dir: str, model: str, prompt: str, deadline: float, budget: Budget
    ) -> Iterator[_Run]:
        """A run of the agent: with a price and a purse, its errors told as those of a job or of the engine."""
        with recorded(self._database, self._config, self._settings, self._clock):
            price = account.price_of(self._config, model)
            if self._client is None:
                self._client = Client(account.account_of(self._config.anthropic, self._environment), self._clock.now)
            calls = Calls(
                self._database,
                job_id,
                memory_dir,
                self._client,
                price,
                budget,
                self._clock,
                deadline,
                prompt,
            )
            try:
                yield _Run(price, calls, partial(steps.remark, self._database, job_id))
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
