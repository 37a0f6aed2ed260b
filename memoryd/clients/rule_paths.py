"""Paths of instruction files: a rule with `paths:` in its frontmatter is about the files that a glob fits. Pure."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase


def applies_to(path: str, text: str, file: str) -> bool:
    """Whether an instruction file is about a file: one with `paths:` in its frontmatter only where a glob fits.

    `path`: of the instruction file; the globs are meant from the directory whose `.claude/rules` it is in, or from any.
    """
    globs = _globs_of(text)
    if not globs:
        return True
    root = path.partition("/.claude/rules/")[0]
    relative = file[len(root) :].lstrip("/") if file.startswith(f"{root}/") else file.lstrip("/")
    return any(fnmatchcase(relative, glob) or fnmatchcase(relative, glob.replace("**/", "")) for glob in globs)


def _globs_of(text: str) -> list[str]:
    """The value of `paths:`: behind it, with commas or in brackets, or a list below it; braces are alternatives."""
    frontmatter = re.match(r"---[ \t]*\n(.{0,4096}?)^---[ \t]*$", text, re.DOTALL | re.MULTILINE)
    found = frontmatter and re.search(r"^paths:[ \t]*(.*(?:\n[ \t]*-[ \t].*)*)", frontmatter[1], re.MULTILINE)
    if not found:
        return []
    pieces = re.split(r"\n[ \t]*-[ \t]|,(?![^{]*\})", found[1].strip(" \t").removeprefix("[").removesuffix("]"))
    plain = [piece.strip().strip("\"'") for piece in pieces]
    return [glob for piece in plain if piece for glob in _alternatives(piece)]


def _alternatives(glob: str) -> list[str]:
    """`src/*.{ts,tsx}` is two globs."""
    found = re.match(r"(.*?)\{([^{}]*)\}(.*)", glob)
    if not found:
        return [glob]
    return [other for part in found[2].split(",") for other in _alternatives(f"{found[1]}{part}{found[3]}")]
