"""Selection by a model: which memories help with a prompt, asked in one small request that is paid for like all others.

It is only a help: whatever goes wrong, there is a choice without it, and a reason that the log can tell. What kill -9 leaves:
a job that counts as failed from its first moment, and a step that is reserved and counts as spent.
"""

from __future__ import annotations

import hashlib
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import elapsed
from memoryd.engines.model import credentials, selection_brief
from memoryd.engines.model.budget import BudgetedCalls, RunCapError
from memoryd.engines.model.client import BadRequestError, EndpointError, PromptTooLongError
from memoryd.engines.model.record_hold import recording_holds
from memoryd.engines.model.transport import transport_for
from memoryd.errors import EngineRestsError, MemorydError
from memoryd.jobs.holds import engine_wait, hold_of
from memoryd.state import engine_holds, jobs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.engines.model.selection_brief import SelectionQuestion
    from memoryd.paths import Paths
    from memoryd.state.database import Database

PATIENCE_SECONDS = 0.5
"""Who keeps the database longer than this is not waited for: somebody waits for us."""


class Selected(NamedTuple):
    names: tuple[str, ...] | None
    """The memories that help, the most useful first; None: nobody chose."""
    why: str = ""
    """Why nobody did."""


class _Desk(NamedTuple):
    """What a selection is done with."""

    database: Database
    paths: Paths
    config: Config
    environment: Mapping[str, str]
    clock: Clock
    memory_dir: str
    seconds: float
    until: float
    """By `elapsed`: the time runs from the first moment on."""

    @property
    def settings(self) -> bytes:
        """Those of the model, as they are now; a hold is about them."""
        return credentials.settings_digest(self.config)

    @property
    def own_settings(self) -> bytes:
        """Those of the selection: who gives it more time wants it to be tried again."""
        return hashlib.blake2b(self.settings + repr(self.seconds).encode(), digest_size=16).digest()


def select_by_model(
    database: Database,
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    *,
    memory_dir: str,
    query: str,
    manifest_lines: Sequence[str],
    names: Collection[str],
    tools: Sequence[str] = (),
    limit: int = selection_brief.MOST_SELECTED,
    seconds: float,
) -> Selected:
    """The memories that a model picks for a prompt; it never raises what a caller could only fall back from.

    1. whether the model may be asked at all: it is chosen, nobody has paused, nothing keeps it from working
    2. ask, within the time, the budget included
    3. judge the answer, and put down what came of it

    `database` is open for writing.
    """
    until = elapsed() + seconds
    if not names or not manifest_lines or not query.strip():
        return Selected(())
    desk = _Desk(database, paths, config, environment, clock, memory_dir, seconds, until)
    question = selection_brief.SelectionQuestion(query, manifest_lines, names, tools)
    try:
        with database.waiting(PATIENCE_SECONDS):
            if why := _why_not(desk):
                return Selected(None, why)
            return _selected(desk, question, limit)
    except MemorydError as error:
        return Selected(None, error.sentence)


def _why_not(desk: _Desk) -> str:
    """Why the model is not asked; empty where it may be."""
    if not credentials.is_chosen(desk.config):
        return "No model is set up: the config names no key."
    now = desk.clock.now()
    hold = hold_of(desk.database, desk.config, now) or engine_holds.current_hold(
        desk.database, jobs.RECALL, desk.own_settings, now
    )
    if hold is None and desk.config.engine == credentials.CLAUDE:
        wait = engine_wait(desk.database, desk.paths, desk.config, now)
        return f"{wait.why[0].upper()}{wait.why[1:]}." if wait is not None else ""
    return hold.text if hold is not None else ""


def _selected(desk: _Desk, question: SelectionQuestion, limit: int) -> Selected:
    job_id = jobs.begin_recall(desk.database, desk.memory_dir, desk.clock.now())
    try:
        selected = Selected(_asked(desk, job_id, question, limit))
    except (selection_brief.NoChoiceError, RunCapError, BadRequestError, PromptTooLongError) as error:
        selected = Selected(None, f"The model chose nothing: {error}.")
    except MemorydError as error:
        selected = Selected(None, error.sentence)
    names, why = selected
    outcome = "failed" if names is None else "succeeded" if names else "succeeded_no_output"
    with suppress(MemorydError):  # a choice that nobody could put down is one all the same
        jobs.end_recall(desk.database, job_id, outcome, desk.clock.now(), why)
    return selected


def _asked(desk: _Desk, job_id: int, question: SelectionQuestion, limit: int) -> tuple[str, ...]:
    """What the model picks. Raises NoChoiceError and what `BudgetedCalls.ask` does; what would be in vain again is recorded."""
    database, config, clock = desk.database, desk.config, desk.clock
    settings = desk.settings  # before the key is read: what is mended while a request runs is another thing
    deadline = clock.now() + desk.until - elapsed()
    # A clock that is set meanwhile makes nobody wait.
    transport = transport_for(
        database,
        desk.paths,
        config,
        desk.environment,
        clock,
        hurried_now=lambda: deadline - desk.until + elapsed(),
    )
    with (
        recording_holds(database, config, settings, clock),
        closing(transport),
        transport.endpoint("recall") as endpoint,
    ):
        request = selection_brief.request_of(question, credentials.with_models(config))
        calls = BudgetedCalls(
            database,
            job_id,
            desk.memory_dir,
            endpoint,
            transport.price_of(request["model"]),
            transport.caps(config.budget),
            clock,
            deadline,
            selection_brief.prefix_name(request),
        )
        try:
            reply = calls.ask(request)
        except EndpointError as error:
            raise _resting(desk, error) from error
        engine_holds.lift(database, transport.name)
        engine_holds.lift(database, jobs.RECALL)
        try:
            return selection_brief.choice_in(reply, selection_brief.shown_in(request, question.names), limit)
        except selection_brief.NoChoiceError:
            calls.forget_last()
            raise


def _resting(desk: _Desk, error: EndpointError) -> EngineRestsError:
    """Prompts do not wait in vain again and again. Only they: jobs have more time and more tries, and see for themselves."""
    why = f"it did not answer within {desk.seconds:g} s" if elapsed() >= desk.until else str(error).rstrip(".")
    text = f"The model chose nothing: {why}."
    until = engine_holds.rest(desk.database, jobs.RECALL, text, error.after, desk.own_settings, desk.clock.now())
    return EngineRestsError(text, "memoryd retry", until=until)
