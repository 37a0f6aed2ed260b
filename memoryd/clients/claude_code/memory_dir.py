"""Memory directory of a project, as the settings of Claude Code name it. Nothing a repository ships decides."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

from memoryd.atomic_file import read_regular
from memoryd.clients.shipped import may_be_tracked

if TYPE_CHECKING:
    from memoryd.paths import Paths

_SETTINGS_BYTES = 1 << 20


def memory_dir_setting(root: str, paths: Paths) -> str | None:
    """`autoMemoryDirectory` of the user's own settings, or of local settings that the repository does not ship."""
    if directory := _auto_memory_directory(paths.claude_settings, paths, follow=True):
        return directory
    local = os.path.join(root, ".claude", "settings.local.json")
    directory = _auto_memory_directory(local, paths)
    return directory if directory and not _may_be_shipped(root) else None


def _auto_memory_directory(settings_file: str, paths: Paths, *, follow: bool = False) -> str | None:
    data = read_regular(settings_file, _SETTINGS_BYTES, follow=follow)
    if data is None:
        return None
    try:
        settings = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    value = settings.get("autoMemoryDirectory") if isinstance(settings, dict) else None
    return paths.expand(value) if isinstance(value, str) else None


def _may_be_shipped(root: str) -> bool:
    """Whether `.claude/settings.local.json` can have come with the repository: tracked by git, or not provably not.

    An index that is split, sparse, damaged, huge or missing, a `.claude` that is no plain folder or is tracked itself (a
    link, a submodule), and a directory that is no repository count as shipped: it is the user's writes that are at stake.
    """
    try:
        is_folder = stat.S_ISDIR(os.lstat(os.path.join(root, ".claude")).st_mode)
    except OSError:
        return True
    return not is_folder or may_be_tracked(root, (".claude", ".claude/settings.local.json"))
