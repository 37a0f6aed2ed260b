"""Consolidate the memories of a project at once: what says the same becomes one, what has changed is brought up to date,
what has ended is archived, and the index is made right.

    memoryd dream-now                this project
    memoryd dream-now --dry-run      only show what would change
    memoryd history, memoryd undo    what a dream did, and how to take it back

It waits for no gate. While somebody else consolidates the same memories it ends with code 75. Ctrl-C changes nothing.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, project_of
from memoryd.words import count, shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from memoryd.cli import Context
    from memoryd.jobs.dream import Dreamt
    from memoryd.model import Progress

NAME = "dream-now"
HELP = "consolidate the memories of a project"
_DONE = ("succeeded", "succeeded_no_output", "skipped(dry_run)")
_WIDEST = 100
_REASONS = {
    "learnt": "learnt",
    "updated": "brought up to date",
    "merged": "merged",
    "dated": "dated",
    "expired": "archived",
    "moved": "moved out of the index",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.extract_now import engine, look
    from memoryd.jobs.dream import Dreamer
    from memoryd.state.database import open_database

    project = project_of(context)
    database = open_database(context.paths)
    try:
        look(context, database)
        with engine(context, database) as model, stoppable(context, project.memory_dir), _shown() as tell:
            dreamer = Dreamer(database, context.paths, context.config, context.clock, tell, model)
            dreamt = dreamer.dream(project.memory_dir, project.root, is_trial=context.arguments.dry_run)
    finally:
        database.close()
    if context.arguments.json:
        print_json(as_json(dreamt))
    else:
        _tell(dreamt, is_trial=context.arguments.dry_run)
    return 0 if dreamt.outcome in _DONE else 1


@contextmanager
def stoppable(context: Context, memory_dir: str) -> Iterator[None]:
    """Let `dream-stop` and signals end what runs inside."""
    from memoryd.jobs.interruption import interruptible
    from memoryd.state import dreams
    from memoryd.state.database import open_database

    watching = open_database(context.paths)  # a connection of its own: it is asked in the middle of other work
    try:
        with interruptible(lambda: dreams.is_to_stop(watching, memory_dir)):
            yield
    finally:
        watching.close()


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None]]:
    """One line that changes, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    width = min(os.get_terminal_size(sys.stderr.fileno()).columns, _WIDEST) - 1

    def tell(progress: Progress) -> None:
        facts = [progress.line]
        if progress.tools:
            facts.append(count(progress.tools, "tool call"))
        if progress.files:
            facts.append(count(len(set(progress.files)), "file"))
        if progress.usd:
            facts.append(f"{progress.usd:.4f} USD")
        line = f"{progress.phase:<12} {' · '.join(facts)}"
        print(f"\r\x1b[K{shown(line)[: max(width, 20)]}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _tell(dreamt: Dreamt, *, is_trial: bool) -> None:
    if dreamt.diff:
        print(shown_lines(dreamt.diff), end="")
    for reason, line, files in dreamt.revised:
        kept, *others = files or ("",)
        what = (
            f"{shown(kept)} ← {shown(', '.join(others))}" if others and reason == "merged" else shown(", ".join(files))
        )
        print(f"{_REASONS.get(reason, reason)}: {what}  ({shown(line)})", file=sys.stderr if is_trial else sys.stdout)
    for one in dreamt.refused:
        print(f"memoryd: not done, {one.fate} in {shown(one.name)}: {shown(one.statement)}", file=sys.stderr)
    for name in dreamt.set_aside:
        print(f"memoryd: {shown(name)} was edited meanwhile; what was about it waits.", file=sys.stderr)
    print(_conclusion(dreamt, is_trial=is_trial), file=sys.stderr)


def _conclusion(dreamt: Dreamt, *, is_trial: bool) -> str:
    if dreamt.outcome not in _DONE:
        return f"The dream ended as {dreamt.outcome}: {shown(dreamt.detail)}"
    if is_trial:
        return "Nothing was changed." if dreamt.diff else "Nothing would change."
    if dreamt.change_id is None:
        return f"Nothing to change{': ' + dreamt.detail if dreamt.detail else ''}."
    return f"Change {dreamt.change_id}: memoryd diff {dreamt.change_id} shows it, memoryd undo {dreamt.change_id} takes it back."


def shown_lines(text: str) -> str:
    """Several lines, each safe for a terminal."""
    return "".join(f"{shown(line)}\n" for line in text.split("\n")[:-1])


def as_json(dreamt: Dreamt) -> dict[str, Any]:
    """The contract of `dream-now --json`, described in docs/json.md."""
    return {
        "job": dreamt.job_id,
        "outcome": dreamt.outcome,
        "detail": dreamt.detail or None,
        "change": dreamt.change_id,
        "revised": [{"reason": reason, "line": line, "files": list(files)} for reason, line, files in dreamt.revised],
        "refused": [
            {"about": one.name, "statement": one.statement, "fate": one.fate, "by": one.by or None}
            for one in dreamt.refused
        ],
        "set_aside": list(dreamt.set_aside),
        "diff": dreamt.diff or None,
    }
