"""Exchange memories with your other machines and your team now. A running daemon does it by itself, 2 s after a change.

    memoryd sync             exchange at once, and say what came and what went
    memoryd sync status      when that was last done, with what, and what does not travel and why

It is switched on in the config file: `remote` in `[sync]` names a private git repository, a shared directory or a bucket for your
own machines; `memoryd share` asks where those of a team live. Memories of all git projects travel; what was said, evidence, logs
and settings stay at home. A file that was changed on two machines stays as it is here, and the other version is in
`memoryd history`.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.formatting import count, short, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.jobs.sync import Shared, SyncOutcome
    from memoryd.state.database import Database
    from memoryd.state.sync import KeptApart, Round

NAME = "sync"
HELP = "exchange memories with your machines and your team, now"

_OFF = (
    "Nothing is exchanged: no store is named in the config. To have your memories on all your machines, put this into"
    ' {config}:\n\n    [sync]\n    remote = "git@example.org:me/memories.git"   # a private repository of your own\n\n'
    "To share one with your team: memoryd share FILE"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("status",), help="show how the last exchange went")
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.state.database import open_database

    if not context.config.is_anything_shared:
        if context.arguments.json:
            print_json([])
        print_message(_OFF.format(config=context.paths.config_file))
        return 0
    with closing(open_database(context.paths)) as database:
        return (_status if context.arguments.action else _sync)(context, database)


def _sync(context: Context, database: Database) -> int:
    from memoryd.jobs.sync import projects_without_team, sync_all
    from memoryd.projects import root_of
    from memoryd.state import sync

    _note_project_here(context, database)
    is_failed = False
    told: list[dict[str, Any]] = []
    for done in sync_all(database, context.paths, context.config, context.environment, context.clock.now()):
        if done.error is not None:
            is_failed = True
            fix = f"\n  fix: {shown(done.error.fix)}" if done.error.fix else ""
            print_message(f"memoryd: {shown(done.error.sentence)}{fix}")
        told.append(_as_json(database, sync.last_round(database, done.store), done.shared))
        if done.result is not None and not context.arguments.json:
            _print_result(database, done)
    if context.arguments.json:
        print_json(told)
    if (root := root_of(os.getcwd())) in (without := projects_without_team(database, context.config)):
        print_message(f"{short(root, context.paths.home)} is exchanged with no team: {without[root]}.")
    return int(is_failed)


def _note_project_here(context: Context, database: Database) -> None:
    """Note the project of this directory, so that a new clone gets its memories before its first session."""
    from memoryd.projects import is_excluded, project_at, root_of
    from memoryd.state.projects import owner_of, update_projects

    root = root_of(os.getcwd())
    if os.path.lexists(os.path.join(root, ".git")) and not is_excluded(root, context.config.projects.exclude):
        project = project_at(root, context.paths, context.config)
        if owner_of(database, project.memory_dir) in ("", root):
            update_projects(database, [project], context.clock.now())


def _print_result(database: Database, done: SyncOutcome) -> None:
    from memoryd.state import sync

    result = done.result
    if result is None:
        return
    words = {
        "came": result.taken,
        "went": result.given,
        "deleted here": result.dropped,
        "deleted there": result.deleted,
    }
    moved = [f"{count(number, 'memory')} {what}" for what, number in words.items() if number]
    print(f"{done.store}: {', '.join(moved) or 'nothing has changed'}")
    if result.conflicts:
        print_message(
            f"{count(result.conflicts, 'memory')} had been changed on both sides: yours stayed, and the other version is in"
            " the history (memoryd history)."
        )
    if not result.is_whole:
        print_message("Others wrote at the same time; the rest follows at the next exchange.")
    _print_apart(sync.kept_apart(database, done.store))


def _print_apart(apart: list[KeptApart]) -> None:
    for file in apart:
        verb = "was not taken" if file.direction == "in" else "stays at home"
        print_message(f"{shown(file.key)} {verb}: {shown(file.reason)}.")


def _status(context: Context, database: Database) -> int:
    from memoryd.cli.status_screen import exchanged
    from memoryd.errors import MemorydError
    from memoryd.jobs.sync import all_shared, projects_without_team
    from memoryd.state import sync

    told: list[dict[str, Any]] = []
    now, home = context.clock.now(), context.paths.home
    for shared in all_shared(database, context.config):
        try:
            address = shared.open(context.paths, context.environment).address
        except MemorydError as error:
            print_message(f"memoryd: {error.sentence}\n  fix: {error.fix}")
            continue
        last = sync.last_round(database, address)
        told.append(_as_json(database, last, shared))
        if context.arguments.json:
            continue
        projects = [replica for replica in shared.replicas if replica.memory_dir != context.paths.global_dir]
        others = ", and what is about you" if len(projects) < len(shared.replicas) else ""
        print(f"{address}: {count(len(projects), 'project')}{others}")
        if last.error:
            print(f"  failing: {shown(last.error)}\n  fix: {shown(last.fix)}")
        print(f"  {shown(exchanged(last, 0, now).removeprefix(address + ', '))}")
        for root, why in shared.staying.items():
            print(f"  {short(root, home)} stays at home: {why}")
        for file in sync.kept_apart(database, address):
            verb = "was not taken" if file.direction == "in" else "stays at home"
            print(f"  {shown(os.path.basename(file.key) or file.key)} {verb}: {shown(file.reason)}")
    if context.arguments.json:
        print_json(told)
        return 0
    for root, why in projects_without_team(database, context.config).items():
        print(f"{short(root, home)} is exchanged with no team: {why}")
    return 0


def _as_json(database: Database, last: Round, shared: Shared) -> dict[str, Any]:
    from memoryd.clock import iso
    from memoryd.state import sync

    return {
        "store": last.store,
        "tried_at": iso(last.at) if last.at else None,
        "succeeded_at": iso(last.succeeded_at) if last.succeeded_at else None,
        "exchanged_at": iso(last.exchanged_at) if last.exchanged_at else None,
        "author": last.author or None,
        "last_exchange": dict(last.facts),
        "error": last.error or None,
        "fix": last.fix or None,
        "directories": [replica.memory_dir for replica in shared.replicas],
        "staying": [{"project": root, "reason": why} for root, why in shared.staying.items()],
        "apart": [
            {"key": file.key, "direction": file.direction, "reason": file.reason, "since": iso(file.at)}
            for file in sync.kept_apart(database, last.store)
        ],
    }
