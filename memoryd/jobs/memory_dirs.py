"""Memory directories of all projects: those that the database knows, that the config names, and that lie beside sessions.

Nothing is written, and no daemon has to have run.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoryd.clients.memory_reader import MEMORY_READER
from memoryd.errors import BusyError, StateError
from memoryd.formatting import is_utf8
from memoryd.projects import root_of
from memoryd.state.database import open_for_reading
from memoryd.state.projects import all_projects
from memoryd.transcripts.read import first_cwd

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths


class ProjectMemory(NamedTuple):
    """A memory directory that is there."""

    path: str
    root: str
    """Of its project; empty where nothing tells."""


def all_memory_dirs(paths: Paths, config: Config) -> list[ProjectMemory]:
    """Every memory directory once, by its path; the global one among them."""
    if paths.forced_memory_dir:
        return [ProjectMemory(paths.forced_memory_dir, "")] if os.path.isdir(paths.forced_memory_dir) else []
    roots: dict[str, str] = {}
    with suppress(StateError, BusyError):  # without the database, what lies on the disk
        database = open_for_reading(paths)
        if database is not None:
            with closing(database):
                for project in all_projects(database):
                    roots.setdefault(project.memory_dir, project.root)
    for root, memory_dir in config.projects.memory_dirs.items():
        roots.setdefault(memory_dir, root)
    own_root = config.memory_root or paths.memory_root
    for folder in _folders_in(own_root):
        roots.setdefault(os.path.join(own_root, folder), "")
    for folder in [] if config.memory_root else _folders_in(MEMORY_READER.sessions_root(paths)):
        roots.setdefault(MEMORY_READER.default_memory_dir(folder, paths), "")
    roots.setdefault(paths.global_dir, "")
    there = sorted(memory_dir for memory_dir in roots if os.path.isdir(memory_dir))
    return [
        ProjectMemory(
            path, roots[path] or ("" if path == paths.global_dir else _root_by_sessions(path, paths, own_root))
        )
        for path in there
    ]


def _folders_in(directory: str) -> list[str]:
    with suppress(OSError), os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and is_utf8(entry.name)]
    return []


def _root_by_sessions(memory_dir: str, paths: Paths, own_root: str) -> str:
    """The project whose sessions lie in the folder of the same name, if one of them says where it was at work."""
    client = MEMORY_READER
    above = os.path.dirname(memory_dir)
    folder = os.path.basename(memory_dir if above == own_root else above)
    only = {os.path.join(client.sessions_root(paths), folder)}
    found = [found for place in client.session_places(paths, ()) for found in client.inventory(place, only).found]
    for session in sorted(found, key=lambda session: -session.mtime_ns):
        if cwd := first_cwd(client, session.path):
            root = root_of(cwd)
            return root if client.project_folder(root, paths, folder.__eq__) == folder else ""
    return ""
