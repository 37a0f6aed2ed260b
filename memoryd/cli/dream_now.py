"""Consolidate the memories of a project at once: what says the same becomes one, what has changed is brought up to date,
what has ended is archived, and the index is made right.

    memoryd dream-now                this project
    memoryd dream-now --dry-run      only show what would change
    memoryd history, memoryd undo    what a dream did, and how to take it back

It waits for no gate. While somebody else consolidates the same memories, and during a pause, it ends with code 75. Ctrl-C
changes nothing.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoryd.cli.dream_wording import deed, not_done, not_done_as_json
from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, project_of
from memoryd.formatting import count, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from memoryd.cli import Context
    from memoryd.jobs.dream import DreamOutcome
    from memoryd.model import Progress
    from memoryd.state.database import Database

NAME = "dream-now"
HELP = "consolidate the memories of a project"
_DONE = ("succeeded", "succeeded_no_output", "skipped(dry_run)")
_WIDEST = 100
_COLUMNS = 80
"""Of a terminal that does not say how wide it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser, with_global=True)
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.extract_now import engine, ingest
    from memoryd.jobs.dream import DreamRunner
    from memoryd.jobs.holds import refuse_while_paused
    from memoryd.state.database import open_database

    project = project_of(context)
    database = open_database(context.paths)
    begun_at = context.clock.now()
    try:
        refuse_while_paused(database, begun_at)
        ingest(context, database)
        with (
            engine(context, database) as chosen,
            stoppable(context, project.memory_dir),
            _progress_line(context.environment) as show,
        ):
            dreamer = DreamRunner(database, context.paths, context.config, context.clock, chosen, show)
            dreamt = dreamer.dream(project.memory_dir, project.root, is_trial=context.arguments.dry_run)
    except KeyboardInterrupt:
        print(_interrupted(database, project.memory_dir, begun_at), file=sys.stderr)
        raise
    finally:
        database.close()
    if context.arguments.json:
        print_json(as_json(dreamt))
    else:
        _print_outcome(dreamt, is_trial=context.arguments.dry_run)
    return 0 if dreamt.outcome in _DONE else 1


@contextmanager
def stoppable(context: Context, memory_dir: str) -> Iterator[None]:
    """Context in which `dream-stop` and signals end the dream."""
    from memoryd.errors import MemorydError
    from memoryd.jobs.dream_cancel import OverdueError, StopRequest, TimeIsUp, interruptible
    from memoryd.state import dreams
    from memoryd.state.database import open_database

    watching = open_database(context.paths)  # a connection of its own: it is asked in the middle of other work
    try:
        with interruptible(lambda: dreams.is_to_stop(watching, memory_dir)):
            yield
    except StopRequest:
        raise MemorydError("It was asked to stop.", "memoryd status") from None
    except TimeIsUp:
        raise OverdueError from None
    finally:
        watching.close()


@contextmanager
def _progress_line(environment: Mapping[str, str]) -> Iterator[Callable[[Progress], None]]:
    """Function that shows progress in one line of a terminal, written over each time; it does nothing elsewhere."""
    if not sys.stderr.isatty() or environment.get("TERM", "dumb") == "dumb":
        yield lambda _: None
        return

    from memoryd.model import Progress

    def show(progress: Progress) -> None:
        facts = [progress.line]
        if progress.tools:
            facts.append(count(progress.tools, "tool call"))
        if progress.files:
            facts.append(count(len(set(progress.files)), "file"))
        if progress.usd:
            facts.append(f"{progress.usd:.4f} USD")
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS  # asked each time: windows change
        line = _cut(shown(f"{progress.phase:<12} {', '.join(facts)}"), min(columns, _WIDEST) - 1)
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    show(Progress("start", "Taking the lock"))  # which takes a second
    try:
        yield show
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _cut(text: str, cells: int) -> str:
    """Start of a text that fits into this number of cells: a line that wraps could not be written over."""
    import unicodedata

    used = 0
    for place, letter in enumerate(text):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > cells:
            return text[:place]
    return text


def _interrupted(database: Database, memory_dir: str, begun_at: float) -> str:
    """Sentence about a dream that Ctrl-C ended; during a commit the signal waits until that is done."""
    from memoryd.state import dreams

    last = dreams.last_dreams(database, 1, memory_dir=memory_dir)
    if last and last[0].started_at >= begun_at and last[0].state == "succeeded":
        return "Interrupted when the dream was done already: memoryd history shows what it changed."
    return "Interrupted: nothing was changed."


def _print_outcome(dreamt: DreamOutcome, *, is_trial: bool) -> None:
    if dreamt.diff:
        print(shown_lines(dreamt.diff), end="")
    for reason, _, files in dreamt.revised:
        if is_trial:
            print(f"would be {deed(reason, files)}", file=sys.stderr)
        else:
            print(deed(reason, files))
    for group in dreamt.refused:
        print(f"memoryd: {not_done(group)}", file=sys.stderr)
    for name in dreamt.set_aside:
        print(f"memoryd: {shown(name)} was edited meanwhile; what was about it waits.", file=sys.stderr)
    print(_conclusion(dreamt, is_trial=is_trial), file=sys.stderr)


def _conclusion(dreamt: DreamOutcome, *, is_trial: bool) -> str:
    number = dreamt.change_id
    if dreamt.outcome not in _DONE:
        return f"The dream ended as {dreamt.outcome}: {shown(dreamt.detail.rstrip('.'))}."
    if is_trial:
        return "Nothing was changed: memoryd dream-now does it." if dreamt.diff else "Nothing would change."
    if number is None:
        return f"Nothing to change{': ' + shown(dreamt.detail) if dreamt.detail else ''}."
    if not dreamt.revised:
        return f"The index was made right: memoryd diff {number} shows it."
    return f"Change {number}: memoryd diff {number} shows it, memoryd undo {number} takes it back."


def shown_lines(text: str) -> str:
    """Several lines, each safe for a terminal."""
    return "".join(f"{shown(line)}\n" for line in text.split("\n")[:-1])


def as_json(dreamt: DreamOutcome) -> dict[str, Any]:
    """The contract of `dream-now --json`, described in docs/json.md."""
    return {
        "job": dreamt.job_id,
        "outcome": dreamt.outcome,
        "detail": dreamt.detail or None,
        "change": dreamt.change_id,
        "revised": [{"reason": reason, "line": line, "files": list(files)} for reason, line, files in dreamt.revised],
        "refused": [not_done_as_json(group) for group in dreamt.refused],
        "set_aside": list(dreamt.set_aside),
        "diff": dreamt.diff or None,
    }
