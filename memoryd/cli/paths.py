"""Print every file and directory that memoryd uses, or the one that is named:

cd "$(memoryd paths transcripts)"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json, print_table

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.paths import Paths

NAME = "paths"
HELP = "where everything is kept"

_WHAT = {
    "config": "the config file; it need not exist",
    "state": "memoryd's own directory; deleting it loses history and cursors, never a memory",
    "database": "what was read and how far (SQLite)",
    "log": "the log, one JSON object a line",
    "lock": "held by the running daemon",
    "claude": "Claude Code's directory",
    "transcripts": "what is watched",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", choices=_WHAT, help="print only this path")
    add_json_option(parser)


def execute(context: Context) -> int:
    known = _all(context.paths)
    if context.arguments.name:
        known = {context.arguments.name: known[context.arguments.name]}
    if context.arguments.json:
        print_json(known)
    elif context.arguments.name:
        print(known[context.arguments.name])
    else:
        print_table(("NAME", "PATH", "WHAT"), [(name, path, _WHAT[name]) for name, path in known.items()])
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
