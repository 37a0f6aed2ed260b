"""Instruction files that Claude Code loads at a working directory: what they say need not be remembered."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from memoryd.clients.instruction_files import MOST_BYTES, MOST_BYTES_IN_ALL, MOST_FILES, beginning_of, real_path
from memoryd.paths import is_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoryd.paths import Paths

MOST_HOPS = 5
"""From a file to what it imports, and on; as the client does."""
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_IMPORT = re.compile(r"(?<!\S)@([^\s@`]{1,300}?)[.,;:)]*(?=\s|\Z)")

_MANAGED = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"


def instruction_files_at(cwd: str, paths: Paths) -> list[tuple[str, str]]:
    """The instruction files that apply at `cwd`, as Claude Code finds them, with their texts; later ones weigh more.

    1. the managed one of the machine
    2. the user's own
    3. from the root down to `cwd`: CLAUDE.md, .claude/CLAUDE.md, .claude/rules/*.md
    4. the same way down: every CLAUDE.local.md

    Behind each stands what it imports (`@docs/style.md`); a file that a directory ships imports nothing from elsewhere.
    Where they are too many, those that weigh least are left out.
    """
    found: dict[str, str] = {}
    left = MOST_BYTES_IN_ALL

    def take(path: str, inside: str | None, hops: int) -> None:
        nonlocal left
        real = real_path(path, inside)
        if not real or real in found or len(found) >= MOST_FILES or left <= 0:
            return
        data = beginning_of(real, min(left, MOST_BYTES))
        if not data:
            return
        left -= len(data)
        text = data.decode("utf-8", "replace")
        imports = _imports(text, os.path.dirname(real), paths) if hops else []
        found[real] = ""  # so that a circle ends; its place is behind what it imports, since the order is turned
        for imported in reversed(imports):
            if inside is None or is_below(imported, os.path.realpath(inside)):
                take(imported, inside, hops - 1)
        del found[real]
        found[real] = text

    for path, inside in reversed(list(_places(cwd, paths))):
        take(path, inside, MOST_HOPS)
    return list(reversed(found.items()))


def _imports(text: str, directory: str, paths: Paths) -> list[str]:
    """The files that a text names as `@path`, outside of code."""
    found = []
    for name in _IMPORT.findall(_CODE.sub(" ", text)):
        path = paths.expand(name) or os.path.join(directory, name)
        found.append(os.path.normpath(path))
    return found


def _places(cwd: str, paths: Paths) -> Iterator[tuple[str, str | None]]:
    """Each file, and the directory that a symlink in its place must not lead out of; None: the user's own, anywhere."""
    yield os.path.join(_MANAGED, "CLAUDE.md"), None
    yield os.path.join(paths.claude_dir, "CLAUDE.md"), None
    for name in _rules(os.path.join(paths.claude_dir, "rules")):
        yield name, None
    places = []
    place = os.path.normpath(cwd) if os.path.isabs(cwd) else "/"
    while place not in ("/", "//"):
        places.append(place)
        place = os.path.dirname(place)
    for directory in reversed(places):
        yield os.path.join(directory, "CLAUDE.md"), directory
        yield os.path.join(directory, ".claude", "CLAUDE.md"), directory
        for name in _rules(os.path.join(directory, ".claude", "rules")):
            yield name, directory
    for directory in reversed(places):
        yield os.path.join(directory, "CLAUDE.local.md"), directory


def _rules(directory: str) -> list[str]:
    try:
        return [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if name.endswith(".md")]
    except (OSError, ValueError):  # a transcript may name anything as its directory
        return []
