"""Names of global and shared memories where they stand beside those of a project: `global/user_role.md`. Without imports, for all."""

from __future__ import annotations

GLOBAL_FOLDER = "global"
TEAM_FOLDER = "team"
_PREFIX = f"{GLOBAL_FOLDER}/"


def is_global(name: str) -> bool:
    return name.startswith(_PREFIX)


def as_global(name: str) -> str:
    """The name of a file of the global directory, beside those of a project."""
    return _PREFIX + name


def place_of(name: str, memory_dir: str, global_dir: str) -> tuple[str, str]:
    """The directory of a memory that a project's sessions see, and its name there."""
    return (global_dir, without_tier(name)) if global_dir and is_global(name) else (memory_dir, name)


def without_tier(name: str) -> str:
    """The name that a memory has in its own directory."""
    return name.removeprefix(_PREFIX)
