"""Print every file and directory that memoryd uses, or the one that is named. `memory` is that of the project here.

    cd "$(memoryd paths memory)"

`--project` names another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, project_of

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.paths import Paths

NAME = "paths"
HELP = "where everything is kept"

NAMES = ("config", "state", "database", "log", "lock", "claude", "transcripts", "memory")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", choices=NAMES, metavar="name", help="print only this path")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    known = _all(context.paths)
    if context.arguments.name in (None, "memory"):
        known["memory"] = project_of(context).memory_dir
    if context.arguments.name:
        known = {context.arguments.name: known[context.arguments.name]}
    if context.arguments.json:
        print_json(known)
    elif context.arguments.name:
        print(known[context.arguments.name])
    else:
        for name, path in known.items():
            print(f"{name:<12} {path}")
    return 0


def _all(paths: Paths) -> dict[str, str]:
    return {
        "config": paths.config_file,
        "state": paths.state_dir,
        "database": paths.database,
        "log": paths.log_file,
        "lock": paths.daemon_lock,
        "claude": paths.claude_dir,
        "transcripts": paths.transcripts_root,
    }
