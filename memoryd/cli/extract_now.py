"""Read the transcripts and work on every turn that waits, at once and in the foreground.

Turns from before memoryd first saw a transcript are history, and left to `memoryd backfill`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.errors import BusyError, EngineStoppedError
from memoryd.formatting import count, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memoryd.cli import Context
    from memoryd.engines.base import Engine
    from memoryd.errors import MemorydError
    from memoryd.jobs.due import ExtractedDirectory
    from memoryd.model import WaitingSession
    from memoryd.state.database import Database

NAME = "extract-now"
HELP = "work on every waiting turn at once"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.jobs.due import due
    from memoryd.jobs.holds import refuse_while_paused
    from memoryd.state.database import open_database

    database = open_database(context.paths)
    try:
        refuse_while_paused(database, context.clock.now())
        ingest(context, database)
        now = context.clock.now()
        sessions = due(database, context.paths, context.config, now, at_once=True)
        return extract_and_print(context, extractions(context, database, sessions, now), sessions)
    finally:
        database.close()


def engine(context: Context, database: Database) -> AbstractContextManager[Engine]:
    """The engine that the config asks for. A team that the config has switched off since is so from now on."""
    from memoryd.engines.choose import chosen_engine
    from memoryd.jobs.team_answers import apply_switch

    apply_switch(database, context.config, context.clock.now())
    return chosen_engine(database, context.paths, context.config, context.environment, context.clock)


def extractions(
    context: Context,
    database: Database,
    sessions: dict[str, list[WaitingSession]],
    now: float,
    *,
    with_history: bool = False,
    gives_way: bool = False,
) -> Generator[ExtractedDirectory, None, None]:
    """Extract these sessions with the engine that the config names; it is closed with the generator."""
    from memoryd.jobs.due import extract_due

    with engine(context, database) as chosen:
        yield from extract_due(
            database,
            context.paths,
            sessions,
            now,
            engine=chosen,
            review_mode=context.config.review,
            has_daily_log=context.config.has_daily_log,
            with_history=with_history,
            gives_way=gives_way,
            clock=context.clock,
        )


def ingest(context: Context, database: Database) -> None:
    """Ingest what is new in all transcripts."""
    from memoryd.clients.registry import ALL
    from memoryd.jobs.ingest import Ingester

    ingester = Ingester(ALL, database, context.paths, context.config)
    while ingester.ingest(context.clock.now()).backlog:
        pass


def extract_and_print(
    context: Context, worked: Iterable[ExtractedDirectory], sessions: Mapping[str, Sequence[WaitingSession]]
) -> int:
    """Run the extractions and print their results; 1 where one failed. An error that ends them early is raised after that."""
    done: list[ExtractedDirectory] = []
    ended: MemorydError | None = None
    try:
        for outcome in worked:
            done.append(outcome)  # noqa: PERF402 - results before an error are printed
    except (EngineStoppedError, BusyError) as error:
        ended = error
    code = _print_outcomes(context, done)
    after_extraction(context, sessions, {outcome.memory_dir: outcome.project_root for outcome in done})
    if ended is not None:
        raise ended
    return code


def after_extraction(
    context: Context, sessions: Mapping[str, Sequence[WaitingSession]], worked: Mapping[str, str]
) -> None:
    """Bring recall up to date with what these sessions, by memory directory, said and did; `worked`: the roots of the projects."""
    from memoryd.jobs.repository_identity import record_identities
    from memoryd.recall.refresh import MemoryPlace, after_work

    places = [MemoryPlace(memory_dir, root, tuple(sessions[memory_dir])) for memory_dir, root in worked.items()]
    if places:
        after_work(context.paths, context.config, context.clock, places)
    record_identities(context.paths, worked.values(), context.clock.now())


def _print_outcomes(context: Context, done: list[ExtractedDirectory]) -> int:
    from memoryd.memory.daily_logs import split_names
    from memoryd.memory.tier_names import place_of

    def path_of(worked: ExtractedDirectory, name: str) -> str:
        place, name = place_of(name, worked.memory_dir, context.paths.global_dir)
        return f"{short(place, context.paths.home)}/{name}"

    split = [(worked, *split_names(worked.outcome.saved)) for worked in done]
    failed = [worked for worked in done if worked.outcome.outcome == "failed"]
    if context.arguments.json:
        print_json(
            [
                {
                    "session": worked.outcome.session_id,
                    "project": worked.project_root,
                    "memory_dir": worked.memory_dir,
                    "outcome": worked.outcome.outcome,
                    "saved": list(dict.fromkeys(worked.outcome.saved)),
                    "removed": list(worked.outcome.removed),
                    "held": worked.outcome.held,
                    "detail": worked.outcome.detail or None,
                }
                for worked in done
            ]
        )
    else:
        for worked, memories, logs in split:
            for name in memories:
                print(f"saved {path_of(worked, name)}")
            for log, number in logs.items():
                print(f"noted {count(number, 'line')} in {path_of(worked, log)}")
        for worked in done:
            for name in worked.outcome.removed:
                print(f"took back {path_of(worked, name)}")
        for worked in failed:
            print(f"memoryd: session {worked.outcome.session_id[:8]}: {worked.outcome.detail}", file=sys.stderr)
        held = sum(worked.outcome.held for worked in done)
        waiting = (
            f" {count(held, 'change')} wait{'s' if held == 1 else ''} for your yes or no: memoryd review"
            if held
            else ""
        )
        saved = sum(len(memories) for _, memories, _ in split)
        lines = sum(logs.total() for _, _, logs in split)
        told = [f"{count(saved, 'memory')} saved"] if saved or not lines else []
        told += [f"{count(lines, 'line')} noted in daily logs, for the next night"] if lines else []
        print(f"{count(len(done) - len(failed), 'session')} read, {', '.join(told)}.{waiting}", file=sys.stderr)
    return 1 if failed else 0
