"""Summary of a session: its notes, the last messages, the files read last, plan and skills; enough to open another with.

Where there are notes no model is asked. Without, a model writes nine parts in one request; three failures in a row for a
session stop it, and notes made by code stand in, as they do where there is no model.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd import atomic_file
from memoryd.clients.registry import client_named
from memoryd.engines.model import credentials
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.jobs.holds import engine_wait
from memoryd.notes.facts import BYTES_PER_TOKEN
from memoryd.notes.recent import KeepLimits, as_text, recent_messages
from memoryd.notes.sections import rendered
from memoryd.security.redact import redacted_excerpt
from memoryd.sources.session import NotATranscriptError
from memoryd.state import jobs, settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.clients.tool_actions import PlanStep
    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.notes.facts import SessionFacts
    from memoryd.notes.recent import RecentMessage
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.notes import KeptNotes

_MOST_FILES = 5
_FILE_TOKENS = 5_000
_MOST_FAILURES = 3
_SETTING = "summary_failures:"


class ReadFile(NamedTuple):
    path: str
    text: str


class SessionSummary(NamedTuple):
    source: Literal["notes", "model", "transcript"]
    """Where the text comes from: notes that were kept, a model, or notes that were made of the transcript just now."""
    text: str
    messages: tuple[RecentMessage, ...]
    files: tuple[ReadFile, ...]
    plan: tuple[PlanStep, ...]
    plan_text: str
    skills: tuple[str, ...]
    why_no_model: str = ""
    """Why a model was to be asked and was not, or did not answer."""
    is_transcript_gone: bool = False
    """The notes are there, the transcript cannot be read any more."""


def summary_of(
    database: Database,
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    notes: KeptNotes,
    facts: SessionFacts,
) -> SessionSummary:
    """Raises OSError and NotATranscriptError where the transcript cannot be read, and there are no notes either."""
    source: Literal["notes", "model", "transcript"] = "notes" if notes.file else "transcript"
    text, why = rendered(notes.session_id, facts, notes.written), ""
    if not notes.file and credentials.is_chosen(config):
        by_model, why = _by_model(database, paths, config, environment, clock, notes)
        source, text = ("model", by_model) if by_model else (source, text)
    messages: list[RecentMessage] = []
    is_gone = False
    try:
        messages = recent_messages(client_named(notes.client), notes.path, KeepLimits())
    except (OSError, NotATranscriptError):
        if not notes.file:
            raise
        is_gone = True
    return SessionSummary(
        source,
        text,
        tuple(messages),
        tuple(_files_read(facts)),
        tuple(facts.plan),
        facts.plan_text,
        tuple(facts.skills),
        why,
        is_gone,
    )


def _files_read(facts: SessionFacts) -> list[ReadFile]:
    """The files that were read last, as they are now, the last one first."""
    found: list[ReadFile] = []
    for file in reversed(facts.files.values()):
        path = os.path.join(facts.cwd, os.path.expanduser(file.path))
        data = atomic_file.read_regular(path, 4 * _FILE_TOKENS * BYTES_PER_TOKEN) if file.reads else None
        if data and b"\0" not in data:
            text = redacted_excerpt(data.decode("utf-8", "replace"), _FILE_TOKENS * BYTES_PER_TOKEN)
            found.append(ReadFile(file.path, text))
        if len(found) == _MOST_FILES:
            break
    return found


def _by_model(
    database: Database,
    paths: Paths,
    config: Config,
    environment: Mapping[str, str],
    clock: Clock,
    notes: KeptNotes,
) -> tuple[str, str]:
    """Nine parts by a model, or why there are none."""
    from memoryd.engines.model.client import PromptTooLongError  # noqa: PLC0415 - most summaries need no model
    from memoryd.engines.model.engine import ModelEngine, UnfinishedError  # noqa: PLC0415 - as above

    name = f"{_SETTING}{notes.session_id}"
    known = settings.get(database, name)
    failures = known.value if known else 0
    if failures >= _MOST_FAILURES:
        return "", f"The model failed {_MOST_FAILURES} times on this session, so it was not asked again."
    if (wait := engine_wait(database, paths, config, clock.now())) is not None:
        return "", f"The model was not asked: {wait.why}."

    def said(tokens: int) -> str:
        return as_text(recent_messages(client_named(notes.client), notes.path, KeepLimits(tokens, 0, tokens)))

    job_id = jobs.begin_request(database, jobs.SUMMARY, "", clock.now())
    engine = ModelEngine(database, paths, config, environment, clock)
    try:
        text = engine.summarize(job_id, "", said)
    except (UnfinishedError, PromptTooLongError, EngineStoppedError, EngineRestsError) as error:
        why = str(error).rstrip(".")
        jobs.end_request(database, job_id, "failed", clock.now(), why)
        if not isinstance(error, EngineStoppedError | EngineRestsError):  # those are not about this session
            settings.put(database, name, failures + 1, clock.now())
        return "", f"The model gave no summary: {why}."
    finally:
        engine.close()
    jobs.end_request(database, job_id, "succeeded", clock.now())
    settings.drop(database, name)
    return text, ""


def as_markdown(summary: SessionSummary) -> str:
    """The summary as a text that can be the first message of a session in any agent."""
    parts = [summary.text.strip()]
    if summary.plan or summary.plan_text:
        steps = [f"- [{'x' if step.is_done else ' '}] {step.text}" for step in summary.plan]
        parts.append("# Plan\n" + "\n".join(filter(None, (*steps, summary.plan_text))))
    if summary.skills:
        parts.append(f"# Skills in use\n{', '.join(summary.skills)}")
    if summary.messages:
        parts.append(f"# The last messages, word for word\n{as_text(summary.messages)}")
    if summary.files:
        parts.append("# Files read last, as they are now")
        parts += [f"## {file.path}\n{_fence(file.text)}" for file in summary.files]
    return "\n\n".join(parts) + "\n"


def _fence(text: str) -> str:
    mark = "```"
    while mark in text:
        mark += "`"
    return f"{mark}\n{text.rstrip()}\n{mark}"
