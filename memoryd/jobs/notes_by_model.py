"""Session notes by a model: what takes understanding is added below each heading; what code made is never touched.

Notes are worth less than memories: they leave a part of the day's budget to those who read turns, and three runs in a row
that fail end it for a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clients.registry import client_named
from memoryd.engines.model.agent import DeclinedError
from memoryd.engines.model.client import PromptTooLongError
from memoryd.engines.model.engine import ModelEngine, UnfinishedError
from memoryd.jobs.notes import write_again
from memoryd.jobs.notes_due import due_by_model, has_share
from memoryd.notes.facts import SessionFacts
from memoryd.notes.recent import KeepLimits, as_text, recent_messages
from memoryd.notes.sections import rendered
from memoryd.sources.session import NotATranscriptError
from memoryd.state import jobs
from memoryd.state import notes as kept_notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.clock import Clock
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from memoryd.state.notes import KeptNotes

_TRIES = 5


def add_to_due(
    database: Database, paths: Paths, config: Config, environment: Mapping[str, str], clock: Clock
) -> list[str]:
    """Have a model add to the notes that are due, one session after the other; the sessions to which it did.

    Raises EngineStoppedError and EngineRestsError where the engine can do nothing for now.
    """
    engine = ModelEngine(database, paths, config, environment, clock)
    done = []
    try:
        for notes in due_by_model(database, config, clock.now()):
            if not has_share(database, config, clock.now()):
                break
            if _add(engine, database, notes, clock):
                done.append(notes.session_id)
    finally:
        engine.close()
    return done


def _add(engine: ModelEngine, database: Database, notes: KeptNotes, clock: Clock) -> bool:
    place = kept_notes.place_of(database, notes.session_id)
    memory_dir = place.memory_dir if place else ""
    facts = SessionFacts(notes.facts)

    def said(tokens: int) -> str:
        limits = KeepLimits(tokens, 0, tokens)
        return as_text(recent_messages(client_named(notes.client), notes.path, limits, start=notes.written_offset))

    job_id = jobs.begin_request(database, jobs.NOTES, memory_dir, clock.now())
    try:
        written = engine.add_to_notes(job_id, memory_dir, rendered(notes.session_id, facts, {}), notes.written, said)
    except (UnfinishedError, DeclinedError, PromptTooLongError, OSError, NotATranscriptError) as error:
        why = str(error) or "the model does not want to work on this session"
        jobs.end_request(database, job_id, "failed", clock.now(), why)
        _store(database, notes, notes.written, notes.failures + 1)
        return False
    outcome = "succeeded" if written != notes.written else "succeeded_no_output"
    jobs.end_request(database, job_id, outcome, clock.now())
    _store(database, notes, written, 0)
    return True


def _store(database: Database, read: KeptNotes, written: Mapping[str, str], failures: int) -> None:
    """Store what came of a run on notes as they were read; code may have brought them further since."""
    for _ in range(_TRIES):
        current = kept_notes.notes_of(database, read.session_id)
        if current is None or not current.file or current.cursor.offset < read.cursor.offset:
            return  # the session is over or opted out, or its transcript was rewritten
        current = current._replace(
            written=dict(written),
            written_offset=read.written_offset if failures else read.cursor.offset,
            written_tokens=read.tokens,
            written_calls=read.calls,
            failures=failures,
        )
        if write_again(database, current):
            return
