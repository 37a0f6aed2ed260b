"""Choice of the project and the memories that a command means."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoryd.errors import MemorydError, UsageError
from memoryd.formatting import is_utf8

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from memoryd.cli import Context
    from memoryd.memory.directory import MemoryDirectory
    from memoryd.projects import Project
    from memoryd.state.database import Database


def add_project_option(parser: argparse.ArgumentParser, *, with_global: bool = False) -> None:
    parser.add_argument("--project", metavar="DIR", default=".", help="a directory of the project (default: here)")
    if with_global:
        parser.add_argument(
            "--global", action="store_true", dest="is_global", help="the memories about you, for all projects"
        )


def project_of(context: Context) -> Project:
    """The project of the directory that was named. Raises UsageError where there is none."""
    from memoryd.projects import Project, project_at, root_of

    if getattr(context.arguments, "is_global", False):
        return _global_project(context)
    given = os.path.expanduser(getattr(context.arguments, "file", None) or "")
    if context.arguments.project == "." and os.path.isabs(given):  # as the terminal shows it
        memory_dir = os.path.dirname(given)
        if not _is_known(context, memory_dir):
            raise UsageError(f"{memory_dir} is no memory directory that memoryd knows.", "memoryd projects")
        return Project("", "", memory_dir)
    place = os.path.abspath(context.arguments.project)
    if not os.path.isdir(place):
        raise UsageError(f"There is no directory {place}.", "memoryd projects")
    project = project_at(root_of(place), context.paths, context.config)
    return _global_project(context) if given and _is_global_meant(context, project, given) else project


def _global_project(context: Context) -> Project:
    """The global directory, as a project that has no root."""
    from memoryd.projects import Project

    if not context.paths.global_dir:
        raise UsageError("The environment names one memory directory for everything.", "unset MEMORYD_MEMORY_DIR")
    return Project("", "", context.paths.global_dir)


def _is_global_meant(context: Context, project: Project, given: str) -> bool:
    """Whether what was typed is a global memory: it says so, or fits none of the project, which goes first."""
    from contextlib import closing

    from memoryd.memory.names import fitting_ever
    from memoryd.memory.tier_names import is_global
    from memoryd.state.database import open_for_reading

    if not context.paths.global_dir or is_global(given):
        return bool(context.paths.global_dir)
    database = open_for_reading(context.paths) if is_utf8(given) else None
    if database is None:
        return False
    with closing(database):
        here, there = (fitting_ever(database, place, given) for place in (project.memory_dir, context.paths.global_dir))
    return bool(there) and not here


def places_of(context: Context) -> list[str]:
    """The memory directories that a command is about which shows what there is: the project's, and the global one."""
    project = project_of(context)
    others = [context.paths.global_dir] if context.paths.global_dir and project.root else []
    return [project.memory_dir, *(place for place in others if place != project.memory_dir)]


def own_project_of(context: Context) -> Project:
    """Project as in `project_of`. Raises where an older project has the same memory directory, which must not mix."""
    from memoryd.state.database import state_to_read
    from memoryd.state.projects import other_owner_of

    project = project_of(context)
    with state_to_read(context.paths) as database:
        owner = other_owner_of(database, project)
    if owner:
        raise UsageError(
            f"The memories of {project.root} would be those of {owner}, which has the same name to Claude Code;"
            " `projects.memory_dirs` in the config gives it a directory of its own.",
            "memoryd projects",
        )
    return project


def _is_known(context: Context, memory_dir: str) -> bool:
    from memoryd.jobs.memory_dirs import all_memory_dirs
    from memoryd.state import history
    from memoryd.state.database import open_for_reading

    if any(place.path == memory_dir for place in all_memory_dirs(context.paths, context.config)):
        return True
    database = open_for_reading(context.paths) if is_utf8(memory_dir) else None
    if database is None:
        return False
    try:
        return bool(history.recent(database, memory_dir, limit=1))
    finally:
        database.close()


@contextmanager
def memory_of(project: Project) -> Iterator[MemoryDirectory]:
    """Memory directory of a project. Raises MemorydError where there is none; it is not created."""
    from memoryd.memory.directory import open_directory

    try:
        with open_directory(project.memory_dir) as directory:
            yield directory
    except FileNotFoundError as error:
        raise MemorydError(f"There are no memories in {project.memory_dir} yet.", "memoryd memories") from error


def project_root(database: Database, memory_dir: str) -> str:
    """The root of the project that a memory directory belongs to; empty where it is not known."""
    from memoryd.state.projects import all_projects

    return next((project.root for project in all_projects(database) if project.memory_dir == memory_dir), "")
