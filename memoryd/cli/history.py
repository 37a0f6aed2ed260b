"""Show what was changed in the memories of a project, newest first: by what, why, and what undid it.

What was proposed and not done is listed as well, with the reason: you said no, it waited too long, or review refused it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memoryd.cli.dream_wording import not_done_as_json, summary
from memoryd.cli.memory_names import memory_name_ever
from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.cli.project import add_project_option, places_of, project_of
from memoryd.errors import UsageError
from memoryd.formatting import count, short

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from memoryd.cli import Context
    from memoryd.cli.screen import Table
    from memoryd.state.database import Database
    from memoryd.state.history import Change
    from memoryd.state.inbox import ClosedRow

NAME = "history"
HELP = "what was changed, and why"
_MOST = 50
"""So many are shown where --limit does not say."""
_ALL = 1 << 62
_NAMED = 3
"""Files of a dream that are named in its line; `diff` shows all of them."""
T = TypeVar("T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="only changes of this memory; a part of its name is enough")
    parser.add_argument("--all", action="store_true", help="of all projects")
    parser.add_argument(
        "--limit", type=int, default=_MOST, metavar="N", help=f"show so many (default: {_MOST}); 0: all"
    )
    add_project_option(parser, with_global=True)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.screen import Screen
    from memoryd.jobs.team import team_dir_of
    from memoryd.state import history, inbox
    from memoryd.state.database import open_database

    if context.arguments.limit < 0:
        raise UsageError("--limit takes a number of changes to show, 0 for all.", "memoryd history --limit 0")
    most = context.arguments.limit or _ALL
    memory_dir = None if context.arguments.all else project_of(context).memory_dir
    places: list[str | None] = [memory_dir]
    if memory_dir is not None and not context.arguments.file:
        places = [*places_of(context), team_dir_of(memory_dir)]
    database = open_database(context.paths)
    try:
        name = _name_meant(context, database, memory_dir) if context.arguments.file else None
        changes = [change for place in places for change in history.recent(database, place, name, most)]
        changes.sort(key=lambda change: -change.id)
        not_done = [row for place in places for row in inbox.closed(database, place, name, most)]
        not_done.sort(key=lambda row: -row.closed_at)
        accepted = inbox.rows_accepted_by(database, [change.id for change in changes])
        if context.arguments.json:
            rows = [(change.at, {**_as_json(database, change), "inbox": accepted.get(change.id)}) for change in changes]
            print_json(_merged(rows, [(row.closed_at, _closed_as_json(row)) for row in not_done])[:most])
            return 0
        where = (
            {context.paths.global_dir: "  [global]", team_dir_of(memory_dir): "  [team]"}
            if memory_dir is not None
            else _roots(context, database)
        )
        lines = _merged(
            [(change.at, _with_place(describe(change), where, change.memory_dir)) for change in changes],
            [(row.closed_at, _with_place(describe_closed(row), where, row.memory_dir)) for row in not_done],
        )[:most]
        if not lines:
            _print_nothing(context, database)
    finally:
        database.close()
    if lines:
        Screen(context.environment).show([table_of(lines)])
    return 0


def _with_place(line: HistoryLine, where: dict[str, str], memory_dir: str) -> HistoryLine:
    return line._replace(what=line.what + where.get(memory_dir, ""))


def _name_meant(context: Context, database: Database, memory_dir: str | None) -> str:
    """The memory that is meant; also one that was proposed and never written."""
    from memoryd.errors import MemorydError
    from memoryd.memory.names import file_meant
    from memoryd.state import inbox

    plain = file_meant(context.arguments.file)
    if memory_dir is None:
        return plain
    try:
        return memory_name_ever(context, database, memory_dir, context.arguments.file)
    except MemorydError:
        if inbox.closed(database, memory_dir, plain, 1):
            return plain
        raise


def _roots(context: Context, database: Database) -> dict[str, str]:
    """What is said of each memory directory behind a line."""
    from memoryd.jobs.team import team_dir_of
    from memoryd.state.projects import all_projects

    home = context.paths.home
    projects = {project.memory_dir: short(project.root, home) for project in all_projects(database)}
    roots = {place: f"  [{root}]" for place, root in projects.items()}
    teams = {team_dir_of(place): f"  [team of {root}]" for place, root in projects.items()}
    return {**roots, **teams, context.paths.global_dir: "  [global]"}


def _print_nothing(context: Context, database: Database) -> None:
    from memoryd.cli.elsewhere import Elsewhere, print_elsewhere
    from memoryd.cli.project import project_root
    from memoryd.state import history

    counts = history.change_counts(database)
    print_message(f"Nothing was changed {'here' if counts else 'anywhere'} yet.")
    places = [Elsewhere(project_root(database, path), path, number) for path, number in counts.items()]
    print_elsewhere(context, "change", places)


def _merged(changes: list[tuple[float, T]], not_done: list[tuple[float, T]]) -> list[T]:
    """Both lists merged by time. Each keeps its own order, also where the clock was set back."""
    from heapq import merge

    return [what for _, what in merge(changes, not_done, key=lambda row: row[0], reverse=True)]


def _closed_as_json(row: ClosedRow) -> dict[str, Any]:
    """A change that was not made, in the form of those that were."""
    from memoryd.clock import iso

    return {
        "change": None,
        "at": iso(row.closed_at),
        "kind": "review",
        "state": row.outcome,
        "why": row.reason,
        "session": row.session_id or None,
        "memory_dir": row.memory_dir,
        "files": list(row.names),
        "undoes": None,
        "undone_by": None,
        "kept": False,
        "fates": [],
        "inbox": row.id,
    }


def _as_json(database: Database, change: Change) -> dict[str, Any]:
    from memoryd.clock import iso
    from memoryd.state.dream_verdicts import not_done_by

    is_dream = change.kind == "dream" and change.job_id is not None
    return {
        "change": change.id,
        "at": iso(change.at),
        "kind": change.kind,
        "state": change.state,
        "why": change.why,
        "session": change.session_id or None,
        "memory_dir": change.memory_dir,
        "files": list(change.names),
        "undoes": change.undoes,
        "undone_by": change.undone_by,
        "kept": change.is_kept,
        "fates": [not_done_as_json(group) for group in not_done_by(database, change.job_id or 0)] if is_dream else [],
    }


class HistoryLine(NamedTuple):
    """A line of the history: number, time and kind, and what was changed."""

    head: str
    what: str


def table_of(lines: Sequence[HistoryLine]) -> Table:
    """The lines in two columns; where the terminal is too narrow, what was changed stands below the rest."""
    from memoryd.cli.screen import Column, Table

    return Table([Column(most=60), Column()], [[line.head, line.what] for line in lines])


def describe_closed(row: ClosedRow) -> HistoryLine:
    """Line about a proposal that was not made."""
    what = f"{', '.join(row.names)} ({row.outcome}): {row.reason}"
    return HistoryLine(f"{'-':>5}  {moment(row.closed_at)}  {'review':<8}", what)


def moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def describe(change: Change) -> HistoryLine:
    """Line about a change."""
    when = moment(change.at)
    notes = {"applied": "", "conflicted": " (not made: a file was edited meanwhile, or could not be written)"}.get(
        change.state, f" ({change.state})"
    )
    if change.kind == "extract" and change.why != "what you said":
        notes += f" ({change.why})"
    if change.undone_by is not None:
        notes += f" (undone by {change.undone_by})"
    if not change.is_kept:
        notes += " (no longer kept)"
    what = ", ".join(change.names) or change.why
    if change.kind == "sync":
        what = f"{change.why}: {what}"
    if change.kind == "dream":
        names = ", ".join(change.names) if len(change.names) <= _NAMED else count(len(change.names), "file")
        what = ": ".join(filter(None, [summary(change.why), names]))
    return HistoryLine(f"{change.id:>5}  {when}  {change.kind:<8}", what + notes)
