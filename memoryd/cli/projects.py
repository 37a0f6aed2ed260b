"""List the projects that were seen: sessions, waiting turns, history, and where each one's memory is kept.

A project is a git repository with all its worktrees and subdirectories, or a working directory outside git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json
from memoryd.formatting import count, short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context

NAME = "projects"
HELP = "the projects seen, and where their memories are"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)


def execute(context: Context) -> int:
    import sys

    from memoryd.clock import iso
    from memoryd.projects import is_excluded
    from memoryd.state import queries
    from memoryd.state.database import open_for_reading

    database = open_for_reading(context.paths)
    known = queries.projects(database) if database else []
    exclude = context.config.projects.exclude
    if context.arguments.json:
        print_json(
            [
                {
                    "root": project.root,
                    "memory_dir": project.memory_dir,
                    "sessions": project.sessions,
                    "turns": {"waiting": project.waiting_turns, "history": project.history_turns},
                    "active_at": iso(project.active_at) if project.active_at else None,
                    "excluded": is_excluded(project.root, exclude),
                    "collides_with": project.collides_with,
                }
                for project in known
            ]
        )
    elif not known:
        print("No project has been seen yet. Start memoryd: memoryd run", file=sys.stderr)
    else:
        for project in known:
            home = context.paths.home
            print(short(project.root, home))
            facts = [
                count(project.sessions, "session"),
                f"{count(project.waiting_turns, 'turn')} waiting",
                f"{project.history_turns:,} history",
                *(["excluded"] if is_excluded(project.root, exclude) else []),
                *([f"collides with {short(project.collides_with, home)}"] if project.collides_with else []),
            ]
            print(f"    {', '.join(facts)}")
            print(f"    memory: {short(project.memory_dir, home)}")
    return 0
