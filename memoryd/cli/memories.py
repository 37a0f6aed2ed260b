"""List the memories of a project: type, age and what each one says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.cli.project import add_project_option, project_of
from memoryd.formatting import ago, short, shown

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "memories"
HELP = "the memories of a project"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    from memoryd.clock import iso
    from memoryd.memory.directory import HEAD_BYTES, open_directory
    from memoryd.memory.document import parse

    project = project_of(context)
    found = []
    try:
        with open_directory(project.memory_dir) as directory:
            listing = directory.listing()
            for name, mtime_ns in sorted(listing.topics.items(), key=lambda pair: -pair[1]):
                try:
                    state = directory.read(name, HEAD_BYTES)
                    problem = listing.odd.get(name)
                except PermissionError:
                    state, problem = None, "it cannot be read"
                document = parse(state.data if state else b"")
                problem = problem or document.problem
                found.append((name, document, mtime_ns / 1e9, problem))
            odd = [
                (name, parse(b""), 0.0, why) for name, why in sorted(listing.odd.items()) if name not in listing.topics
            ]
            found += odd
    except FileNotFoundError:
        pass
    if context.arguments.json:
        print_json(
            [
                {
                    "file": name,
                    "name": document.name,
                    "type": document.type,
                    "description": document.description,
                    "modified_at": iso(at) if at else None,
                    "problem": problem,
                }
                for name, document, at, problem in found
            ]
        )
        return 0
    for name, document, at, problem in found:
        age = f"{ago(context.clock.now() - at)} old" if at else "left alone"
        print(f"{shown(name)}  ({document.type or 'no type'}, {age})")
        print(f"    {shown(document.description or problem or '')}")
    place = short(project.memory_dir, context.paths.home)
    print(f"{len(found)} in {place}" if found else f"There are none in {place} yet.", file=sys.stderr)
    return 0
