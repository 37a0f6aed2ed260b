"""Print what a client without a memory of its own should be given at the start of a session.

    memoryd context                        what memories are, how to use them, and the project's index
    memoryd context --file src/app.py      the instruction files that apply to a path, as the client finds them

Put the first into the instructions of such a client; Claude Code loads the index by itself.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, own_project_of

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "context"
HELP = "what a client without a memory would load"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", metavar="PATH", dest="about", help="the instruction files that apply to this path")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    return _instructions(context) if context.arguments.about else _memory(context)


def _memory(context: Context) -> int:
    from memoryd.recall.context import context_of, index_of

    memory_dir, global_dir = own_project_of(context).memory_dir, context.paths.global_dir
    if context.arguments.json:
        index = index_of(memory_dir, global_dir=global_dir)
        text = context_of(memory_dir, global_dir)
        print_json({"memory_dir": memory_dir, "text": text, "index": index.text, "cut": index.is_cut})
    else:
        print(context_of(memory_dir, global_dir))
    return 0


def _instructions(context: Context) -> int:
    from memoryd.clients.registry import instruction_files_at
    from memoryd.clients.rule_paths import applies_to

    place = os.path.abspath(os.path.expanduser(context.arguments.about))
    found = instruction_files_at(place if os.path.isdir(place) else os.path.dirname(place), context.paths)
    files = [(path, text) for path, text in found if os.path.isdir(place) or applies_to(path, text, place)]
    if context.arguments.json:
        print_json({"files": [{"path": path, "text": text} for path, text in files]})
        return 0
    for path, text in files:
        print(f"<!-- {path} -->\n{text.rstrip()}\n")
    if not files:
        print(f"No instruction file applies to {place}.", file=sys.stderr)
    return 0
