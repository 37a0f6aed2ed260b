"""Look at the transcripts and work on every turn that waits, at once and in the foreground.

What the transcripts held when memoryd first saw them is history and not touched: that is what `backfill` is for.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.errors import BusyError, EngineStoppedError
from memoryd.words import count, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from memoryd.cli import Context
    from memoryd.errors import MemorydError
    from memoryd.jobs.engine import ModelEngine
    from memoryd.jobs.work import Worked
    from memoryd.state.database import Database

NAME = "extract-now"
HELP = "work on every waiting turn at once"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.standing import refuse_while_paused
    from memoryd.jobs.work import due, work
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        refuse_while_paused(database, context.clock.now())
        look(context, database)
        now = context.clock.now()
        sessions = due(database, context.paths, context.config, now, at_once=True)
        with engine(context, database) as model:
            return tell(context, work(database, context.paths, sessions, now, clock=context.clock, model=model))
    finally:
        database.close()


@contextmanager
def engine(context: Context, database: Database) -> Iterator[ModelEngine | None]:
    """The model that the config asks for; None where the embedded engine does it."""
    from memoryd.engines.anthropic.account import is_chosen

    if not is_chosen(context.config):
        yield None
        return
    from memoryd.jobs.engine import ModelEngine

    model = ModelEngine(database, context.paths, context.config, context.environment, context.clock)
    try:
        yield model
    finally:
        model.close()


def look(context: Context, database: Database) -> None:
    """Read everything there is to read."""
    from memoryd.jobs.sweep import Sweeper

    sweeper = Sweeper(database, context.paths, context.config)
    while sweeper.sweep(context.clock.now()).backlog:
        pass


def tell(context: Context, worked: Iterable[Worked]) -> int:
    """Do the work, then print what came of it; 1 where something failed. What ends the work early is raised after that."""
    done: list[Worked] = []
    ended: MemorydError | None = None
    try:
        for one in worked:
            done.append(one)  # noqa: PERF402 - what was done before an error is told
    except (EngineStoppedError, BusyError) as error:
        ended = error
    code = _tell(context, done)
    if ended is not None:
        raise ended
    return code


def _tell(context: Context, done: list[Worked]) -> int:
    saved = [(worked, name) for worked in done for name in worked.outcome.saved]
    failed = [worked for worked in done if worked.outcome.outcome == "failed"]
    if context.arguments.json:
        print_json(
            [
                {
                    "session": worked.outcome.session_id,
                    "project": worked.project_root,
                    "memory_dir": worked.memory_dir,
                    "outcome": worked.outcome.outcome,
                    "saved": list(worked.outcome.saved),
                    "removed": list(worked.outcome.removed),
                    "detail": worked.outcome.detail or None,
                }
                for worked in done
            ]
        )
    else:
        for worked, name in saved:
            print(f"saved {short(worked.memory_dir, context.paths.home)}/{name}")
        for worked in done:
            for name in worked.outcome.removed:
                print(f"took back {short(worked.memory_dir, context.paths.home)}/{name}")
        for worked in failed:
            print(f"memoryd: session {worked.outcome.session_id[:8]}: {worked.outcome.detail}", file=sys.stderr)
        print(
            f"{count(len(done) - len(failed), 'session')} read, {count(len(saved), 'memory')} saved.".replace(
                "memorys", "memories"
            ),
            file=sys.stderr,
        )
    return 1 if failed else 0
