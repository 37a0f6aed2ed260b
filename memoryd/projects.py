"""Projects: the project of a working directory, and the memory directory of a project.

Git is read from its files, never run: a repository can make `git` execute programs. Nothing a repository ships decides
where memories are written.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from memoryd.atomic_file import read_regular
from memoryd.clients.memory_reader import MEMORY_READER
from memoryd.formatting import is_utf8
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.config import Config
    from memoryd.paths import Paths

_POINTER_BYTES = 1 << 20
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_BRANCH = "ref: refs/heads/"
_REF = re.compile(r"refs/[\w./-]+")


class Project(NamedTuple):
    """One canonical git root, or a working directory outside git, and where its memory is kept."""

    root: str
    slug: str
    memory_dir: str
    is_shared: bool = False
    """The user named one memory directory for several projects: sharing it is no collision."""


# --- which project ----------------------------------------------------------------------------------------------------


def root_of(cwd: str) -> str:
    """The canonical git root of a directory: the main checkout for a worktree, the directory itself outside git.

    A submodule is a repository of its own; a bare repository is its own root. For a directory that is gone, what is
    left of its path is searched: a deleted worktree inside its repository still belongs to it.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        return cwd  # of another system, or nonsense: nothing on this disk says where it belongs
    given, cwd = cwd, os.path.realpath(cwd)
    if not is_utf8(cwd):  # neither database nor slug can keep it
        return given
    place = cwd
    while True:
        dot_git = os.path.join(place, ".git")
        if os.path.isdir(dot_git):
            return place
        if os.path.isfile(dot_git):
            return _root_of_linked(place, dot_git)
        if _is_git_dir(place):  # a bare repository, or inside a .git
            return os.path.dirname(place) if os.path.basename(place) == ".git" else place
        above = os.path.dirname(place)
        if above == place:
            return cwd
        place = above


def _root_of_linked(place: str, dot_git: str) -> str:
    """The root for a checkout whose `.git` is a file: a worktree belongs to its main checkout, a submodule to itself.

    A worktree counts only if the repository names it back. Otherwise an unpacked archive with a forged `.git` could
    send its memories into another project.
    """
    admin = _pointer(dot_git, "gitdir:", place)
    common = admin and _pointer(os.path.join(admin, "commondir"), "", admin)
    if not admin or not common or not _is_git_dir(common):
        return place
    back = _pointer(os.path.join(admin, "gitdir"), "", admin)
    if back is None or back != os.path.realpath(dot_git):
        return place
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _pointer(file: str, label: str, relative_to: str) -> str | None:
    data = read_regular(file, _POINTER_BYTES)
    text = "" if data is None else data.decode("utf-8", "replace")
    if not text.startswith(label):
        return None
    target = text[len(label) :].strip()
    return os.path.realpath(os.path.join(relative_to, target)) if target else None


def branch_of(cwd: str) -> str:
    """The branch that is checked out where somebody works; empty outside git, and where none is."""
    place = os.path.realpath(cwd) if os.path.isabs(cwd) and "\0" not in cwd else "/"
    while not os.path.exists(os.path.join(place, ".git")):
        if place == os.path.dirname(place):
            return ""
        place = os.path.dirname(place)
    _, head = _admin_and_head(place)
    return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else ""


def _admin_and_head(root: str) -> tuple[str | None, str]:
    """The folder that git keeps of a checkout, and the first line of its HEAD."""
    dot_git = os.path.join(root, ".git")
    admin = dot_git if os.path.isdir(dot_git) else _pointer(dot_git, "gitdir:", root)
    return admin, _first_line(os.path.join(admin, "HEAD")) if admin else ""


def head_commit(root: str) -> str:
    """The commit that is checked out at the root of a project; empty outside git, and before the first one."""
    admin, head = _admin_and_head(root)
    if not admin or not head.startswith("ref: "):
        return head if _COMMIT.fullmatch(head) else ""
    name = head.removeprefix("ref: ")
    if not _REF.fullmatch(name) or ".." in name:  # a repository may be forged: nothing outside of it is read
        return ""
    packed = read_regular(os.path.join(admin, "packed-refs"), _POINTER_BYTES) or b""
    listed = re.search(rb"(?m)^([0-9a-f]{40,64}) " + re.escape(name.encode()) + rb"$", packed)
    commit = _first_line(os.path.join(admin, name)) or (listed[1].decode() if listed else "")
    return commit if _COMMIT.fullmatch(commit) else ""


def _first_line(file: str) -> str:
    data = read_regular(file, _POINTER_BYTES)
    return "" if data is None else data.decode("utf-8", "replace").strip().partition("\n")[0]


def _is_git_dir(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "HEAD")) and all(
        os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs")
    )


# --- its memory -------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    path: str
    is_shared: bool


def project_at(
    root: str, paths: Paths, config: Config, has_sessions: Callable[[str], bool] = lambda _folder: False
) -> Project:
    """The project with this root. `has_sessions` is for the client's `project_folder`."""
    slug = MEMORY_READER.project_folder(root, paths, has_sessions)
    place = _memory_place(root, slug, paths, config)
    return Project(root, slug, place.path, place.is_shared)


def _memory_place(root: str, slug: str, paths: Paths, config: Config) -> _Place:
    """Where a project's memory is: the first of these that is set.

    The environment; the project's entry in memoryd's config; Claude Code's settings; `memory_root`; where Claude Code reads,
    if it is used here; else in memoryd's own data directory. There it stays when Claude Code is used later: nobody's
    memories move by themselves.
    """
    if paths.forced_memory_dir:
        return _Place(paths.forced_memory_dir, is_shared=True)
    if own := config.projects.memory_dirs.get(root):
        return _Place(own, is_shared=True)
    if directory := MEMORY_READER.memory_dir_setting(root, paths):
        return _Place(directory, is_shared=True)
    if config.memory_root:
        return _Place(os.path.join(config.memory_root, slug), is_shared=False)
    own, read = os.path.join(paths.memory_root, slug), MEMORY_READER.default_memory_dir(slug, paths)
    is_own = os.path.isdir(own) or (not MEMORY_READER.is_used(paths) and _is_another_used(paths))
    return _Place(own if is_own else read, is_shared=False)


def _is_another_used(paths: Paths) -> bool:
    from memoryd.clients.registry import is_another_used  # noqa: PLC0415 - a hook need not load all clients

    return is_another_used(paths)


# --- which are left alone ---------------------------------------------------------------------------------------------


def is_excluded(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a path, or a folder above it, matches one of the patterns."""
    place = path
    while patterns:
        if any(fnmatchcase(place, pattern) for pattern in patterns):
            return True
        above = os.path.dirname(place)
        if above == place:
            break
        place = above
    return False
