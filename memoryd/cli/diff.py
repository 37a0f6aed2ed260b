"""Show what a change did, or the last change of a memory, line by line; of a dream also the index and what was not done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoryd.cli.dream_wording import not_done, not_done_as_json
from memoryd.cli.memory_names import memory_name_ever
from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, places_of, project_of
from memoryd.formatting import shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.state.changes import PlannedFile
    from memoryd.state.database import Database
    from memoryd.state.dream_verdicts import NotDone
    from memoryd.state.history import Change

NAME = "diff"
HELP = "what a change did, line by line"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", help="a change's number or a memory's file name (default: the last change)")
    add_project_option(parser, with_global=True)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.cli.undo import change_meant
    from memoryd.errors import MemorydError
    from memoryd.memory.history import diff
    from memoryd.state import history
    from memoryd.state.database import open_database

    what = context.arguments.what
    memory_dir = project_of(context).memory_dir
    database = open_database(context.paths)
    try:
        if what is not None and not what.isdecimal():
            name = memory_name_ever(context, database, memory_dir, what)
            changes = _applied(history.recent(database, memory_dir, name))
        elif what is not None:
            changes, name = [change_meant(database, what)], None
        else:
            newest = [change for place in places_of(context) for change in history.recent(database, place)]
            changes, name = _applied(sorted(newest, key=lambda change: -change.id)), None
        if not changes:
            raise MemorydError("No change is known of that.", "memoryd history")
        files = [file for file in _files(database, changes[0]) if name in (None, file.name)]
        groups = _not_done(database, changes[0], name)
    finally:
        database.close()
    if context.arguments.json:
        print_json(_as_json(changes[0], files, groups))
        return 0
    for file in files:
        print("\n".join(map(shown, diff(file).splitlines())))
    if groups:
        print("\nReview kept it from more:")
        for group in groups:
            print(f"  {not_done(group)}")
    return 0


def _as_json(change: Change, files: list[PlannedFile], groups: list[NotDone]) -> dict[str, Any]:
    from memoryd.clock import iso
    from memoryd.memory.history import diff

    return {
        "change": change.id,
        "at": iso(change.at),
        "kind": change.kind,
        "files": [
            {"file": file.name, "before": _text(file.before), "after": _text(file.after), "diff": diff(file)}
            for file in files
        ],
        "refused": [not_done_as_json(group) for group in groups],
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _files(database: Database, change: Change) -> list[PlannedFile]:
    """Files that a change wrote, with the index where a dream changed it; files edited meanwhile are left out."""
    from memoryd.state import history

    files = history.files_of(database, change.id)
    if change.kind != "dream":
        return files
    index = history.index_of(database, change.id)
    return [file for file in files if file.state == "applied"] + ([index] if index else [])


def _not_done(database: Database, change: Change, name: str | None) -> list[NotDone]:
    """What review kept a dream from doing."""
    from memoryd.state.dream_verdicts import not_done_by

    if change.kind != "dream" or change.job_id is None:
        return []
    return [group for group in not_done_by(database, change.job_id) if name is None or name in group.names.split()]


def _applied(changes: list[Change]) -> list[Change]:
    """Changes that were applied; an undo of a file that was edited since was not."""
    return [change for change in changes if change.state == "applied"]
