"""The engine with a model: the agent writes proposals, a clean context of the model judges their meaning."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memoryd.engines.model import credentials, dream, dream_brief, extract, extraction_brief, meaning_request, notes
from memoryd.engines.model.agent import RunFailedError
from memoryd.engines.model.budget import BudgetedCalls, RunCapError
from memoryd.engines.model.client import BadRequestError
from memoryd.engines.model.record_hold import recording_holds
from memoryd.engines.model.transport import transport_for
from memoryd.errors import MemorydError
from memoryd.paths import is_below
from memoryd.state import engine_holds, model_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memoryd.clock import Clock
    from memoryd.config import Budget, Config
    from memoryd.engines.base import Signal
    from memoryd.engines.model.agent import RunLimits
    from memoryd.engines.model.claude.transport import Purpose
    from memoryd.engines.model.prices import Price
    from memoryd.memory.snapshot import Snapshot
    from memoryd.model import Proposal
    from memoryd.paths import Paths
    from memoryd.review.meaning import Ask, Question
    from memoryd.review.review import Review
    from memoryd.state.database import Database


class UnfinishedError(MemorydError):
    """The run came to no good end: this session is tried again later."""


class _Run(NamedTuple):
    """What a run of the agent is done with."""

    price: Price | None
    calls: BudgetedCalls
    note: Callable[[str, str], None]


class ModelEngine:
    """Made once a process; the endpoint is spoken to when the first turn needs it.

    `extract` and `dream` raise UnfinishedError and RefusedError, which are about this job; EngineStoppedError and
    EngineRestsError, which are about all, and are recorded.
    """

    def __init__(
        self, database: Database, paths: Paths, config: Config, environment: Mapping[str, str], clock: Clock
    ) -> None:
        self._database = database
        self._paths = paths
        self._config = credentials.with_models(config)
        self._clock = clock
        self._transport = transport_for(database, paths, config, environment, clock)
        # As they are now, before the key is read: what is mended while a request runs is another thing.
        self._settings = credentials.settings_digest(config)

    @property
    def name(self) -> str:
        return self._config.anthropic.dream_model

    def close(self) -> None:
        self._transport.close()

    def extract(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:
        """What the agent makes of these turns."""
        model = self._config.anthropic.extraction_model
        deadline = self._deadline(signal)
        budget = self._config.budget
        name = extraction_brief.prompt_name()
        with self._run("extraction", signal.job_id, snapshot.path, model, name, deadline, budget) as run:
            return extract.extract(
                snapshot,
                signal,
                review,
                self._paths.place_for(snapshot.path, "staging"),
                model=model,
                limits=self._transport.bounded(
                    extraction_brief.limits_of(
                        self._config, model, run.price, deadline, self._transport.answered_window(model)
                    )
                ),
                ask=run.calls.ask,
                now=self._clock.now,
                note=run.note,
            )

    def dream(self, snapshot: Snapshot, signal: Signal, review: Review) -> Proposal:
        """What the agent makes of the memories and of these turns."""
        model = self._config.anthropic.dream_model
        if is_below(self._paths.home, signal.project_root):
            # Somebody's whole home is no project, even where a session was started there.
            signal = signal._replace(project_root="")
        config = self._config._replace(budget=self._dream_budget)
        deadline = self._deadline(signal)
        name = dream_brief.prompt_name()
        with self._run("dream", signal.job_id, snapshot.path, model, name, deadline, self._dream_budget) as run:
            return dream.dream(
                snapshot,
                signal,
                review,
                self._paths.place_for(snapshot.path, "dreams"),
                model=model,
                limits=self._transport.bounded(
                    dream_brief.limits_of(config, model, run.price, deadline, self._transport.answered_window(model))
                ),
                ask=run.calls.ask,
                budget=dream.DreamBudget(
                    lambda: model_calls.spent_by(self._database, signal.job_id).usd,
                    self._dream_budget.usd_per_run if run.price is not None else float("inf"),
                ),
                now=self._clock.now,
                note=run.note,
            )

    def meaning_asker(self, signal: Signal, memory_dir: str) -> Ask | None:
        """Asks the model that the config names for review, within what is left of the job's money."""
        model = self._config.anthropic.review_model or self._config.anthropic.extraction_model
        budget = self._dream_budget if signal.is_dream else self._config.budget

        def ask(question: Question) -> str:
            deadline = self._deadline(signal)
            name = meaning_request.prompt_name(question)
            with self._run("review", signal.job_id, memory_dir, model, name, deadline, budget) as run:
                reply = run.calls.ask(meaning_request.request_of(question, model))
                return meaning_request.text_of(reply)

        return ask

    def add_to_notes(
        self, job_id: int, memory_dir: str, facts: str, written: Mapping[str, str], said: Callable[[int], str]
    ) -> dict[str, str]:
        """What the agent adds to the notes of a session, by section. `said`: the conversation, in so many tokens."""
        model = self._config.anthropic.extraction_model
        deadline = self._clock.now() + self._config.anthropic.longest_run_seconds
        with self._run("notes", job_id, memory_dir, model, notes.prompt_name(), deadline, self._config.budget) as run:
            limits = self._notes_limits(model, run, deadline)
            return notes.add_to_notes(
                notes.NotesTask(facts, said(notes.room_for_conversation(limits, facts)), written),
                os.path.join(self._paths.state_dir, "notes-run"),
                model=model,
                limits=limits,
                ask=run.calls.ask,
                now=self._clock.now,
                note=run.note,
            )

    def summarize(self, job_id: int, memory_dir: str, said: Callable[[int], str]) -> str:
        """A summary of a session in nine parts, by one request."""
        model = self._config.anthropic.extraction_model
        deadline = self._clock.now() + self._config.anthropic.longest_run_seconds
        name = notes.summary_prompt_name()
        with self._run("notes", job_id, memory_dir, model, name, deadline, self._config.budget) as run:
            limits = self._notes_limits(model, run, deadline)
            request = notes.summary_request(said(notes.room_for_conversation(limits, "")), model, limits)
            return notes.summary_in(run.calls.ask(request))

    def _notes_limits(self, model: str, run: _Run, deadline: float) -> RunLimits:
        return self._transport.bounded(
            notes.limits_of(self._config, model, run.price, deadline, self._transport.answered_window(model))
        )

    @property
    def _dream_budget(self) -> Budget:
        return self._config.budget._replace(usd_per_run=self._config.budget.usd_per_dream)

    def _deadline(self, signal: Signal) -> float:
        if signal.deadline is not None:
            return signal.deadline
        return self._clock.now() + self._config.anthropic.longest_run_seconds

    @contextmanager
    def _run(
        self,
        purpose: Purpose,
        job_id: int,
        memory_dir: str,
        model: str,
        prompt: str,
        deadline: float,
        budget: Budget,
    ) -> Iterator[_Run]:
        """A run of the agent: with a price and a purse, its errors told as those of a job or of the engine."""
        with recording_holds(self._database, self._config, self._settings, self._clock):
            price = self._transport.price_of(model)
            with self._transport.endpoint(purpose) as endpoint:
                calls = BudgetedCalls(
                    self._database,
                    job_id,
                    memory_dir,
                    endpoint,
                    price,
                    self._transport.caps(budget),
                    self._clock,
                    deadline,
                    prompt,
                )
                try:
                    yield _Run(price, calls, partial(model_calls.remark, self._database, job_id))
                except RunFailedError as error:
                    if error.is_by_reply:
                        calls.forget_last()
                    raise UnfinishedError(str(error)) from error
                except RunCapError as error:
                    raise UnfinishedError(str(error)) from error
                except BadRequestError as error:
                    calls.forget_last()  # it may be what the endpoint does not want to have back
                    if not model_calls.has_answered(self._database, model):
                        raise self._transport.refusal(error) from error
                    raise UnfinishedError(f"the endpoint refuses the request: {error}") from error
            engine_holds.lift(self._database, self._transport.name)
