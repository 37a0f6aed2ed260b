"""Names in a repository, found by their ends: a memory says `main.py` where the file is `src/app/main.py`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from memoryd.rot import git
from memoryd.rot.history import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_FILES_WITHOUT_GIT = 20_000
_PASSED_OVER = frozenset({"node_modules", "venv", "dist", "build", "target", "vendor", "__pycache__"})
_GLOB = re.compile(r"[*?]")


class Tree:
    """Paths of files, relative to the root, and the folders above them."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(files)
        folders = set()
        for path in self.files:
            while (path := os.path.dirname(path)) and path not in folders:
                folders.add(path)
        self.folders = frozenset(folders)
        self._by_name: dict[str, list[str]] = {}
        for path in (*sorted(self.files), *sorted(self.folders)):
            self._by_name.setdefault(os.path.basename(path), []).append(path)

    def find(self, wanted: str) -> str | None:
        """A file or folder with this path, or one that ends in it; the one from the root comes first."""
        wanted = wanted.strip("/")
        if _GLOB.search(wanted):
            pattern = _as_regex(wanted)
            return next((path for path in (*self.files, *self.folders) if pattern.fullmatch(path)), None)
        if wanted in self.files or wanted in self.folders:
            return wanted
        candidates = self._by_name.get(os.path.basename(wanted), ())
        return next((path for path in candidates if path.endswith(f"/{wanted}")), None)

    def below(self, folder: str) -> Iterable[str]:
        """The folder's files; the file itself where it is one."""
        return (path for path in self.files if path == folder or path.startswith(f"{folder}/"))

    def is_behind_a_link(self, path: str) -> bool:
        """Whether something above the path is a link or a submodule, which count as files: its inside is not ours."""
        while path := os.path.dirname(path):
            if path in self.files:
                return True
        return False


def _as_regex(glob: str) -> re.Pattern[str]:
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(pieces.get(part) or re.escape(part) for part in re.split(r"(\*\*/|\*\*|\*|\?)", glob))
    return re.compile(f"(?:.*/)?{body}", re.DOTALL)


def tracked(root: str) -> Tree | None:
    """What git tracks, and what it would if it were added; None where git fails or this is too much."""
    answer = git.ask(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if answer is None or not answer.is_whole:
        return None
    return Tree(as_text(name.rstrip(b"/")) for name in answer.data.split(b"\0") if name)


def walked(root: str) -> Tree | None:
    """What is in a directory without git; None where it is too much. Links are seen and not followed."""
    files: list[str] = []
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(os.path.join(root, folder)))
        except OSError:
            return None  # what cannot be seen may be there
        for entry in entries:
            path = os.path.join(folder, entry.name)
            if not entry.is_dir(follow_symlinks=False):
                files.append(path)
            elif entry.name not in _PASSED_OVER and not entry.name.startswith("."):
                folders.append(path)
        if len(files) + len(folders) > MOST_FILES_WITHOUT_GIT:
            return None
    return Tree(as_text(os.fsencode(path)) for path in files)
