"""Work on what is due, once: the child process of `memoryd run`. It can be killed at any moment."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from memoryd.errors import EngineRestsError, EngineStoppedError

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.database import Database

NAME = "child"
HELP = ""  # not for people: `extract-now` is
_LAST_SECONDS = 20
"""Time to finish a session after SIGTERM; the daemon waits longer than this before it kills."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dream", nargs=2, metavar=("MEMORY", "ROOT"))
    parser.add_argument("--upkeep", action="store_true")
    parser.add_argument("--reindex", nargs="+", metavar="MEMORY")
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--read-memories", nargs="+", metavar="MEMORY")
    parser.add_argument("--prefetch", nargs=2, metavar=("MEMORY", "SESSION"))
    parser.add_argument("--notes", action="store_true")
    parser.add_argument("--notes-by-model", action="store_true")


def execute(context: Context) -> int:
    if context.arguments.dream:
        return _dream(context, *context.arguments.dream)
    if context.arguments.upkeep:
        return _upkeep(context)
    if context.arguments.reindex:
        return _reindex(context, context.arguments.reindex)
    if context.arguments.sync:
        return _sync(context)
    if context.arguments.read_memories:
        return _read_memories(context, context.arguments.read_memories)
    if context.arguments.prefetch:
        return _prefetch(context, *context.arguments.prefetch)
    if context.arguments.notes:
        return _notes(context)
    if context.arguments.notes_by_model:
        return _notes_by_model(context)
    return _extract(context)


def _sync(context: Context) -> int:
    """Exchange memories with the stores. What came of it is in the database; a kill leaves nothing half done."""
    from memoryd.errors import BusyError
    from memoryd.jobs.sync import sync_all
    from memoryd.recall.refresh import MemoryPlace, after_work
    from memoryd.state.database import open_database

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # which ends git, where one runs
    changed: set[str] = set()
    with closing(open_database(context.paths)) as database, suppress(BusyError):
        for done in sync_all(database, context.paths, context.config, context.environment, context.clock.now()):
            if done.result is not None and done.result.taken + done.result.dropped:
                changed |= {replica.memory_dir for replica in done.shared.replicas}
    if changed:
        after_work(context.paths, context.config, context.clock, [MemoryPlace(place, "") for place in sorted(changed)])
    return 0


def _dream(context: Context, memory_dir: str, root: str) -> int:
    """Run one dream. Its result is in the database; why it did not start is shown by the gates in `status`."""
    from memoryd.cli.dream_now import stoppable
    from memoryd.cli.extract_now import engine
    from memoryd.errors import BusyError, MemorydError, StateError
    from memoryd.jobs.dream import DreamRunner
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        with engine(context, database) as chosen, stoppable(context, memory_dir), suppress(BusyError):
            DreamRunner(database, context.paths, context.config, context.clock, chosen).dream(memory_dir, root)
    except StateError:
        raise  # there may be no job row yet: the daemon reports that the child failed
    except MemorydError:
        return 0  # the job row has the reason
    finally:
        database.close()
    return 0


def _upkeep(context: Context) -> int:
    """Run upkeep and record it in the database. SIGTERM ends it at once: no step can be left half done."""
    # A database that is made smaller is copied first: beside it, where room was looked for. SQLite reads this as it loads.
    os.putenv("SQLITE_TMPDIR", context.paths.state_dir)
    from memoryd.jobs.upkeep import upkeep
    from memoryd.recall.refresh import MemoryPlace, nightly
    from memoryd.state.database import open_database
    from memoryd.state.projects import all_projects

    database = open_database(context.paths)
    try:
        upkeep(database, context.paths, context.config, context.clock)
        projects = all_projects(database)
        _write_keys(context, database, [project.memory_dir for project in projects])
    finally:
        database.close()
    nightly(
        context.paths,
        context.config,
        context.clock,
        [MemoryPlace(project.memory_dir, project.root) for project in projects],
    )
    return 0


