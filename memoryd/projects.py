"""Whose memory it is: a working directory to its project, and the project to its memory directory.

Git is read from its files, never run: a repository can make `git` execute programs. Nothing a repository ships decides
where memories are written.
"""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoryd.config import Config
    from memoryd.paths import Paths

SLUG_LENGTH = 200
_SMALL_FILE_BYTES = 1 << 20
_INDEX_BYTES = 64 << 20


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
    if not _can_be_stored(cwd):
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


def _can_be_stored(path: str) -> bool:
    """Names that are not UTF-8 come from the system as lone surrogates, which neither database nor slug can keep."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


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
    text = _small_file(file)
    if text is None or not text.startswith(label):
        return None
    target = text[len(label) :].strip()
    return os.path.realpath(os.path.join(relative_to, target)) if target else None


def _is_git_dir(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "HEAD")) and all(
        os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs")
    )


def _small_file(path: str, *, follow: bool = False) -> str | None:
    """The text of a regular file, bounded; None for anything else: a checkout may hold a fifo or a link to a device."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(_SMALL_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)


# --- its slug ---------------------------------------------------------------------------------------------------------


def slug_of(path: str) -> str:
    """The folder name that Claude Code derives from a path: every character but ASCII letters and digits is a hyphen.

    Names over 200 characters are cut and get a hash; the client's hash is not this one, so a long name is only a
    proposal and `slug_folder` looks for the client's own.
    """
    path = unicodedata.normalize("NFC", path)
    # The client counts UTF-16 units: a character beyond the basic plane is two.
    name = re.sub(r"[^a-zA-Z0-9]", lambda match: "--" if match[0] > "\uffff" else "-", path)
    return name if len(name) <= SLUG_LENGTH else f"{name[:SLUG_LENGTH]}-{_base36(_simple_hash(path))}"


def slug_folder(transcripts_root: str, path: str, holds: Callable[[str], bool]) -> str:
    """The name of the folder that stands for `path` below the transcripts' root.

    For a long path the client's folder is found by its first 200 characters; if several begin so, `holds` tells which
    one has sessions of this path.
    """
    slug = slug_of(path)
    if len(slug) <= SLUG_LENGTH:
        return slug
    begin = slug[: SLUG_LENGTH + 1]
    try:
        names = sorted(name for name in os.listdir(transcripts_root) if name.startswith(begin))
    except OSError:
        return slug
    if slug in names or not names:
        return slug
    if len(names) == 1:
        return names[0]
    return next((name for name in names if holds(name)), slug)


def _simple_hash(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    value = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value >= 1 << 31 else value)


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


# --- its memory -------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    path: str
    is_shared: bool


def project_at(root: str, paths: Paths, config: Config, holds: Callable[[str], bool] = lambda _name: False) -> Project:
    """The project with this root. `holds` is for `slug_folder`."""
    slug = slug_folder(paths.transcripts_root, root, holds)
    place = _memory_place(root, slug, paths, config)
    return Project(root, slug, place.path, place.is_shared)


def _memory_place(root: str, slug: str, paths: Paths, config: Config) -> _Place:
    """Where a project's memory is: the first of these that is set.

    The environment; the project's entry in memoryd's config; `autoMemoryDirectory` of the user's own settings, or of
    local settings that the repository does not ship; `memory_root`; beside the client's transcripts.
    """
    if paths.forced_memory_dir:
        return _Place(paths.forced_memory_dir, is_shared=True)
    if own := config.projects.memory_dirs.get(root):
        return _Place(own, is_shared=True)
    if directory := _auto_memory_directory(paths.claude_settings, paths, follow=True):
        return _Place(directory, is_shared=True)
    local = os.path.join(root, ".claude", "settings.local.json")
    if not _may_be_shipped(root) and (directory := _auto_memory_directory(local, paths)):
        return _Place(directory, is_shared=True)
    if config.memory_root:
        return _Place(os.path.join(config.memory_root, slug), is_shared=False)
    return _Place(os.path.join(paths.transcripts_root, slug, "memory"), is_shared=False)


def _auto_memory_directory(settings_file: str, paths: Paths, *, follow: bool = False) -> str | None:
    text = _small_file(settings_file, follow=follow)
    if text is None:
        return None
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        return None
    value = settings.get("autoMemoryDirectory") if isinstance(settings, dict) else None
    return paths.expand(value) if isinstance(value, str) else None


def _may_be_shipped(root: str) -> bool:
    """Whether `.claude/settings.local.json` can have come with the repository: tracked by git, or not provably not.

    The index stores paths in the clear in versions 2 and 3. Other versions, split, sparse, huge and missing indexes, a
    `.claude` that is no plain folder (a tracked link, a submodule), and a directory that is no repository count as
    shipped: it is the user's writes that are at stake.
    """
    try:
        index_file = os.path.join(root, ".git", "index")
        if not stat.S_ISDIR(os.lstat(os.path.join(root, ".claude")).st_mode):
            return True
        status = os.lstat(index_file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _INDEX_BYTES:
            return True
        with open(index_file, "rb") as file:
            index = file.read(_INDEX_BYTES)
    except OSError:
        return True
    is_readable = index[:4] == b"DIRC" and index[4:8] in (b"\0\0\0\2", b"\0\0\0\3")
    # Disks that do not tell case apart make `.Claude` the same folder.
    tracked = (b".claude/settings.local.json\0", b".claude\0")
    return (
        not is_readable
        or b"link\0\0" in index
        or b"sdir\0\0" in index
        or any(name in index.lower() for name in tracked)
    )


# --- which are left alone ---------------------------------------------------------------------------------------------


def is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


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
