"""Selection by a model: one small request, paid like all others, that asks which memories help with a prompt.

It is optional: whatever goes wrong, the local choice is used, and the log has the reason. A kill leaves a job that counts as
failed from its begin, and a reserved amount that counts as spent.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clock import elapsed
from memoryd.engines.model import credentials, selection_brief
from memoryd.engines.model.budget import RunCapError
from memoryd.engines.model.client import BadRequestError, PromptTooLongError
from memoryd.errors import EngineRestsError, MemorydError
from memoryd.jobs.holds import engine_wait, hold_of
from memoryd.jobs.single_request import ask_once
from memoryd.state import engine_holds, jobs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.engines.model.client import EndpointError
    from memoryd.engines.model.selection_brief import SelectionQuestion
    from memoryd.paths import Paths
    from memoryd.state.database import Database

DATABASE_SECONDS = 0.5
"""Longest wait for the database: a user waits for the prompt."""


class Selected(NamedTuple):
    names: tuple[str, ...] | None
    """Memories that help, the most useful first; None if the model did not choose."""
    why: str = ""
    """Reason why it did not."""


class _Task(NamedTuple):
    """One selection with everything that it uses."""

    database: Database
    paths: Paths
    config: Config
    environment: Mapping[str, str]
    clock: Clock
    memory_dir: str
    seconds: float
    until: float
    """Deadline, as `elapsed` counts."""

    @property
    def settings(self) -> bytes:
        """Digest of the model's settings; a hold ends when they change."""
        return credentials.settings_digest(self.config)

    @property
    def own_settings(self) -> bytes:
        """Digest of the selection's settings: with more time it is tried again."""
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
    """Memories that a model picks for a prompt; a failure is returned as a reason, not raised.

    1. check whether the model may be asked: it is configured, there is no pause, no hold
    2. ask, within time and budget
    3. check the answer, and record the result

    `database` is open for writing.
    """
    until = elapsed() + seconds
    if not names or not manifest_lines or not query.strip():
        return Selected(())
    task = _Task(database, paths, config, environment, clock, memory_dir, seconds, until)
    question = selection_brief.SelectionQuestion(query, manifest_lines, names, tools)
    try:
        with database.waiting(DATABASE_SECONDS):
            if why := _why_not(task):
                return Selected(None, why)
            return _selected(task, question, limit)
    except MemorydError as error:
        return Selected(None, error.sentence)


def _why_not(task: _Task) -> str:
    """Reason why the model is not asked; empty where it may be."""
    if not credentials.is_chosen(task.config):
        return "No model is set up: the config names no key."
    now = task.clock.now()
    hold = hold_of(task.database, task.config, now) or engine_holds.current_hold(
        task.database, jobs.RECALL, task.own_settings, now
    )
    if hold is None and task.config.engine == credentials.CLAUDE:
        wait = engine_wait(task.database, task.paths, task.config, now)
        return f"{wait.why[0].upper()}{wait.why[1:]}." if wait is not None else ""
    return hold.text if hold is not None else ""


def _selected(task: _Task, question: SelectionQuestion, limit: int) -> Selected:
    job_id = jobs.begin_request(task.database, jobs.RECALL, task.memory_dir, task.clock.now())
    try:
        selected = Selected(_asked(task, job_id, question, limit))
    except (selection_brief.NoChoiceError, RunCapError, BadRequestError, PromptTooLongError) as error:
        selected = Selected(None, f"The model chose nothing: {error}.")
    except MemorydError as error:
        selected = Selected(None, error.sentence)
    names, why = selected
    outcome = "failed" if names is None else "succeeded" if names else "succeeded_no_output"
    with suppress(MemorydError):  # a choice counts also where it could not be recorded
        jobs.end_request(task.database, job_id, outcome, task.clock.now(), why)
    return selected


def _asked(task: _Task, job_id: int, question: SelectionQuestion, limit: int) -> tuple[str, ...]:
    """Names that the model picks. Raises NoChoiceError and what `ask_once` raises; a failure that would repeat is recorded."""
    request = selection_brief.request_of(question, credentials.with_models(task.config))
    shown = selection_brief.shown_in(request, question.names)
    chosen = ask_once(
        task.database,
        task.paths,
        task.config,
        task.environment,
        task.clock,
        job_id=job_id,
        memory_dir=task.memory_dir,
        request=request,
        prompt_name=selection_brief.prefix_name(request),
        until=task.until,
        read=lambda reply: selection_brief.choice_in(reply, shown, limit),
        resting=lambda error: _resting(task, error),
    )
    engine_holds.lift(task.database, jobs.RECALL)
    return chosen


def _resting(task: _Task, error: EndpointError) -> EngineRestsError:
    """Hold for selections only, so that later prompts do not wait in vain; jobs have more time and more attempts."""
    why = f"it did not answer within {task.seconds:g} s" if elapsed() >= task.until else str(error).rstrip(".")
    text = f"The model chose nothing: {why}."
    until = engine_holds.rest(task.database, jobs.RECALL, text, error.after, task.own_settings, task.clock.now())
    return EngineRestsError(text, "memoryd retry", until=until)