def _write_keys(context: Context, database: Database, memory_dirs: list[str]) -> None:
    """With a model, memories without keys get some. What keeps it from that is one line in the log."""
    from memoryd.engines.model.credentials import is_chosen
    from memoryd.errors import MemorydError
    from memoryd.log.writer import open_log

    if not is_chosen(context.config):
        return
    from memoryd.jobs.keys import write_keys

    with closing(open_log(context.paths, context.config.log.level)) as log:
        try:
            done = write_keys(database, context.paths, context.config, context.environment, context.clock, memory_dirs)
        except MemorydError as error:
            log.warning("keys", why=error.sentence)
        else:
            log.info("keys", **done._asdict())


def _notes(context: Context) -> int:
    """Bring the notes of live sessions up to date. A kill leaves each as it was, or new."""
    from memoryd.jobs.notes import update_due
    from memoryd.log.writer import open_log
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        failed = update_due(database, context.paths, context.config, context.clock.now())
    finally:
        database.close()
    if failed:
        log = open_log(context.paths, context.config.log.level)
        for place, reason in failed:
            log.warning("notes", session=place.session_id, reason=reason)
        log.close()
    return 0


def _notes_by_model(context: Context) -> int:
    """Have a model add to the notes of live sessions. Its result is in the database, as are the reasons of failures."""
    from memoryd.jobs.notes_by_model import add_to_due
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        with suppress(EngineStoppedError, EngineRestsError):  # `status` shows why
            add_to_due(database, context.paths, context.config, context.environment, context.clock)
    finally:
        database.close()
    return 0


def _reindex(context: Context, memory_dirs: list[str]) -> int:
    """Make indexes right that somebody deleted or cut. A kill leaves a prepared commit, which the next one finishes."""
    from memoryd.jobs.index_repair import repair_indexes
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        repair_indexes(database, memory_dirs, context.clock.now())
    finally:
        database.close()
    return 0


def _read_memories(context: Context, memory_dirs: list[str]) -> int:
    """Take in the terms of memories that recall has not read yet. A kill leaves those that were taken in."""
    from memoryd.recall.refresh import MemoryPlace, after_work

    after_work(context.paths, context.config, context.clock, [MemoryPlace(path, "") for path in memory_dirs])
    return 0


def _prefetch(context: Context, memory_dir: str, session_id: str) -> int:
    """Let a model pick memories for the prompt on standard input. Nobody sees how this ends, so the log says why it failed."""
    import json

    from memoryd.jobs.prefetch import prefetch
    from memoryd.log.writer import open_log

    try:
        given = json.load(sys.stdin)
    except ValueError:
        given = None
    why = prefetch(context.paths, context.config, context.environment, context.clock, memory_dir, session_id, given)
    if why:
        with closing(open_log(context.paths, context.config.log.level)) as log:
            log.warning("prefetch", why=why)
    return 0


def _extract(context: Context) -> int:
    from memoryd.cli.extract_now import after_extraction, extractions
    from memoryd.jobs.due import due
    from memoryd.state import pauses
    from memoryd.state.database import open_database

    stop = threading.Event()

    def on_term(*_: object) -> None:
        """Finish this session if that takes less than the last seconds, and start no other."""
        stop.set()
        signal.alarm(_LAST_SECONDS)

    signal.signal(signal.SIGTERM, on_term)
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(0))  # what was asked and not answered is asked again
    database = open_database(context.paths)
    try:
        now = context.clock.now()
        sessions = due(database, context.paths, context.config, now)
        worked: dict[str, str] = {}
        extracted = extractions(context, database, sessions, now, gives_way=True)
        with closing(extracted), suppress(EngineStoppedError, EngineRestsError):  # `status` shows why
            for done in extracted:
                worked[done.memory_dir] = done.project_root
                if stop.is_set() or pauses.current_pause(database, context.clock.now()) is not None:
                    break
    finally:
        database.close()
    if not stop.is_set():
        after_extraction(context, sessions, worked)
    return 0
