"""What an examination says: a check with its verdict, and the world that examinations look at."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoryd.errors import BusyError, StateError
from memoryd.state.database import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoryd.config import Config
    from memoryd.errors import ConfigError
    from memoryd.paths import Paths
    from memoryd.state.database import Database

Name = Literal[
    "daemon",
    "daemon_version",
    "trouble",
    "pause",
    "service",
    "lingering",
    "last_failure",
    "program",
    "sqlite",
    "libraries",
    "file_system",
    "config",
    "switches",
    "owner",
    "config_file",
    "state_files",
    "memory_dirs",
    "database",
    "recovery",
    "jobs",
    "notices",
    "space",
    "history",
    "transcripts_root",
    "watches",
    "watch_instances",
    "clock",
    "engine",
    "key",
    "endpoint",
    "price",
    "budget",
    "client",
    "transcripts",
    "unknown_lines",
    "deletion",
    "client_settings",
    "hooks",
    "rot",
    "auto_memory",
    "auto_dream",
    "other_tools",
    "consolidating",
    "examination",
]
"""The last one is of an examination that failed itself."""

Verdict = Literal["ok", "note", "problem"]


class Check(NamedTuple):
    name: Name
    verdict: Verdict
    text: str
    fix: str = ""
    """The command that mends it; a problem has one."""


class World(NamedTuple):
    """Where examinations look. They change nothing in it."""

    paths: Paths
    config: Config
    """The defaults where the file cannot be used."""
    now: float
    environment: Mapping[str, str]
    config_error: ConfigError | None = None
    is_offline: bool = False
    """Nothing is asked over the network, and no command for the key is run."""


@contextmanager
def readable_database(paths: Paths) -> Iterator[Database | None]:
    """The database, if there is one that can be read; what is wrong with it, one examination tells for all."""
    try:
        database = open_for_reading(paths)
    except (StateError, BusyError):
        database = None
    try:
        yield database
    finally:
        if database is not None:
            database.close()
