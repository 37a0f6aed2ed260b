"""List the projects that were seen: sessions, waiting turns, history, and where each one's memory is kept.

A project is a git repository with all its worktrees and subdirectories, or a working directory outside git. Memories are kept
by its path: a repository that was moved, or cloned again, is known by its remote and its first commit, and offered the
memories that it has under another path.

    memoryd projects adopt                  take over the memories of the same repository elsewhere
    memoryd projects adopt --from ~/old     those of this project, whatever it is

The originals stay where they are, and `memoryd undo` takes it back.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from memoryd.cli.output import add_json_option, print_json, print_message
from memoryd.cli.project import add_project_option, own_project_of
from memoryd.errors import MemorydError, UsageError
from memoryd.formatting import count, short

if TYPE_CHECKING:
    import argparse

    from memoryd.cli import Context
    from memoryd.cli.screen import Block
    from memoryd.projects import Project
    from memoryd.state.database import Database
    from memoryd.state.queries import ProjectReport

NAME = "projects"
HELP = "the projects seen, and where their memories are"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("adopt",), help="take over the memories of another path")
    parser.add_argument("--from", dest="source", metavar="DIR", help="with adopt: the project whose memories are meant")
    add_project_option(parser)
    add_json_option(parser)


def execute(context: Context) -> int:
    if context.arguments.source and not context.arguments.action:
        raise UsageError("--from belongs to `memoryd projects adopt`.", "memoryd projects --help")
    return _adopt(context) if context.arguments.action else _list(context)


def _list(context: Context) -> int:
    from memoryd.cli.screen import Screen
    from memoryd.clock import iso
    from memoryd.projects import is_excluded
    from memoryd.state import queries
    from memoryd.state.database import open_for_reading

    database = open_for_reading(context.paths)
    known = queries.projects(database) if database else []
    exclude = context.config.projects.exclude
    same = {project.root: _same(database, project.root, project.memory_dir) for project in known} if database else {}
    if context.arguments.json:
        print_json(
            [
                {
                    "root": project.root,
                    "memory_dir": project.memory_dir,
                    "sessions": project.sessions,
                    "clients": list(project.clients),
                    "turns": {"waiting": project.waiting_turns, "history": project.history_turns},
                    "active_at": iso(project.active_at) if project.active_at else None,
                    "excluded": is_excluded(project.root, exclude),
                    "collides_with": project.collides_with,
                    "same_as": same[project.root] or None,
                }
                for project in known
            ]
        )
    elif not known:
        print_message("No project has been seen yet. Start memoryd: memoryd run")
    else:
        blocks = [block for project in known for block in _blocks(context, project, same[project.root])]
        Screen(context.environment).show(blocks)
    return 0


def _same(database: Database, root: str, memory_dir: str) -> str:
    """Other path under which the same repository has memories, where this one has none; else empty."""
    from memoryd.jobs.repository_identity import number_of_memories, other_checkouts

    if number_of_memories(memory_dir) or not os.path.isdir(root):
        return ""
    return next((other.root for other in other_checkouts(database, root, only_recorded=True)), "")


def _blocks(context: Context, project: ProjectReport, same: str) -> list[Block]:
    from memoryd.cli.screen import Command, Paragraph, strong
    from memoryd.clients.registry import client_named
    from memoryd.projects import is_excluded

    home = context.paths.home
    clients = ", ".join(client_named(name).title for name in project.clients if name)
    facts = [
        count(project.sessions, "session") + (f" of {clients}" if clients else ""),
        *([f"{count(project.waiting_turns, 'turn')} waiting to be read"] if project.waiting_turns else []),
        *([f"{project.history_turns:,} from before memoryd came"] if project.history_turns else []),
        *(["excluded"] if is_excluded(project.root, context.config.projects.exclude) else []),
        *([f"collides with {short(project.collides_with, home)}"] if project.collides_with else []),
    ]
    blocks: list[Block] = [
        Paragraph(strong(short(project.root, home))),
        Paragraph(", ".join(facts), indent=4),
        Paragraph(f"memory: {short(project.memory_dir, home)}", indent=4),
    ]
    if same:
        blocks.append(Paragraph(f"no memories yet; {short(same, home)} is the same repository, and has some", indent=4))
        command = f"memoryd projects adopt --project {shlex.quote(project.root)}"
        blocks.append(Command(command, before="    take them over: "))
    return blocks


def _adopt(context: Context) -> int:
    from memoryd.jobs.repository_identity import adopt
    from memoryd.state.database import open_database

    project = own_project_of(context)
    home = context.paths.home
    database = open_database(context.paths)
    try:
        root, memory_dir = _source(context, database, project)
        try:
            done = adopt(database, memory_dir, project.memory_dir, root, context.clock.now())
        except FileNotFoundError as error:
            raise MemorydError(f"There are no memories in {short(memory_dir, home)}.", "memoryd projects") from error
    finally:
        database.close()
    for name, why in done.left.items():
        print_message(f"{name} stays where it is: {why}.")
    if not done.names:
        print_message(f"There is nothing in {short(memory_dir, home)} that {short(project.root, home)} lacks.")
        return 0
    for name in done.names:
        print(f"adopted {short(project.memory_dir, home)}/{name}")
    print_message(f"{count(len(done.names), 'memory')} of {short(root, home)}; memoryd undo takes it back.")
    return 0


def _source(context: Context, database: Database, project: Project) -> tuple[str, str]:
    """Root and memory directory of what is to be taken over. Raises MemorydError where that is not one."""
    from memoryd.jobs.repository_identity import other_checkouts
    from memoryd.projects import project_at, root_of

    home = context.paths.home
    if given := context.arguments.source:
        place = os.path.abspath(os.path.expanduser(given))
        other = project_at(root_of(place), context.paths, context.config)
        if other.memory_dir == project.memory_dir:
            raise UsageError(f"{short(place, home)} is this project itself.", "memoryd projects")
        return other.root, other.memory_dir
    found = other_checkouts(database, project.root)
    if not found:
        raise MemorydError(
            f"No other path is known under which {short(project.root, home)} has memories; name one if there is.",
            "memoryd projects adopt --from DIR",
        )
    if len(found) > 1:
        listed = ", ".join(f"{short(other.root, home)} ({count(other.memories, 'memory')})" for other in found)
        raise MemorydError(
            f"The same repository has memories under several paths: {listed}.",
            f"memoryd projects adopt --from {shlex.quote(found[0].root)}",
        )
    return found[0].root, found[0].memory_dir
