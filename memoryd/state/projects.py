"""Projects in the database: their roots, and where their memories are."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoryd.errors import BusyError, StateError
from memoryd.paths import is_below
from memoryd.projects import Project, is_excluded, project_at, root_of

if TYPE_CHECKING:
    from memoryd.config import Config
    from memoryd.paths import Paths
    from memoryd.state.database import Database

ROOT_OF_JOB = (
    "(SELECT projects.root FROM transcripts JOIN projects ON projects.id = project_id"
    " WHERE transcripts.session_id = jobs.session_id LIMIT 1)"
)
"""In a query of jobs: the root of the project whose session a job is about, or NULL."""


def all_projects(database: Database) -> list[Project]:
    rows = database.query("SELECT root, slug, memory_dir, is_shared FROM projects ORDER BY id")
    return [Project(row["root"], row["slug"], row["memory_dir"], bool(row["is_shared"])) for row in rows]


def roots_of(database: Database, memory_dir: str) -> list[str]:
    """The roots of the projects that use a memory directory."""
    return [row["root"] for row in database.query("SELECT root FROM projects WHERE memory_dir = ?", (memory_dir,))]


def owner_of(database: Database, memory_dir: str) -> str:
    """The root of the project that had a memory directory first; empty where none has it to itself."""
    rows = database.query(
        "SELECT root FROM projects WHERE memory_dir = ? AND NOT is_shared ORDER BY id LIMIT 1", (memory_dir,)
    )
    return rows[0]["root"] if rows else ""


def other_owner_of(database: Database | None, project: Project) -> str:
    """The root of an older project whose memory directory this one would use: their names clash. Empty: none is known."""
    if database is None or project.is_shared:
        return ""
    with suppress(StateError, BusyError):  # without a readable database there is no known collision
        owner = owner_of(database, project.memory_dir)
        return owner if owner != project.root else ""
    return ""


def memory_dir_at(cwd: str, paths: Paths, config: Config, database: Database | None) -> str:
    """The memory directory for whoever works in a directory; empty where memoryd leaves it alone.

    It leaves alone what the config excludes, its own sessions, and a project whose name clashes with an older one's.
    """
    if not os.path.isdir(cwd) or is_below(os.path.realpath(cwd), paths.state_dir):
        return ""
    root = root_of(cwd)
    patterns = config.projects.exclude
    if is_excluded(root, patterns) or is_excluded(cwd, patterns):
        return ""
    project = project_at(root, paths, config)
    return "" if other_owner_of(database, project) else project.memory_dir


def update_projects(database: Database, projects: list[Project], now: float) -> None:
    if projects:
        with database.transaction():
            for project in projects:
                project_id_of(database, project, now)


def root_of_project(database: Database, project_id: int | None) -> str:
    rows = database.query("SELECT root FROM projects WHERE id = ?", (project_id,))
    return rows[0]["root"] if rows else ""


def known_root(database: Database, cwd: str) -> str | None:
    """The project root that a working directory had while it existed."""
    rows = database.query(
        "SELECT projects.root FROM transcripts JOIN projects ON projects.id = project_id WHERE cwd = ? LIMIT 1", (cwd,)
    )
    return rows[0]["root"] if rows else None


def has_sessions(database: Database, folder: str, cwd: str) -> bool:
    """Whether a folder holds sessions of this working directory."""
    begin = folder + "/"
    rows = database.query("SELECT path FROM transcripts WHERE cwd = ?", (cwd,))
    return any(row["path"].startswith(begin) for row in rows)


def project_id_of(database: Database, project: Project, now: float) -> int:
    database.execute(
        "INSERT INTO projects (root, slug, memory_dir, is_shared, first_seen_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (root) DO UPDATE SET slug = excluded.slug, memory_dir = excluded.memory_dir,"
        " is_shared = excluded.is_shared",
        (project.root, project.slug, project.memory_dir, project.is_shared, now),
    )
    number: int = database.query("SELECT id FROM projects WHERE root = ?", (project.root,))[0][0]
    return number
