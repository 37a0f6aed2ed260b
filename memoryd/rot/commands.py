"""Needs of a command line in a repository: targets, scripts, modules, files. Pure.

Only what can be decided from files: whether `cargo bench` works, nobody knows without running it.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Literal

from memoryd.rot.naming import path_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SEPARATOR = re.compile(r"&&|\|\|?|;")
_ASSIGNMENT = re.compile(r"\w+=\S*")
_WRAPPERS = (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("time",), ("nice",), ("$",), ("npx",))
_ELSEWHERE = frozenset({"cd", "pushd", "ssh", "docker", "podman", "kubectl", "vagrant", "git"})
"""After these the rest of the line means another directory, machine or moment."""
_TARGET = re.compile(r"[A-Za-z][\w.-]*")
_SCRIPT = re.compile(r"[A-Za-z][\w.:-]*")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
"""Of a package: `python -m build` is a program that anybody may have installed."""
_NODE_TOOLS = frozenset({"npm", "pnpm", "yarn", "bun"})
_NODE_OWN = frozenset(
    {
        "add",
        "audit",
        "cache",
        "ci",
        "config",
        "create",
        "deploy",
        "dlx",
        "env",
        "exec",
        "fetch",
        "global",
        "i",
        "import",
        "info",
    }
    | {"init", "install", "link", "list", "login", "ls", "node", "npm", "outdated", "pack", "patch", "plugin", "prune"}
    | {
        "publish",
        "rebuild",
        "remove",
        "rm",
        "set",
        "setup",
        "store",
        "up",
        "update",
        "upgrade",
        "version",
        "why",
        "workspace",
    }
    | {"workspaces", "x"}
)
_NPM_SHORT = frozenset({"test", "start", "stop"})
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
_READERS = frozenset(
    {"bash", "bun", "cat", "deno", "less", "node", "perl", "php", "pytest", "ruby", "sh", "source", "tsx", "zsh"}
)
"""Programs whose arguments are files that must be there already."""


def named_in_command(line: str) -> Iterator[tuple[Literal["path", "command"], str]]:
    """Every part of the line that needs something of the repository, in a form of its own: `make x`, `npm run x`."""
    parts = [_words(part) for part in _SEPARATOR.split(line)]
    for words in parts:
        if not words or words[0] in _ELSEWHERE:
            return  # what comes behind depends on what this one does
        yield from _named_in(words)


def _words(part: str) -> list[str]:
    """The words of one command, without the assignments and the programs that merely start it."""
    try:
        words = shlex.split(part, comments=True)
    except ValueError:
        return []
    while words:
        wrapper = next((prefix for prefix in _WRAPPERS if tuple(words[: len(prefix)]) == prefix), ())
        if not wrapper and not _ASSIGNMENT.fullmatch(words[0]):
            break
        words = words[len(wrapper) or 1 :]
    return words


def _named_in(words: Sequence[str]) -> Iterator[tuple[Literal["path", "command"], str]]:
    program, *arguments = words
    if program in ("make", "gmake"):
        if not any(argument.startswith(("-C", "-f", "--directory", "--file", "--makefile")) for argument in arguments):
            yield from (("command", f"make {target}") for target in arguments if _TARGET.fullmatch(target))
    elif program == "just":
        if arguments and _TARGET.fullmatch(arguments[0]):
            yield "command", f"just {arguments[0]}"
    elif program in _NODE_TOOLS and arguments:
        first = arguments[0]
        if first in ("run", "run-script"):
            scripts = arguments[1:2]
        elif program == "npm":
            scripts = [first] if first in _NPM_SHORT else []
        else:
            scripts = [first] if first not in _NODE_OWN else []
        yield from (("command", f"{program} run {script}") for script in scripts if _SCRIPT.fullmatch(script))
    elif _PYTHON.fullmatch(program) and arguments[:1] == ["-m"]:
        if len(arguments) > 1 and _MODULE.fullmatch(arguments[1]):
            yield "command", f"python -m {arguments[1]}"
    elif program.startswith("./"):
        if path_in(program, is_code=True):
            yield "command", program
    elif program in _READERS or _PYTHON.fullmatch(program):
        for argument in arguments:
            path = path_in(argument, is_code=False) if "/" in argument else None
            if path:
                yield "path", path
